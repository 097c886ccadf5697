/* For rma_random.c: basic types with values that every order of operations keeps exact, and random layouts
 * of their elements, each with the places that the standard gives it. */
#pragma once

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static uint64_t state;
static unsigned draw(unsigned below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)((state >> 33) % below);
}

/* For one rank alone: the others need not know. */
static unsigned draw_here(unsigned below) {
  static uint64_t here;
  if (here == 0) here = (uint64_t)check_rank + 88172645463325252u;
  here ^= here << 13, here ^= here >> 7, here ^= here << 17;
  return (unsigned)(here % below);
}

enum kind { kInteger, kFloat, kComplex, kLogical, kBits, kPair, kOpaque };

/* A basic type: `second` begins behind a gap in some pairs. */
struct basic {
  MPI_Datatype type;
  enum kind kind;
  int extent;
  int first_bytes;
  int second_at, second_bytes;
};

enum { kBasics = 22 };
static struct basic basics[kBasics];

static void make_basics(void) {
  const struct basic all[kBasics] = {
      {MPI_INT8_T, kInteger, 1, 1, 0, 0},
      {MPI_UINT8_T, kInteger, 1, 1, 0, 0},
      {MPI_INT16_T, kInteger, 2, 2, 0, 0},
      {MPI_UINT16_T, kInteger, 2, 2, 0, 0},
      {MPI_INT32_T, kInteger, 4, 4, 0, 0},
      {MPI_UINT32_T, kInteger, 4, 4, 0, 0},
      {MPI_INT64_T, kInteger, 8, 8, 0, 0},
      {MPI_UINT64_T, kInteger, 8, 8, 0, 0},
      {MPI_LONG, kInteger, sizeof(long), sizeof(long), 0, 0},
      {MPI_AINT, kInteger, 8, 8, 0, 0},
      {MPI_FLOAT, kFloat, 4, 4, 0, 0},
      {MPI_DOUBLE, kFloat, 8, 8, 0, 0},
      {MPI_C_FLOAT_COMPLEX, kComplex, 8, 8, 0, 0},
      {MPI_C_DOUBLE_COMPLEX, kComplex, 16, 16, 0, 0},
      {MPI_C_BOOL, kLogical, 1, 1, 0, 0},
      {MPI_BYTE, kBits, 1, 1, 0, 0},
      {MPI_2INT, kPair, 8, 4, 4, 4},
      {MPI_SHORT_INT, kPair, 8, 2, 4, 4},
      {MPI_LONG_INT, kPair, 16, 8, 8, 4},
      {MPI_FLOAT_INT, kPair, 8, 4, 4, 4},
      {MPI_DOUBLE_INT, kPair, 16, 8, 8, 4},
      {MPI_CHAR, kOpaque, 1, 1, 0, 0},
  };
  memcpy(basics, all, sizeof all);
}

static void copy_element(const struct basic* b, char* to, const char* from) {
  memcpy(to, from, (size_t)b->first_bytes);
  memcpy(to + b->second_at, from + b->second_at, (size_t)b->second_bytes);
}

static int has_fraction(const struct basic* b) {
  return b->kind == kFloat || b->type == MPI_FLOAT_INT || b->type == MPI_DOUBLE_INT;
}

static void store_number(int is_floating, int bytes, char* at, int value) {
  const int8_t i8 = (int8_t)value;
  const int16_t i16 = (int16_t)value;
  const int64_t i64 = value;
  const float f32 = (float)value;
  const double f64 = value;
  if (is_floating)
    memcpy(at, bytes == 4 ? (const void*)&f32 : (const void*)&f64, (size_t)bytes);
  else if (bytes <= 2)
    memcpy(at, bytes == 1 ? (const void*)&i8 : (const void*)&i16, (size_t)bytes);
  else
    memcpy(at, bytes == 4 ? (const void*)&value : (const void*)&i64, (size_t)bytes);
}

/* Never zero, whose sign might depend on the order; factors that leave products small. */
static void draw_element(const struct basic* b, int is_factor, char* at) {
  const int factors[] = {1, -1, 1, -1, 1, -1, 1, 2};
  const int value = is_factor ? factors[draw(8)] : 1 + (int)draw(50), other = (int)draw(20);
  const int half = b->extent / 2;
  switch (b->kind) {
    case kLogical:
      *at = (char)(other % 2);
      break;
    case kBits:
    case kOpaque:
      *at = (char)draw(256);
      break;
    case kComplex: /* as factors 1, -1, i and -i */
      store_number(1, half, at, is_factor ? (other % 2 ? value % 2 : 0) : value);
      store_number(1, half, at + half, is_factor ? (other % 2 ? 0 : value % 2) : other);
      break;
    default:
      store_number(has_fraction(b), b->first_bytes, at, value);
      if (b->kind == kPair) memcpy(at + b->second_at, &other, 4);
  }
}

/* An operator of accumulates for these elements, whose order does not matter where `is_commutative`. */
static MPI_Op draw_op(const struct basic* b, int is_commutative) {
  const MPI_Op numbers[] = {MPI_SUM, MPI_MAX, MPI_MIN,  MPI_PROD, MPI_BAND,
                            MPI_BOR, MPI_LOR, MPI_LAND, MPI_BXOR, MPI_LXOR};
  const MPI_Op logicals[] = {MPI_LOR, MPI_LAND, MPI_LXOR};
  const MPI_Op bits[] = {MPI_BAND, MPI_BOR, MPI_BXOR};
  const MPI_Op pairs[] = {MPI_MINLOC, MPI_MAXLOC};
  if ((!is_commutative && draw(4) == 0) || b->kind == kOpaque) return MPI_REPLACE;
  switch (b->kind) {
    case kInteger:
      return numbers[draw(2) ? 0 : draw(10)];
    case kFloat:
      return numbers[draw(4)];
    case kComplex:
      return is_commutative || draw(2) ? MPI_SUM : MPI_PROD; /* products of zeros: their sign is not */
    case kLogical:
      return logicals[draw(3)];
    case kBits:
      return bits[draw(3)];
    default:
      return pairs[draw(2)];
  }
}

