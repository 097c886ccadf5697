// Conjugate gradients on a random sparse matrix, after NAS CG: rows are spread over the ranks, every
// iteration gathers the vector and takes two dot products.  --rows=14000 --nonzeros=11 (class A).  The value
// is s for
// --iterations=75 x 5; the residual is checked.
#include <math.h>
#include <stdlib.h>

#include "sample.h"

typedef struct {
  int rows, first, count;  // all rows; this rank's
  int per_row;
  int* columns;    // per_row per row of this rank
  double* values;  // the diagonal is kept apart
  double* diagonal;
  int *counts, *places;
} Matrix;

// Symmetric pattern from a symmetric hash: row i and column j agree on whether and what their element is,
// because both derive it from the unordered pair.  Offsets d link i with i + d and i - d.
static double element(int i, int j) {
  const uint64_t low = (uint64_t)(i < j ? i : j), high = (uint64_t)(i < j ? j : i);
  uint64_t hash = (low * 1000003u + high) * 0x9e3779b97f4a7c15ull;
  hash ^= hash >> 29;
  return -0.1 - 0.9 * (double)(hash % 1000) / 1000;
}

static Matrix make_matrix(int rows, int per_side) {
  Matrix m = {.rows = rows, .per_row = 2 * per_side};
  m.first = (int)((long)rows * bench_rank / bench_ranks);
  m.count = (int)((long)rows * (bench_rank + 1) / bench_ranks) - m.first;
  m.columns = bench_memory(sizeof(int) * (size_t)m.count * (size_t)m.per_row);
  m.values = bench_memory(sizeof(double) * (size_t)m.count * (size_t)m.per_row);
  m.diagonal = bench_memory(sizeof(double) * (size_t)m.count);
  m.counts = bench_memory(sizeof(int) * (size_t)bench_ranks);
  m.places = bench_memory(sizeof(int) * (size_t)bench_ranks);
  for (int rank = 0; rank < bench_ranks; ++rank) {
    m.places[rank] = (int)((long)rows * rank / bench_ranks);
    m.counts[rank] = (int)((long)rows * (rank + 1) / bench_ranks) - m.places[rank];
  }
  for (int row = 0; row < m.count; ++row) {
    double sum = 0;
    for (int k = 0; k < m.per_row; ++k) {
      const long offset = 1 + (long)(k / 2) * (k / 2) * 37;  // the same links for every row
      const int i = m.first + row;
      const int j = (int)(((long)i + (k % 2 ? offset : -offset) % rows + rows) % rows);
      m.columns[row * m.per_row + k] = j;
      m.values[row * m.per_row + k] = element(i, j);
      sum += fabs(m.values[row * m.per_row + k]);
    }
    m.diagonal[row] = sum + 0.1;  // diagonally dominant: positive definite
  }
  return m;
}

static void multiply(const Matrix* m, const double* whole, double* out) {
  for (int row = 0; row < m->count; ++row) {
    double sum = m->diagonal[row] * whole[m->first + row];
    for (int k = 0; k < m->per_row; ++k)
      sum += m->values[row * m->per_row + k] * whole[m->columns[row * m->per_row + k]];
    out[row] = sum;
  }
}

static double dot(const double* a, const double* b, int count) {
  double sum = 0, all = 0;
  for (int i = 0; i < count; ++i) sum += a[i] * b[i];
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

typedef struct {
  double *x, *r, *p, *q, *whole;
} Vectors;

// Solves A x = 1; returns the residual's norm relative to the right-hand side's.
static double solve(const Matrix* m, Vectors* v, int iterations) {
  for (int i = 0; i < m->count; ++i) {
    v->x[i] = 0;
    v->r[i] = v->p[i] = 1;
  }
  const double first = dot(v->r, v->r, m->count);
  double rho = first;
  for (int k = 0; k < iterations && rho > 1e-30 * first; ++k) {
    MPI_Allgatherv(v->p, m->count, MPI_DOUBLE, v->whole, m->counts, m->places, MPI_DOUBLE, MPI_COMM_WORLD);
    multiply(m, v->whole, v->q);
    const double alpha = rho / dot(v->p, v->q, m->count);
    for (int i = 0; i < m->count; ++i) {
      v->x[i] += alpha * v->p[i];
      v->r[i] -= alpha * v->q[i];
    }
    const double next = dot(v->r, v->r, m->count), beta = next / rho;
    rho = next;
    for (int i = 0; i < m->count; ++i) v->p[i] = v->r[i] + beta * v->p[i];
  }
  MPI_Allgatherv(v->x, m->count, MPI_DOUBLE, v->whole, m->counts, m->places, MPI_DOUBLE, MPI_COMM_WORLD);
  multiply(m, v->whole, v->q);
  double error = 0, all = 0;
  for (int i = 0; i < m->count; ++i) error += (1 - v->q[i]) * (1 - v->q[i]);
  MPI_Allreduce(&error, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sqrt(all / first);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "nas_cg");
  const int rows = (int)bench_option("rows", 14000), iterations = (int)bench_option("iterations", 75);
  const Matrix m = make_matrix(rows, (int)bench_option("nonzeros", 11) * 5);
  double* vectors[5];
  for (int i = 0; i < 5; ++i) vectors[i] = bench_memory(sizeof(double) * (size_t)(i == 4 ? rows : m.count));
  Vectors v = {vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]};
  bench_expect(solve(&m, &v, iterations) < 1e-6, "the residual");
  for (long repeat = 0; repeat < bench_option("repeats", 3); ++repeat) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = bench_probe(), start = bench_now();
    for (int i = 0; i < 5; ++i) bench_expect(solve(&m, &v, iterations) < 1e-6, "the residual");
    const double seconds = bench_largest(bench_now() - start), after = bench_probe();
    bench_sample_probed("solve", rows, seconds, "s", before, after);
  }
  bench_finish();
  return 0;
}
