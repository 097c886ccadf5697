// A struct with gaps, as programs have arrays of, and its MPI type.
#pragma once

#include <mpi.h>
#include <stddef.h>

typedef struct {
  int number;
  double value;
  char text[3];
} Record;

static inline MPI_Datatype record_type(void) {
  const int lengths[3] = {1, 1, 3};
  const MPI_Aint places[3] = {offsetof(Record, number), offsetof(Record, value), offsetof(Record, text)};
  const MPI_Datatype types[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype one, result;
  MPI_Type_create_struct(3, lengths, places, types, &one);
  MPI_Type_create_resized(one, 0, sizeof(Record), &result);
  MPI_Type_free(&one);
  return result;
}