/* `count` elements of `type`; the i-th basic element lies at[i] extents from the address that is given, none
 * before `first` or behind `last`. */
struct layout {
  MPI_Datatype type;
  int count;
  int is_made;
  int elements, first, last;
  int* at;
};

static void free_layout(struct layout* l) {
  if (l->is_made) MPI_Type_free(&l->type);
  free(l->at);
}

static int draw_divisor(int n) {
  int found = 1;
  for (int i = 1, seen = 0; i <= n && i <= 64; ++i)
    if (n % i == 0 && draw((unsigned)++seen) == 0) found = i;
  return found;
}

/* Blocks of elements with gaps between them, `room` elements together at most. */
static int draw_blocks(int n, int room, int* lengths, int* begins, int most) {
  int blocks = 0, at = 0, spare = room - n;
  for (int left = n; left > 0; ++blocks) {
    const int gap = (int)draw((unsigned)(spare < 3 ? spare : 3) + 1);
    lengths[blocks] = blocks == most - 1 ? left : 1 + (int)draw((unsigned)left);
    begins[blocks] = at + gap;
    at = begins[blocks] + lengths[blocks];
    spare -= gap;
    left -= lengths[blocks];
  }
  return blocks;
}

enum { kBlocksMost = 12 };

static void make_blocks(struct layout* l, const struct basic* b, int room, int is_struct) {
  int lengths[kBlocksMost], begins[kBlocksMost];
  MPI_Aint bytes[kBlocksMost];
  MPI_Datatype types[kBlocksMost];
  const int blocks = draw_blocks(l->elements, room, lengths, begins, kBlocksMost);
  if (draw(2)) /* the last one first */
    for (int i = 0, k = blocks - 1; i < k; ++i, --k) {
      const int length = lengths[i], begin = begins[i];
      lengths[i] = lengths[k], begins[i] = begins[k];
      lengths[k] = length, begins[k] = begin;
    }
  for (int i = 0, n = 0; i < blocks; ++i) {
    bytes[i] = begins[i] * (MPI_Aint)b->extent;
    types[i] = b->type;
    for (int k = 0; k < lengths[i]; ++k) l->at[n++] = begins[i] + k;
  }
  if (is_struct)
    MPI_Type_create_struct(blocks, lengths, bytes, types, &l->type);
  else
    MPI_Type_indexed(blocks, lengths, begins, b->type, &l->type);
}

/* Rows of `length` elements, `stride` apart, in one of the ways to say so. */
static void make_rows(struct layout* l, const struct basic* b, int room) {
  const int length = draw_divisor(l->elements), rows = l->elements / length;
  const int most = rows > 1 ? (room - length) / (rows - 1) : length;
  const int stride = length + (int)draw((unsigned)(most - length < 8 ? most - length : 8) + 1);
  const MPI_Aint bytes = stride * (MPI_Aint)b->extent;
  const int way = (int)draw(4);
  int shift = 0;
  MPI_Datatype row;
  MPI_Type_contiguous(length, b->type, &row);
  if (way == 0) MPI_Type_vector(rows, length, stride, b->type, &l->type);
  if (way == 1) MPI_Type_create_hvector(rows, 1, bytes, row, &l->type);
  if (way == 2) MPI_Type_create_resized(row, 0, bytes, &l->type), l->count = rows;
  if (way == 3) {
    shift = rows * stride <= room ? (int)draw((unsigned)(stride - length) + 1) : 0;
    const int sizes[] = {rows, stride}, parts[] = {rows, length}, starts[] = {0, shift};
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, b->type, &l->type);
  }
  MPI_Type_free(&row);
  for (int i = 0; i < l->elements; ++i) l->at[i] = i / length * stride + i % length + shift;
}

/* `n` elements, at most `room` from the first to the last. */
static void make_layout(struct layout* l, const struct basic* b, int n, int room, int is_plain) {
  const int way = is_plain ? 0 : (int)draw(7);
  *l = (struct layout){b->type, n, 0, n, 0, 0, malloc((size_t)n * sizeof(int))};
  for (int i = 0; i < n; ++i) l->at[i] = i;
  if (way > 1) {
    l->is_made = 1;
    l->count = 1;
    if (way == 2) { /* backwards */
      const int most = n > 1 ? (room - 1) / (n - 1) : 1,
                stride = 1 + (int)draw((unsigned)(most < 3 ? most : 3));
      MPI_Type_create_hvector(n, 1, -stride * (MPI_Aint)b->extent, b->type, &l->type);
      for (int i = 0; i < n; ++i) l->at[i] = -i * stride;
    } else if (way <= 4) {
      make_blocks(l, b, room, way == 4);
    } else {
      make_rows(l, b, room);
    }
    MPI_Type_commit(&l->type);
  }
  l->first = l->last = l->at[0];
  for (int i = 0; i < n; ++i) {
    if (l->at[i] < l->first) l->first = l->at[i];
    if (l->at[i] > l->last) l->last = l->at[i];
  }
}
