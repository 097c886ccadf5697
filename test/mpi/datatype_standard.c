// The chapter through the C interface: every predefined type of MPI 5.0 by name and size, what null handles
// are called, partly filled receives, types whose elements overlap or lie before the buffer, types without
// data, and contents of types made with large counts.
//
// ranks: 1 2
// variants: none
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "check.h"

static int next, before;

static void check_predefined(void) {
  const struct {
    MPI_Datatype type;
    const char* name;
    int size;
  } types[] = {
#define TYPE(name, bytes) {name, #name, (int)(bytes)}
      TYPE(MPI_AINT, sizeof(MPI_Aint)),
      TYPE(MPI_COUNT, sizeof(MPI_Count)),
      TYPE(MPI_OFFSET, sizeof(MPI_Offset)),
      TYPE(MPI_PACKED, 1),
      TYPE(MPI_BYTE, 1),
      TYPE(MPI_CHAR, 1),
      TYPE(MPI_SIGNED_CHAR, 1),
      TYPE(MPI_UNSIGNED_CHAR, 1),
      TYPE(MPI_WCHAR, sizeof(wchar_t)),
      TYPE(MPI_SHORT, sizeof(short)),
      TYPE(MPI_UNSIGNED_SHORT, sizeof(short)),
      TYPE(MPI_INT, sizeof(int)),
      TYPE(MPI_UNSIGNED, sizeof(int)),
      TYPE(MPI_LONG, sizeof(long)),
      TYPE(MPI_UNSIGNED_LONG, sizeof(long)),
      TYPE(MPI_LONG_LONG_INT, sizeof(long long)),
      TYPE(MPI_UNSIGNED_LONG_LONG, sizeof(long long)),
      TYPE(MPI_INT8_T, 1),
      TYPE(MPI_UINT8_T, 1),
      TYPE(MPI_INT16_T, 2),
      TYPE(MPI_UINT16_T, 2),
      TYPE(MPI_INT32_T, 4),
      TYPE(MPI_UINT32_T, 4),
      TYPE(MPI_INT64_T, 8),
      TYPE(MPI_UINT64_T, 8),
      TYPE(MPI_FLOAT, sizeof(float)),
      TYPE(MPI_DOUBLE, sizeof(double)),
      TYPE(MPI_LONG_DOUBLE, sizeof(long double)),
      TYPE(MPI_C_BOOL, 1),
      TYPE(MPI_C_COMPLEX, 8),
      TYPE(MPI_C_DOUBLE_COMPLEX, 16),
      TYPE(MPI_C_LONG_DOUBLE_COMPLEX, 2 * sizeof(long double)),
      TYPE(MPI_CXX_BOOL, 1),
      TYPE(MPI_CXX_FLOAT_COMPLEX, 8),
      TYPE(MPI_CXX_DOUBLE_COMPLEX, 16),
      TYPE(MPI_CXX_LONG_DOUBLE_COMPLEX, 2 * sizeof(long double)),
      TYPE(MPI_FLOAT_INT, 8),
      TYPE(MPI_DOUBLE_INT, 12),
      TYPE(MPI_LONG_INT, sizeof(long) + 4),
      TYPE(MPI_2INT, 8),
      TYPE(MPI_SHORT_INT, 6),
      TYPE(MPI_LONG_DOUBLE_INT, sizeof(long double) + 4),
      TYPE(MPI_CHARACTER, 1),
      TYPE(MPI_LOGICAL, 4),
      TYPE(MPI_INTEGER, 4),
      TYPE(MPI_REAL, 4),
      TYPE(MPI_DOUBLE_PRECISION, 8),
      TYPE(MPI_COMPLEX, 8),
      TYPE(MPI_DOUBLE_COMPLEX, 16),
      TYPE(MPI_2REAL, 8),
      TYPE(MPI_2DOUBLE_PRECISION, 16),
      TYPE(MPI_2INTEGER, 8),
      TYPE(MPI_LOGICAL1, 1),
      TYPE(MPI_LOGICAL2, 2),
      TYPE(MPI_LOGICAL4, 4),
      TYPE(MPI_LOGICAL8, 8),
      TYPE(MPI_LOGICAL16, 16),
      TYPE(MPI_INTEGER1, 1),
      TYPE(MPI_INTEGER2, 2),
      TYPE(MPI_INTEGER4, 4),
      TYPE(MPI_INTEGER8, 8),
      TYPE(MPI_INTEGER16, 16),
      TYPE(MPI_REAL2, MPI_UNDEFINED),
      TYPE(MPI_REAL4, 4),
      TYPE(MPI_REAL8, 8),
      TYPE(MPI_REAL16, 16),
      TYPE(MPI_COMPLEX4, MPI_UNDEFINED),
      TYPE(MPI_COMPLEX8, 8),
      TYPE(MPI_COMPLEX16, 16),
      TYPE(MPI_COMPLEX32, 32),
#undef TYPE
  };
  for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
    char name[MPI_MAX_OBJECT_NAME];
    int length, bytes, integers, addresses, old_types, combiner;
    MPI_Count wide;
    MPI_Type_get_name(types[i].type, name, &length);
    CHECK(strcmp(name, types[i].name) == 0 && length == (int)strlen(name));
    MPI_Type_size(types[i].type, &bytes);
    MPI_Type_size_x(types[i].type, &wide);
    CHECK(bytes == types[i].size && wide == types[i].size);
    MPI_Type_get_envelope(types[i].type, &integers, &addresses, &old_types, &combiner);
    CHECK(combiner == MPI_COMBINER_NAMED && integers == 0 && addresses == 0 && old_types == 0);
  }
}

