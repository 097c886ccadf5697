// What the benchmark programs share: options, timing, the machine probe, checks and the line printed per
// sample.
//
// Plain MPI C, so that every MPI's compiler takes it.  Each program prints lines such as
//   sample bench=pingpong series=clean x=8 value=0.0652 unit=us probe=41.2,40.8 check=ok `probe` is the raw
//   one-cache-line ping-pong between ranks 0 and 1 (ns, half round trip) just before and just after the
//   sample, 0 when it could not be taken; `x` is the size, depth or count the sample belongs to.  See
//   docs/benchmarks.md.
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

extern int bench_rank, bench_ranks;
extern double bench_init_s;  // what MPI_Init took

/// MPI_Init, options from the command line (`--name=value`), name of the benchmark for the printed lines.
void bench_start(int* argc, char*** argv, const char* name);
/// The same with MPI_Init_thread; ends the job where the MPI does not give this level.
void bench_start_threads(int* argc, char*** argv, const char* name, int level);
void bench_finish(void);

/// Value of `--name=value`, or `fallback`.
long bench_option(const char* name, long fallback);
const char* bench_text(const char* name, const char* fallback);
/// Whether the comma separated list in option `name` holds `word`; true when the option is not given.
int bench_wants(const char* name, const char* word);

/// The sizes to measure: `--sizes=0,8,64` or, when not given, from `--min` to `--max` by `--factor` (defaults
/// given). Returns how many; `sizes` has room for kBenchSizesMax.
enum { kBenchSizesMax = 64 };
int bench_sizes(long* sizes, long min, long max, long factor);
long bench_size_max(const long* sizes, int count);

/// Seconds of a monotonic clock.
double bench_now(void);

/// Memory of `bytes`, page aligned and touched.  Ends the job when there is none.
void* bench_memory(size_t bytes);
/// Memory from the MPI library (MPI_Alloc_mem) when `--alloc=mpi`, else as above.
void* bench_buffer(size_t bytes);

/// Writes a pattern that depends on `seed`, and checks it; a mismatch marks every later sample as wrong.
void bench_fill(void* data, size_t bytes, unsigned seed);
void bench_verify(const void* data, size_t bytes, unsigned seed);
/// Marks later samples as wrong when `is_right` is 0 on this rank.
void bench_expect(int is_right, const char* what);
/// Marks later samples of this rank: whether they are extrapolated from a part of the work.
void bench_extrapolate(int yes);

/// A piece of work done `iterations` times by all ranks.
typedef void (*bench_work)(long iterations, void* context);

/// Times `work` on all ranks and prints `--repeats` samples.  The number of iterations is chosen so that a
/// sample takes about `--ms` milliseconds, which also warms up; `--iterations` sets it.  The value is `scale`
/// x seconds per iteration on rank 0, or, when `is_rate`, `scale` / seconds per iteration.
typedef struct {
  const char* series;
  double x;
  const char* unit;
  double scale;
  int is_rate;
} bench_point;
void bench_measure(const bench_point* point, bench_work work, void* context);

/// Prints one sample measured by the caller (rank 0 only prints; all ranks call).
void bench_sample(const char* series, double x, double value, const char* unit);
/// The same with the machine probes the caller took around it.
void bench_sample_probed(const char* series, double x, double value, const char* unit, double before,
                         double after);

/// Raw cache-line ping-pong of ranks 0 and 1, ns half round trip; all ranks call; 0 when unknown.
double bench_probe(void);

/// Proportional set size of this process in bytes (how much memory it really costs), and its resident size.
double bench_pss(void);
double bench_rss(void);

/// Mean of `value` over all ranks, on every rank; and the largest.
double bench_mean(double value);
double bench_largest(double value);
