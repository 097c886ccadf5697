/* For the programs coll_*.c: the three modes of a collective, and data that tells where it comes from. */
#pragma once

#include <string.h>

#include "check.h"

enum { NOW, LATER, AGAIN, MODES }; /* blocking, nonblocking, persistent */

/* Element `i` of what rank `from` sends to rank `to`. */
static inline int token(int from, int to, int i) { return (from + 1) * 1000003 + to * 7919 + i; }

/* Ends what was begun by MPI_I... (LATER) or made by MPI_..._init (AGAIN). */
static inline void finish(int mode, MPI_Request* request) {
  if (mode == NOW) return;
  if (mode == AGAIN) MPI_Start(request);
  MPI_Wait(request, MPI_STATUS_IGNORE);
  if (mode == AGAIN) {
    CHECK(*request != MPI_REQUEST_NULL, "a persistent request stays");
    MPI_Request_free(request);
  }
  CHECK(*request == MPI_REQUEST_NULL, "the request is gone");
}

/* One int, then a gap of two: not contiguous, resized so that elements follow each other. */
static inline MPI_Datatype gappy_int(void) {
  MPI_Datatype made;
  MPI_Type_create_resized(MPI_INT, 0, 3 * (MPI_Aint)sizeof(int), &made);
  MPI_Type_commit(&made);
  return made;
}

/* A buffer of `count` ints, one every `stride`; the gaps hold a pattern. */
typedef struct {
  int* at;
  int count, stride;
  MPI_Datatype type;
} Data;

enum { GAP = 0x5a5a5a5a, UNSET = -1 };

static inline Data make_data(int count, MPI_Datatype type) {
  Data data = {NULL, count, type == MPI_INT ? 1 : 3, type};
  const size_t ints = (size_t)count * (size_t)data.stride + 1;
  data.at = malloc(ints * sizeof(int));
  for (size_t i = 0; i < ints; ++i) data.at[i] = GAP;
  for (int i = 0; i < count; ++i) data.at[i * data.stride] = UNSET;
  return data;
}

static inline int get(Data data, int i) { return data.at[i * data.stride]; }
static inline void set(Data data, int i, int value) { data.at[i * data.stride] = value; }

static inline void drop_data(Data data) {
  for (int i = 0; i < data.count * data.stride + 1; ++i)
    if (i % data.stride != 0 || i / data.stride >= data.count)
      CHECK(data.at[i] == GAP, "a gap was written at int %d", i);
  free(data.at);
}
