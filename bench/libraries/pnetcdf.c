// Variables of PnetCDF, each rank a block of each: MB/s of all ranks.  Built and started by
// bench/file_libraries.
//
//   block       one 3-D variable: ncmpi_put_vara_double_all; read: the next rank's block, which is checked
//   variables   32 of them: ncmpi_iput_vara_double for each and one ncmpi_wait_all; read likewise
// --mb=8               of a rank, about
// --file=NAME          default /dev/shm/dunlin-bench-file
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../programs/sample.h"

enum { kVariables = 32 };

typedef struct {
  int file, variables, is_read, is_well;
  int ids[kVariables];
  MPI_Offset edge, start[3], count[3];
  double* memory;
} Context;

static void note(Context* c, int error) { c->is_well &= error == NC_NOERR; }

static void repeat_block(long iterations, void* opaque) {
  Context* c = opaque;
  for (long i = 0; i < iterations; ++i) {
    note(c, c->is_read ? ncmpi_get_vara_double_all(c->file, c->ids[0], c->start, c->count, c->memory)
                       : ncmpi_put_vara_double_all(c->file, c->ids[0], c->start, c->count, c->memory));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void repeat_variables(long iterations, void* opaque) {
  Context* c = opaque;
  const size_t block = (size_t)(c->edge * c->edge * c->edge);
  for (long i = 0; i < iterations; ++i) {
    int requests[kVariables], errors[kVariables];
    for (int v = 0; v < c->variables; ++v) {
      double* memory = c->memory + (size_t)v * block;
      MPI_Offset *start = c->start, *count = c->count;
      note(c, c->is_read ? ncmpi_iget_vara_double(c->file, c->ids[v], start, count, memory, &requests[v])
                         : ncmpi_iput_vara_double(c->file, c->ids[v], start, count, memory, &requests[v]));
    }
    note(c, ncmpi_wait_all(c->file, c->variables, requests, errors));
    for (int v = 0; v < c->variables; ++v) note(c, errors[v]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void take_block(Context* c, const int parts[3], int rank) {
  for (int i = 2; i >= 0; --i) {
    c->start[i] = rank % parts[i] * c->edge;
    c->count[i] = c->edge;
    rank /= parts[i];
  }
}

static void define(Context* c, const char* path, const int parts[3]) {
  int dimensions[3];
  note(c, ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &c->file));
  for (int i = 0; i < 3; ++i) {
    const char name[] = {(char)('x' + i), 0};
    note(c, ncmpi_def_dim(c->file, name, c->edge * parts[i], &dimensions[i]));
  }
  for (int v = 0; v < c->variables; ++v) {
    char name[16];
    snprintf(name, sizeof name, "variable%d", v);
    note(c, ncmpi_def_var(c->file, name, NC_DOUBLE, 3, dimensions, &c->ids[v]));
  }
  note(c, ncmpi_enddef(c->file));
}

static void measure(const char* pattern, int variables, bench_work work) {
  const char* path = bench_text("file", "/dev/shm/dunlin-bench-file");
  const long bytes = (bench_option("mb", 8) << 20) / variables;
  int parts[3] = {0, 0, 0};
  MPI_Dims_create(bench_ranks, 3, parts);
  Context c = {.variables = variables, .is_well = 1, .edge = 1};
  while ((c.edge + 1) * (c.edge + 1) * (c.edge + 1) * (MPI_Offset)sizeof(double) <= bytes) ++c.edge;
  const size_t all = (size_t)(c.edge * c.edge * c.edge * variables) * sizeof(double);
  c.memory = bench_memory(all);
  define(&c, path, parts);
  for (c.is_read = 0; c.is_read < 2; ++c.is_read) {
    const int of = c.is_read ? (bench_rank + 1) % bench_ranks : bench_rank;
    char series[64];
    if (c.is_read)
      memset(c.memory, 0, all);
    else
      bench_fill(c.memory, all, (unsigned)of + 1);
    take_block(&c, parts, of);
    snprintf(series, sizeof series, "%s_%s", pattern, c.is_read ? "read" : "write");
    const bench_point point = {series, (double)all, "MB/s", (double)all * bench_ranks / 1e6, 1};
    MPI_Barrier(MPI_COMM_WORLD);
    bench_measure(&point, work, &c);
    if (c.is_read) bench_verify(c.memory, all, (unsigned)of + 1);
    bench_expect(c.is_well, series);
  }
  note(&c, ncmpi_close(c.file));
  free(c.memory);
  MPI_Barrier(MPI_COMM_WORLD);
  if (bench_rank == 0) remove(path);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "pnetcdf");
  measure("block", 1, repeat_block);
  measure("variables", kVariables, repeat_variables);
  bench_finish();
  return 0;
}
