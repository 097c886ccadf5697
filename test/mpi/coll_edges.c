/* What collectives met at their edges: several pair types with gaps, absolute addresses, long elements,
 * operands that a program's operator expects aligned, many without data behind a slow one, and a communicator
 * after an error, and beside one. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kPairs = 20000, kLong = 40000 };

typedef struct {
  short value;
  int place;
} ShortInt;
typedef struct {
  double value;
  int place;
} DoubleInt;

/* One type after the other: each has the layout of its own, in collectives and in messages. */
static void pair_types(void) {
  ShortInt* shorts = malloc(kPairs * sizeof *shorts);
  DoubleInt* doubles = malloc(kPairs * sizeof *doubles);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kPairs; ++i) {
      shorts[i] = check_rank == 0 ? (ShortInt){(short)(i % 1000), i} : (ShortInt){0, 0};
      doubles[i] = check_rank == 0 ? (DoubleInt){i, -i} : (DoubleInt){0, 0};
    }
    if (round == 0) {
      MPI_Bcast(shorts, kPairs, MPI_SHORT_INT, 0, MPI_COMM_WORLD);
      MPI_Bcast(doubles, kPairs, MPI_DOUBLE_INT, 0, MPI_COMM_WORLD);
    } else if (check_rank == 0) {
      for (int to = 1; to < check_size; ++to) {
        MPI_Send(doubles, kPairs, MPI_DOUBLE_INT, to, 1, MPI_COMM_WORLD);
        MPI_Send(shorts, kPairs, MPI_SHORT_INT, to, 1, MPI_COMM_WORLD);
      }
    } else {
      MPI_Recv(doubles, kPairs, MPI_DOUBLE_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(shorts, kPairs, MPI_SHORT_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < kPairs; ++i) {
      CHECK(shorts[i].value == i % 1000 && shorts[i].place == i, "round %d, pair %d", round, i);
      CHECK(doubles[i].value == i && doubles[i].place == -i, "round %d, pair %d", round, i);
    }
  }
  free(shorts);
  free(doubles);
}

static MPI_Datatype absolute(int* address) {
  MPI_Datatype block, type;
  MPI_Aint where;
  MPI_Get_address(address, &where);
  MPI_Type_create_hindexed_block(1, 1, &where, MPI_INT, &block);
  MPI_Type_create_resized(block, 0, sizeof(int), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&block);
  return type;
}

/* Both buffers are MPI_BOTTOM: that is not in place. */
static void absolute_addresses(void) {
  int* out = malloc((size_t)check_size * sizeof *out);
  int* in = malloc((size_t)check_size * sizeof *in);
  for (int i = 0; i < check_size; ++i) out[i] = 100 * check_rank + i, in[i] = -1;
  MPI_Datatype from = absolute(out), to = absolute(in);
  MPI_Alltoall(MPI_BOTTOM, 1, from, MPI_BOTTOM, 1, to, MPI_COMM_WORLD);
  for (int i = 0; i < check_size; ++i) CHECK(in[i] == 100 * i + check_rank, "block %d: %d", i, in[i]);
  MPI_Type_free(&from);
  MPI_Type_free(&to);
  free(out);
  free(in);
}