static void check_null_names(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length);
  CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0 && length == 17);
  MPI_Comm_get_name(MPI_COMM_NULL, name, &length);
  CHECK(strcmp(name, "MPI_COMM_NULL") == 0 && length == 13);
}

static void exchange(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                     MPI_Datatype in_type, MPI_Status* status) {
  MPI_Sendrecv(out, out_count, out_type, next, 3, in, in_count, in_type, before, 3, MPI_COMM_WORLD, status);
}

// Five of the eight elements that a receive of two triples and a half has room for.
static void check_elements(void) {
  const int out[5] = {1, 2, 3, 4, 5};
  int in[9] = {0}, count, elements;
  MPI_Count wide, wider;
  MPI_Status status;
  MPI_Datatype triple;
  MPI_Type_contiguous(3, MPI_INT, &triple);
  MPI_Type_commit(&triple);
  exchange(out, 5, MPI_INT, in, 3, triple, &status);
  MPI_Get_count(&status, triple, &count);
  MPI_Get_elements(&status, triple, &elements);
  MPI_Get_elements_x(&status, triple, &wide);
  MPI_Get_elements_c(&status, triple, &wider);
  CHECK(count == MPI_UNDEFINED && elements == 5 && wide == 5 && wider == 5);
  CHECK(in[4] == 5 && in[5] == 0);
  exchange(out, 3, MPI_INT, in, 3, triple, &status);
  MPI_Get_count(&status, triple, &count);
  CHECK(count == 1);
  MPI_Type_free(&triple);
}

// MPI 5.0, 5.1.11: a type may name a place twice when it is sent, not when it is received into.
static void check_overlapping(void) {
  for (int n = 8; n <= 80000; n *= 100) {
    int *out = calloc((size_t)n + 4, sizeof(int)), *in = calloc((size_t)4 * n, sizeof(int));
    MPI_Datatype windows;
    MPI_Status status;
    MPI_Type_create_hvector(n, 4, sizeof(int), MPI_INT, &windows);
    MPI_Type_commit(&windows);
    for (int i = 0; i < n + 4; ++i) out[i] = 7 * i + 1;
    exchange(out, 1, windows, in, 4 * n, MPI_INT, &status);
    int wrong = 0;
    for (int i = 0; i < 4 * n; ++i) wrong += in[i] != 7 * (i / 4 + i % 4) + 1;
    CHECK(wrong == 0);
    MPI_Type_free(&windows);
    free(out);
    free(in);
  }
}

