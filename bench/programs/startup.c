// Start-up: time in MPI_Init, time until a first barrier is over, and memory per rank after it.
// `bench/compare` also times the whole mpirun.  --quiet=1 prints nothing: an empty program.
#include "sample.h"

int main(int argc, char** argv) {
  const double start = bench_now();
  bench_start(&argc, &argv, "startup");
  if (!bench_option("quiet", 0)) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double ready_s = bench_now() - start, pss = bench_pss();
    const double init = bench_largest(bench_init_s), ready = bench_largest(ready_s), mean = bench_mean(pss);
    bench_sample("init", bench_ranks, init * 1e3, "ms");
    bench_sample("ready", bench_ranks, ready * 1e3, "ms");
    bench_sample("pss_per_rank", bench_ranks, mean * 1e-6, "MB");
  }
  bench_finish();
  return 0;
}
