// A dataset of HDF5, each rank a block of it: MB/s of all ranks.  Built and started by bench/file_libraries.
//
// Series: 2d or 3d; contiguous or chunked (chunks of half a block in each direction); collective or
// independent; write, or read of the next rank's block, which is checked.
// --mb=8               of a rank, about
// --file=NAME          default /dev/shm/dunlin-bench-file
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../programs/sample.h"

typedef struct {
  int directions;
  hsize_t edge, whole[3], chunk[3];
} Shape;

typedef struct {
  hid_t dataset, in_memory, in_file, how;
  int is_read, is_well;
  double* memory;
} Context;

static void repeat(long iterations, void* opaque) {
  Context* c = opaque;
  for (long i = 0; i < iterations; ++i) {
    const hid_t type = H5T_NATIVE_DOUBLE;
    const herr_t error = c->is_read ? H5Dread(c->dataset, type, c->in_memory, c->in_file, c->how, c->memory)
                                    : H5Dwrite(c->dataset, type, c->in_memory, c->in_file, c->how, c->memory);
    c->is_well &= error >= 0;
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static hsize_t power(hsize_t base, int exponent) {
  return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

/// Blocks of at most `bytes`, with even edges.
static Shape shape_of(int directions, long bytes, int parts[3]) {
  Shape shape = {directions, 2, {0}, {0}};
  while (power(shape.edge + 2, directions) * sizeof(double) <= (hsize_t)bytes) shape.edge += 2;
  MPI_Dims_create(bench_ranks, directions, parts);
  for (int i = 0; i < directions; ++i) {
    shape.whole[i] = shape.edge * (hsize_t)parts[i];
    shape.chunk[i] = shape.edge / 2;
  }
  return shape;
}

static void select_block(hid_t space, const Shape* shape, const int parts[3], int rank) {
  hsize_t start[3], count[3];
  for (int i = shape->directions - 1; i >= 0; --i) {
    start[i] = (hsize_t)(rank % parts[i]) * shape->edge;
    count[i] = shape->edge;
    rank /= parts[i];
  }
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
}

static void measure(hid_t file, int directions, int is_chunked, int is_independent, long bytes) {
  int parts[3] = {0, 0, 0};
  const Shape shape = shape_of(directions, bytes, parts);
  const hsize_t block = power(shape.edge, directions);
  const size_t of_block = (size_t)block * sizeof(double);
  char name[64], series[80];
  snprintf(name, sizeof name, "%dd_%s_%s", directions, is_chunked ? "chunked" : "contiguous",
           is_independent ? "independent" : "collective");
  const hid_t created = H5Pcreate(H5P_DATASET_CREATE);
  if (is_chunked) H5Pset_chunk(created, directions, shape.chunk);
  H5Pset_fill_time(created, H5D_FILL_TIME_NEVER);
  Context c = {.in_memory = H5Screate_simple(1, &block, NULL), .is_well = 1};
  c.in_file = H5Screate_simple(directions, shape.whole, NULL);
  c.dataset = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, c.in_file, H5P_DEFAULT, created, H5P_DEFAULT);
  c.how = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(c.how, is_independent ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE);
  c.memory = bench_memory(of_block);
  for (c.is_read = 0; c.is_read < 2; ++c.is_read) {
    const int of = c.is_read ? (bench_rank + 1) % bench_ranks : bench_rank;
    if (c.is_read)
      memset(c.memory, 0, of_block);
    else
      bench_fill(c.memory, of_block, (unsigned)of + 1);
    select_block(c.in_file, &shape, parts, of);
    snprintf(series, sizeof series, "%s_%s", name, c.is_read ? "read" : "write");
    const bench_point point = {series, (double)of_block, "MB/s", (double)of_block * bench_ranks / 1e6, 1};
    MPI_Barrier(MPI_COMM_WORLD);
    bench_measure(&point, repeat, &c);
    if (c.is_read) bench_verify(c.memory, of_block, (unsigned)of + 1);
    bench_expect(c.is_well, series);
  }
  free(c.memory);
  H5Pclose(c.how);
  H5Dclose(c.dataset);
  H5Sclose(c.in_file);
  H5Sclose(c.in_memory);
  H5Pclose(created);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "hdf5");
  const char* path = bench_text("file", "/dev/shm/dunlin-bench-file");
  const long bytes = bench_option("mb", 8) << 20;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  for (int directions = 2; directions <= 3; ++directions)
    for (int is_chunked = 0; is_chunked < 2; ++is_chunked)
      for (int is_independent = 0; is_independent < 2; ++is_independent)
        measure(file, directions, is_chunked, is_independent, bytes);
  H5Fclose(file);
  H5Pclose(access);
  MPI_Barrier(MPI_COMM_WORLD);
  if (bench_rank == 0) remove(path);
  bench_finish();
  return 0;
}
