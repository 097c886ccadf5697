// Multigrid on a periodic cube, after NAS MG: V-cycles of a 7-point Poisson solver on slabs of planes, with
// halo swaps on every level.  --side=128 (a multiple of the ranks) --cycles=8.  The value is s; the residual
// has to fall.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

enum { kLevelsMax = 10, kSmoothings = 2 };

// One level: planes + 2 halo planes of side x side points; periodic in all directions.
typedef struct {
  int side, planes;
  double *u, *f, *r;
} Level;

static size_t plane_size(const Level* l) { return (size_t)l->side * (size_t)l->side; }

static void swap_halos(const Level* l, double* data) {
  const int up = (bench_rank + 1) % bench_ranks, down = (bench_rank + bench_ranks - 1) % bench_ranks;
  const int count = (int)plane_size(l);
  double *low = data, *first = data + plane_size(l), *last = data + plane_size(l) * (size_t)l->planes;
  double* high = last + plane_size(l);
  MPI_Sendrecv(last, count, MPI_DOUBLE, up, 1, low, count, MPI_DOUBLE, down, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(first, count, MPI_DOUBLE, down, 2, high, count, MPI_DOUBLE, up, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

// out = f - A u, or, when smoothing, u + that / 6 * 0.8: both walk the same points.
static void apply(const Level* l, double* out, double factor, int is_smoothing) {
  const int n = l->side;
  for (int z = 1; z <= l->planes; ++z)
    for (int y = 0; y < n; ++y) {
      const size_t row = ((size_t)z * (size_t)n + (size_t)y) * (size_t)n;
      const size_t north = ((size_t)z * (size_t)n + (size_t)((y + 1) % n)) * (size_t)n;
      const size_t south = ((size_t)z * (size_t)n + (size_t)((y + n - 1) % n)) * (size_t)n;
      for (int x = 0; x < n; ++x) {
        const double* u = l->u;
        const double sum = u[row + (size_t)((x + 1) % n)] + u[row + (size_t)((x + n - 1) % n)] +
                           u[north + (size_t)x] + u[south + (size_t)x] + u[row + (size_t)x + plane_size(l)] +
                           u[row + (size_t)x - plane_size(l)];
        const double residual = l->f[row + (size_t)x] - (6 * u[row + (size_t)x] - sum);
        out[row + (size_t)x] = is_smoothing ? u[row + (size_t)x] + factor * residual : residual;
      }
    }
}

static void smooth(Level* l) {
  swap_halos(l, l->u);
  apply(l, l->r, 0.8 / 6, 1);
  double* const old = l->u;
  l->u = l->r;
  l->r = old;
}

static void residual(Level* l) {
  swap_halos(l, l->u);
  apply(l, l->r, 0, 0);
}

// The mean of eight fine points, times four for the doubled spacing.
static void restrict_to(const Level* fine, Level* coarse) {
  const size_t n = (size_t)fine->side, half = (size_t)coarse->side;
  for (size_t z = 0; z < (size_t)coarse->planes; ++z)
    for (size_t y = 0; y < half; ++y)
      for (size_t x = 0; x < half; ++x) {
        double sum = 0;
        for (size_t k = 0; k < 8; ++k)
          sum += fine->r[((2 * z + 1 + k / 4) * n + 2 * y + k / 2 % 2) * n + 2 * x + k % 2];
        coarse->f[((z + 1) * half + y) * half + x] = sum / 2;
      }
  memset(coarse->u, 0, plane_size(coarse) * (size_t)(coarse->planes + 2) * sizeof(double));
}

static void prolong(const Level* coarse, Level* fine) {
  const size_t n = (size_t)fine->side, half = (size_t)coarse->side;
  for (size_t z = 0; z < (size_t)fine->planes; ++z)
    for (size_t y = 0; y < n; ++y)
      for (size_t x = 0; x < n; ++x)
        fine->u[((z + 1) * n + y) * n + x] += coarse->u[((z / 2 + 1) * half + y / 2) * half + x / 2];
}

static void cycle(Level* levels, int level, int count) {
  for (int i = 0; i < kSmoothings; ++i) smooth(&levels[level]);
  if (level + 1 < count) {
    residual(&levels[level]);
    restrict_to(&levels[level], &levels[level + 1]);
    cycle(levels, level + 1, count);
    prolong(&levels[level + 1], &levels[level]);
  }
  for (int i = 0; i < kSmoothings; ++i) smooth(&levels[level]);
}

static double norm(Level* l) {
  residual(l);
  double sum = 0, all = 0;
  for (size_t i = plane_size(l); i < plane_size(l) * (size_t)(l->planes + 1); ++i) sum += l->r[i] * l->r[i];
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sqrt(all);
}

// Point charges of +1 and -1 that cancel, as in NAS MG.
static void start_over(Level* l) {
  const size_t count = plane_size(l) * (size_t)(l->planes + 2);
  memset(l->u, 0, count * sizeof(double));
  memset(l->f, 0, count * sizeof(double));
  for (int i = 0; i < 20; ++i) {
    const int z = (i * 37 + 5) % (l->planes * bench_ranks), y = i * 53 % l->side, x = i * 71 % l->side;
    if (z / l->planes == bench_rank)
      l->f[((size_t)(z % l->planes + 1) * (size_t)l->side + (size_t)y) * (size_t)l->side + (size_t)x] +=
          i % 2 ? 1 : -1;
  }
}

static int make_levels(Level* levels, int side) {
  int count = 0, planes = side / bench_ranks;
  while (count < kLevelsMax && side >= 4 && planes >= 1) {
    Level* l = &levels[count++];
    *l = (Level){.side = side, .planes = planes};
    const size_t bytes = plane_size(l) * (size_t)(planes + 2) * sizeof(double);
    l->u = bench_buffer(bytes);
    l->f = bench_buffer(bytes);
    l->r = bench_buffer(bytes);
    if (planes % 2) break;
    side /= 2;
    planes /= 2;
  }
  return count;
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "nas_mg");
  const int side = (int)bench_option("side", 128), cycles = (int)bench_option("cycles", 8);
  Level levels[kLevelsMax];
  const int count = side % bench_ranks == 0 ? make_levels(levels, side) : 0;
  for (long repeat = -1; repeat < bench_option("repeats", 3) && count; ++repeat) {  // the first one warms up
    start_over(&levels[0]);
    const double first = norm(&levels[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = bench_probe(), start = bench_now();
    for (int i = 0; i < cycles; ++i) cycle(levels, 0, count);
    const double seconds = bench_largest(bench_now() - start), after = bench_probe();
    bench_expect(norm(&levels[0]) < 0.1 * first, "the residual after the cycles");
    if (repeat >= 0) bench_sample_probed("cycles", side, seconds, "s", before, after);
  }
  bench_finish();
  return 0;
}
