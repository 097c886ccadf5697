// Start-up: time in MPI_Init, and memory per rank after a barrier.  `bench/compare` also times the whole
// mpirun of this program with --quiet=1.
#include "sample.h"

int main(int argc, char** argv) {
  const double start = bench_now();
  bench_start(&argc, &argv, "startup");
  const double init_ms = 1e3 * (bench_now() - start);
  if (!bench_option("quiet", 0)) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double pss = bench_pss();
    const double worst = bench_largest(init_ms), mean = bench_mean(pss);
    bench_sample("init", bench_ranks, worst, "ms");
    bench_sample("pss_per_rank", bench_ranks, mean * 1e-6, "MB");
  }
  bench_finish();
  return 0;
}