static void check_before_the_buffer(void) {
  const int n = 6000;
  const int lengths[2] = {1, 1}, places[2] = {-2 * n, 0};
  short *out = calloc((size_t)4 * n, sizeof(short)), *in = calloc((size_t)4 * n, sizeof(short));
  MPI_Datatype pair, pairs;
  MPI_Status status;
  MPI_Aint lower, extent;
  MPI_Type_indexed(2, lengths, places, MPI_SHORT, &pair);
  MPI_Type_get_extent(pair, &lower, &extent);
  CHECK(lower == -2 * n * (MPI_Aint)sizeof(short) && extent == (2 * n + 1) * (MPI_Aint)sizeof(short));
  MPI_Type_create_resized(pair, lower, -(MPI_Aint)sizeof(short), &pairs);  // the next one lies before
  MPI_Type_commit(&pairs);
  for (int i = 0; i < 4 * n; ++i) out[i] = (short)(i * 3 + 1);
  exchange(out + 3 * n, n, pairs, in + 3 * n, n, pairs, &status);
  int wrong = 0;
  for (int i = 0; i < 4 * n; ++i) {
    const int is_sent = (i > 2 * n && i <= 3 * n) || (i > 0 && i <= n);
    wrong += in[i] != (is_sent ? out[i] : 0);
  }
  CHECK(wrong == 0);
  MPI_Type_free(&pair);
  MPI_Type_free(&pairs);
  free(out);
  free(in);
}

static void check_without_data(void) {
  MPI_Datatype types[4];
  const int none = 0;
  const MPI_Aint far = 1 << 20;
  MPI_Type_contiguous(0, MPI_DOUBLE, &types[0]);
  MPI_Type_vector(5, 0, 3, MPI_DOUBLE, &types[1]);
  MPI_Type_create_hindexed(1, &none, &far, MPI_INT, &types[2]);
  MPI_Type_create_resized(types[0], -8, 64, &types[3]);
  for (int i = 0; i < 4; ++i) MPI_Type_commit(&types[i]);
  for (int i = 0; i < 4; ++i) {
    char in = 'i', out = 'o', packed;
    int bytes, count, position = 0;
    MPI_Status status;
    MPI_Aint lower, extent;
    MPI_Type_size(types[i], &bytes);
    MPI_Type_get_extent(types[i], &lower, &extent);
    CHECK(bytes == 0 && extent == (i == 3 ? 64 : 0));
    exchange(&out, 3, types[i], &in, 5, types[(i + 1) % 4], &status);
    MPI_Get_count(&status, types[i], &count);
    CHECK(in == 'i' && count == 0);
    MPI_Pack(&out, 1000, types[i], &packed, 1, &position, MPI_COMM_WORLD);
    CHECK(position == 0);
  }
  for (int i = 0; i < 4; ++i) MPI_Type_free(&types[i]);
}

static void check_large_contents(void) {
  const MPI_Count lengths[2] = {3, 1}, places[2] = {8, (MPI_Count)1 << 40};
  const MPI_Datatype old_types[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype type, found_types[2];
  MPI_Count integers, addresses, counts, types, found[5];
  int combiner;
  MPI_Aint no_address;
  int no_integer;
  MPI_Type_create_struct_c(2, lengths, places, old_types, &type);
  MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
  CHECK(combiner == MPI_COMBINER_STRUCT && integers == 0 && addresses == 0 && counts == 5 && types == 2);
  MPI_Type_get_contents_c(type, 0, 0, 5, 2, &no_integer, &no_address, found, found_types);
  CHECK(found[0] == 2 && found[1] == 3 && found[2] == 1 && found[3] == 8 && found[4] == (MPI_Count)1 << 40);
  CHECK(found_types[0] == MPI_INT && found_types[1] == MPI_DOUBLE);
  MPI_Type_get_extent_c(type, &integers, &addresses);
  CHECK(integers == 8 && addresses == ((MPI_Count)1 << 40));
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  next = (check_rank + 1) % check_size;
  before = (check_rank + check_size - 1) % check_size;
  check_predefined();
  check_null_names();
  check_elements();
  check_overlapping();
  check_before_the_buffer();
  check_without_data();
  check_large_contents();
  return check_end();
}
