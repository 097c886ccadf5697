// Every kind of layout through every way a message can take: small and large, the same type at both ends,
// different types, contiguous at one end, to oneself; gaps must stay untouched.
//
// ranks: 1 2 3
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, failures;

// The data of a layout as bytes, and the same bytes back into a buffer whose gaps are marked.
static char* packed(const char* buffer, int count, MPI_Datatype type, int* bytes) {
  int position = 0;
  MPI_Pack_size(count, type, MPI_COMM_SELF, bytes);
  char* out = malloc((size_t)*bytes + 1);
  MPI_Pack(buffer, count, type, out, *bytes, &position, MPI_COMM_SELF);
  return out;
}

static void expect(int is_true, const char* what, const char* layout, int from) {
  if (is_true) return;
  fprintf(stderr, "rank %d: %s: %s from %d\n", rank, layout, what, from);
  ++failures;
}

static void fill(char* buffer, size_t bytes, int seed) {
  unsigned value = (unsigned)seed * 2654435761u + 1;
  for (size_t i = 0; i < bytes; ++i) {
    value = value * 1664525u + 1013904223u;
    buffer[i] = (char)(value >> 24);
  }
}

// Receives what rank `from` sends of `sent` into `count` elements of `type`, and compares.
static void exchange(const char* name, int sent_count, MPI_Datatype sent, int count, MPI_Datatype type,
                     size_t room, char* (*allocate)(size_t)) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  char *out = allocate(room), *in = allocate(room), *theirs = malloc(room), *expected = malloc(room);
  int bytes, in_bytes, arrived;
  MPI_Status status;
  fill(out, room, rank);
  fill(theirs, room, from);
  memset(in, 'g', room);
  memset(expected, 'g', room);
  char* data = packed(theirs, sent_count, sent, &bytes);
  for (int form = 0; form < 3; ++form) {
    MPI_Request request;
    if (form == 0) {
      MPI_Irecv(in, count, type, from, 7, MPI_COMM_WORLD, &request);
      MPI_Send(out, sent_count, sent, to, 7, MPI_COMM_WORLD);
      MPI_Wait(&request, &status);
    } else if (form == 1) {  // unexpected at first
      MPI_Isend(out, sent_count, sent, to, 7, MPI_COMM_WORLD, &request);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Recv(in, count, type, from, 7, MPI_COMM_WORLD, &status);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Sendrecv(out, sent_count, sent, to, 7, in, count, type, from, 7, MPI_COMM_WORLD, &status);
    }
    MPI_Get_count(&status, MPI_BYTE, &arrived);
    expect(arrived == bytes, "number of bytes", name, from);
    int position = 0;
    MPI_Pack_size(count, type, MPI_COMM_SELF, &in_bytes);
    if (in_bytes == bytes) MPI_Unpack(data, bytes, &position, expected, count, type, MPI_COMM_SELF);
    expect(memcmp(in, expected, room) == 0, "data or gaps", name, from);
  }
  free(data);
  free(theirs);
  free(expected);
  MPI_Barrier(MPI_COMM_WORLD);
  if (allocate != (char* (*)(size_t))malloc) {
    MPI_Free_mem(out);
    MPI_Free_mem(in);
  } else {
    free(out);
    free(in);
  }
}

static char* mpi_memory(size_t bytes) {
  char* block;
  MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &block);
  return block;
}

// Types of `n` doubles each, all different.
static int make_types(int n, MPI_Datatype* types, const char** names, size_t* room) {
  int used = 0;
  *room = (size_t)n * 8 * 4 + 4096;
  names[used] = "contiguous";
  MPI_Type_contiguous(n, MPI_DOUBLE, &types[used++]);
  names[used] = "column";
  MPI_Type_vector(n, 1, 3, MPI_DOUBLE, &types[used++]);
  names[used] = "pairs";
  MPI_Type_vector(n / 2, 2, 5, MPI_DOUBLE, &types[used++]);
  names[used] = "transpose";
  MPI_Datatype column;
  MPI_Type_vector(4, 1, n / 4, MPI_DOUBLE, &column);
  MPI_Type_create_hvector(n / 4, 1, 8, column, &types[used++]);
  MPI_Type_free(&column);
  names[used] = "irregular";
  int *lengths = malloc((size_t)n * sizeof(int)), *places = malloc((size_t)n * sizeof(int));
  int blocks = 0, left = n, at = 0;
  while (left > 0) {
    lengths[blocks] = 1 + blocks * 7 % 11;
    if (lengths[blocks] > left) lengths[blocks] = left;
    places[blocks] = at;
    at += lengths[blocks] + 1 + blocks % 3;
    left -= lengths[blocks++];
  }
  MPI_Type_indexed(blocks, lengths, places, MPI_DOUBLE, &types[used++]);
  free(lengths);
  free(places);
  names[used] = "rows";  // long runs
  MPI_Type_vector(4, n / 4, n / 4 + 3, MPI_DOUBLE, &types[used++]);
  for (int i = 0; i < used; ++i) MPI_Type_commit(&types[i]);
  return used;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int lengths[] = {4, 32, 1000, 40000, 300000};
  for (int l = 0; l < 5; ++l) {
    MPI_Datatype types[8];
    const char* names[8];
    size_t room;
    const int n = make_types(lengths[l], types, names, &room);
    for (int i = 0; i < n; ++i) {
      exchange(names[i], 1, types[i], 1, types[i], room, (char* (*)(size_t))malloc);
      exchange(names[i], 1, types[i], 1, types[(i + 1 + l) % n], room, (char* (*)(size_t))malloc);
      if (l > 2) exchange(names[i], 1, types[i], 1, types[(i + 2) % n], room, mpi_memory);
    }
    for (int i = 0; i < n; ++i) MPI_Type_free(&types[i]);
  }
  for (int blocks = 300; blocks <= 1200; blocks *= 2) {  // far apart: offered already from 4 KiB on
    MPI_Datatype far;
    MPI_Type_vector(blocks, 1, 130, MPI_DOUBLE, &far);
    MPI_Type_commit(&far);
    exchange("far", 1, far, 1, far, (size_t)blocks * 1040, (char* (*)(size_t))malloc);
    MPI_Type_free(&far);
  }
  // More room than data, many elements of a struct, and a type that is freed while it travels.
  const int parts[] = {1, 1, 3};
  const MPI_Aint places[] = {0, 8, 16};
  const MPI_Datatype kinds[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  for (int count = 10; count <= 100000; count *= 100) {
    MPI_Datatype record;
    MPI_Request request;
    MPI_Status status;
    int arrived;
    MPI_Type_create_struct(3, parts, places, kinds, &record);
    MPI_Type_commit(&record);
    exchange("records", count, record, count, record, (size_t)count * 24, (char* (*)(size_t))malloc);
    char *out = malloc((size_t)count * 24), *in = calloc((size_t)count + 5, 24);
    fill(out, (size_t)count * 24, 1);
    MPI_Irecv(in, count + 5, record, (rank + size - 1) % size, 9, MPI_COMM_WORLD, &request);
    MPI_Send(out, count, record, (rank + 1) % size, 9, MPI_COMM_WORLD);
    MPI_Datatype handle = record;
    MPI_Type_dup(record, &handle);
    MPI_Type_free(&record);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, handle, &arrived);
    expect(arrived == count, "count with more room", "records", status.MPI_SOURCE);
    const size_t last = (size_t)(count - 1) * 24 + 8;
    expect(memcmp(in + last, out + last, 11) == 0, "last record", "records", status.MPI_SOURCE);
    MPI_Type_free(&handle);
    free(out);
    free(in);
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures != 0;
}