static void add_long(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (long i = 0; i < (long)*count * kLong; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

/* Fewer elements than there are pieces by bytes. */
static void long_elements(void) {
  MPI_Datatype type;
  MPI_Op op;
  MPI_Type_contiguous(kLong, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(add_long, 1, &op);
  for (int count = 1; count <= 3; ++count) {
    const size_t ints = (size_t)count * kLong;
    int* in = malloc(ints * sizeof *in);
    int* out = malloc(ints * sizeof *out);
    for (size_t i = 0; i < ints; ++i) in[i] = (int)i + check_rank, out[i] = -1;
    MPI_Allreduce(in, out, count, type, op, MPI_COMM_WORLD);
    for (size_t i = 0; i < ints; ++i)
      CHECK(out[i] == check_size * (int)i + check_size * (check_size - 1) / 2, "element %zu: %d", i, out[i]);
    free(in);
    free(out);
  }
  MPI_Op_free(&op);
  MPI_Type_free(&type);
}

/* As a compiler may assume of long double. */
static void take_max(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const size_t odd = (size_t)in % _Alignof(long double) + (size_t)inout % _Alignof(long double);
  CHECK(odd == 0, "%p %p", in, inout);
  for (int i = 0; i < *count; ++i)
    if (((long double*)in)[i] > ((long double*)inout)[i]) ((long double*)inout)[i] = ((long double*)in)[i];
}

static void aligned_operands(void) {
  MPI_Op op;
  MPI_Op_create(take_max, 1, &op);
  for (int count = 1; count <= 4; ++count) {
    long double in[4], out[4];
    for (int i = 0; i < count; ++i) in[i] = check_rank + i;
    MPI_Allreduce(in, out, count, MPI_LONG_DOUBLE, op, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) CHECK(out[i] == check_size - 1 + i, "%d", i);
  }
  MPI_Op_free(&op);
}

/* A rank that gets nothing waits for nobody, and yet does not run far ahead of what it has begun before. */
static void nothing_behind_a_slow_one(void) {
  enum { kMany = 150 };
  int out = check_rank, in = -1, *all = malloc(2 * (size_t)check_size * sizeof *all);
  int* const counts = calloc(3 * (size_t)check_size, sizeof *counts);
  int *const nothing = counts + check_size, *const places = nothing + check_size;
  MPI_Request slow[2], empty[2 * kMany];
  for (int i = 0; i < check_size; ++i) counts[i] = 1, places[i] = i, all[check_size + i] = -i;
  if (check_rank == check_size - 1) usleep(50000);
  MPI_Igatherv(&out, 1, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD, &slow[0]);
  MPI_Iscatterv(all + check_size, counts, places, MPI_INT, &in, 1, MPI_INT, check_size - 1, MPI_COMM_WORLD,
                &slow[1]);
  for (int i = 0; i < kMany; ++i) {
    MPI_Igatherv(&out, 0, MPI_INT, NULL, nothing, places, MPI_INT, 0, MPI_COMM_WORLD, &empty[2 * i]);
    MPI_Iscatterv(NULL, nothing, places, MPI_INT, &in, 0, MPI_INT, check_size - 1, MPI_COMM_WORLD,
                  &empty[2 * i + 1]);
  }
  MPI_Waitall(2 * kMany, empty, MPI_STATUSES_IGNORE);
  MPI_Waitall(2, slow, MPI_STATUSES_IGNORE);
  for (int i = 0; check_rank == 0 && i < check_size; ++i) CHECK(all[i] == i, "of rank %d: %d", i, all[i]);
  CHECK(in == -check_rank, "%d", in);
  free(counts);
  free(all);
}

/* A root that got too much has an error, and everybody a communicator that works; so, too, where it is its
 * own count that is wrong. */
static void after_an_error(void) {
  if (check_size < 2) return;
  int out[3] = {1, 2, 3};
  int* in = malloc((size_t)check_size * 3 * sizeof *in);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = MPI_Gather(out, check_rank == 1 ? 3 : 2, MPI_INT, in, 2, MPI_INT, 0, MPI_COMM_WORLD);
  CHECK((code != MPI_SUCCESS) == (check_rank == 0), "code %d", code);
  const int own = MPI_Gather(out, check_rank == 0 ? 2 : 1, MPI_INT, in, 1, MPI_INT, 0, MPI_COMM_WORLD);
  CHECK((own != MPI_SUCCESS) == (check_rank == 0), "code %d", own);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  for (int i = 0; i < 10; ++i) {
    int sum = -1;
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == i * check_size, "round %d: %d", i, sum);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(in);
}

/* A nonblocking collective that has failed holds up no other one, also before its error is asked for. */
static void beside_an_error(void) {
  if (check_size < 2) return;
  int out[3] = {1, 2, 3};
  int* in = malloc((size_t)check_size * 3 * sizeof *in);
  MPI_Request request;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Igather(out, check_rank == 1 ? 3 : 2, MPI_INT, in, 2, MPI_INT, 0, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 10; ++i) MPI_Barrier(MPI_COMM_WORLD);
  const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK((code != MPI_SUCCESS) == (check_rank == 0), "code %d", code);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  free(in);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  pair_types();
  absolute_addresses();
  long_elements();
  aligned_operands();
  nothing_behind_a_slow_one();
  after_an_error();
  beside_an_error();
  return check_end();
}
