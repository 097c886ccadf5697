// 3-D Fourier transform, after NAS FT: slabs of planes, two dimensions transformed in place, an all-to-all
// turns the array, then the third.  --side=128 (must be a power of two and a multiple of the ranks)
// --steps=6.  The value is s for the steps, each a forward and an inverse transform; the array has to come
// back.
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

typedef double complex Point;

typedef struct {
  int side, planes;
  Point *data, *turned, *scratch, *roots;  // roots of unity for `side`
} Cube;

// Radix-2 in place, decimation in time; `direction` is -1 forward, +1 inverse.
static void transform_line(Point* line, int n, const Point* roots, int direction) {
  for (int i = 1, j = 0; i < n; ++i) {
    int bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const Point swap = line[i];
      line[i] = line[j];
      line[j] = swap;
    }
  }
  for (int length = 2; length <= n; length *= 2)
    for (int start = 0; start < n; start += length)
      for (int k = 0; k < length / 2; ++k) {
        const Point root = roots[k * (n / length)];
        const Point w = direction < 0 ? conj(root) : root;
        const Point odd = w * line[start + k + length / 2], even = line[start + k];
        line[start + k] = even + odd;
        line[start + k + length / 2] = even - odd;
      }
}

static void transform_rows(Cube* c, Point* data, int direction) {
  for (int row = 0; row < c->planes * c->side; ++row)
    transform_line(data + (size_t)row * (size_t)c->side, c->side, c->roots, direction);
}

// Transposes every plane, so that the second dimension becomes the rows.
static void turn_planes(Cube* c, Point* data) {
  const size_t n = (size_t)c->side;
  for (size_t plane = 0; plane < (size_t)c->planes; ++plane) {
    Point* p = data + plane * n * n;
    for (size_t y = 0; y < n; ++y)
      for (size_t x = y + 1; x < n; ++x) {
        const Point swap = p[y * n + x];
        p[y * n + x] = p[x * n + y];
        p[x * n + y] = swap;
      }
  }
}

// Swaps the first and the last dimension over all ranks: block (x range of rank r) of every line goes to rank
// r.
static void turn_cube(Cube* c, const Point* from, Point* to) {
  const size_t n = (size_t)c->side, planes = (size_t)c->planes, block = planes * planes * n;
  for (size_t rank = 0; rank < (size_t)bench_ranks; ++rank)
    for (size_t x = 0; x < planes; ++x)
      for (size_t y = 0; y < n; ++y)
        for (size_t z = 0; z < planes; ++z)
          c->scratch[rank * block + (x * n + y) * planes + z] = from[(z * n + y) * n + rank * planes + x];
  const int bytes = (int)(block * sizeof(Point));
  MPI_Alltoall(c->scratch, bytes, MPI_BYTE, to, bytes, MPI_BYTE, MPI_COMM_WORLD);
  memcpy(c->scratch, to, n * n * planes * sizeof(Point));
  for (size_t rank = 0; rank < (size_t)bench_ranks; ++rank)
    for (size_t x = 0; x < planes; ++x)
      for (size_t y = 0; y < n; ++y)
        for (size_t z = 0; z < planes; ++z)
          to[(x * n + y) * n + rank * planes + z] = c->scratch[rank * block + (x * n + y) * planes + z];
}

static void forward(Cube* c) {
  transform_rows(c, c->data, -1);
  turn_planes(c, c->data);
  transform_rows(c, c->data, -1);
  turn_planes(c, c->data);
  turn_cube(c, c->data, c->turned);
  transform_rows(c, c->turned, -1);
}

static void inverse(Cube* c) {
  transform_rows(c, c->turned, 1);
  turn_cube(c, c->turned, c->data);
  turn_planes(c, c->data);
  transform_rows(c, c->data, 1);
  turn_planes(c, c->data);
  transform_rows(c, c->data, 1);
  const double scale = 1.0 / ((double)c->side * c->side * c->side);
  for (size_t i = 0; i < (size_t)c->planes * (size_t)c->side * (size_t)c->side; ++i) c->data[i] *= scale;
}

static double start_value(size_t i) {
  return (double)((i * 2654435761u + (size_t)bench_rank * 40503u) % 1000) / 1000;
}

static double largest_error(const Cube* c) {
  double largest = 0;
  for (size_t i = 0; i < (size_t)c->planes * (size_t)c->side * (size_t)c->side; ++i)
    largest = fmax(largest, cabs(c->data[i] - start_value(i)));
  return largest;
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "nas_ft");
  Cube c = {.side = (int)bench_option("side", 128)};
  const int steps = (int)bench_option("steps", 6);
  c.planes = c.side / bench_ranks;
  const size_t count = (size_t)c.planes * (size_t)c.side * (size_t)c.side;
  c.data = bench_buffer(count * sizeof(Point));
  c.turned = bench_buffer(count * sizeof(Point));
  c.scratch = bench_buffer(count * sizeof(Point));
  c.roots = bench_memory((size_t)c.side * sizeof(Point));
  for (int k = 0; k < c.side; ++k) c.roots[k] = cexp(2 * M_PI * I * k / c.side);
  for (size_t i = 0; i < count; ++i) c.data[i] = start_value(i);
  const int fits = c.side % bench_ranks == 0 && (c.side & (c.side - 1)) == 0;
  for (long repeat = -1; repeat < bench_option("repeats", 3) && fits; ++repeat) {  // the first one warms up
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = bench_probe(), start = bench_now();
    for (int i = 0; i < steps; ++i) {
      forward(&c);
      inverse(&c);
    }
    const double seconds = bench_largest(bench_now() - start), after = bench_probe();
    bench_expect(largest_error(&c) < 1e-9, "the array after forward and inverse transforms");
    if (repeat >= 0) bench_sample_probed("transforms", c.side, seconds, "s", before, after);
  }
  bench_finish();
  return 0;
}
