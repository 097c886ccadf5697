// See shapes.h.  Blocks of a few bytes need their size at compile time: a call of memcpy a block takes
// several times as long.
#include "shapes.h"

#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { kRecordBytesMax = 64, kLine = 64 };

const Shape limits_byte = {1, 1, 1, NULL, NULL}, limits_int = {1, 4, 4, NULL, NULL};
const Shape limits_long = {1, 8, 8, NULL, NULL}, limits_double = {1, 8, 8, NULL, NULL};

static _Bool is_contiguous(const Shape* shape) {
  return !shape->places && !shape->mask && (shape->count == 1 || shape->block == shape->stride);
}

static size_t data_in_record(const Shape* shape) {
  size_t bytes = 0;
  for (size_t i = 0; i < shape->stride; ++i) bytes += shape->mask[i];
  return bytes;
}

size_t units_of(const Shape* shape, size_t count, size_t* unit_bytes) {
  *unit_bytes = is_contiguous(shape) ? 1 : shape->mask ? data_in_record(shape) : shape->block;
  return is_contiguous(shape) ? count * shape->count * shape->block : count * shape->count;
}

// Compilers keep to half of the widest registers unless told.
#if defined(__AVX512BW__)
#define WIDE __attribute__((noinline, target("prefer-vector-width=512")))
#else
#define WIDE __attribute__((noinline))
#endif
#define INLINE static inline __attribute__((always_inline))

INLINE void copy_steps(char* to, size_t to_step, const char* from, size_t from_step, size_t block,
                       size_t count) {
  for (size_t i = 0; i < count; ++i) memcpy(to + i * to_step, from + i * from_step, block);
}

INLINE void copy_row(char* to, const char* from, size_t bytes) {
  typedef char Line __attribute__((vector_size(64), aligned(1), may_alias));
  for (; bytes >= sizeof(Line); to += sizeof(Line), from += sizeof(Line), bytes -= sizeof(Line))
    *(Line*)to = *(const Line*)from;
  if (bytes > 0) memcpy(to, from, bytes);
}

static void copy_strided(char* to, size_t to_step, const char* from, size_t from_step, size_t block,
                         size_t count) {
  if (block == 8)
    copy_steps(to, to_step, from, from_step, 8, count);
  else if (block == 16)
    copy_steps(to, to_step, from, from_step, 16, count);
  else if (block == 32)
    copy_steps(to, to_step, from, from_step, 32, count);
  else
    for (size_t i = 0; i < count; ++i) copy_row(to + i * to_step, from + i * from_step, block);
}

INLINE void copy_places(char* to, const int* to_places, const char* from, const int* from_places,
                        size_t block, size_t count) {
  for (size_t i = 0; i < count; ++i)
    memcpy(to + (to_places ? (size_t)to_places[i] : i) * block,
           from + (from_places ? (size_t)from_places[i] : i) * block, block);
}

INLINE void copy_list(char* to, const int* to_places, const char* from, const int* from_places, size_t block,
                      size_t count) {
  if (block == 4)
    copy_places(to, to_places, from, from_places, 4, count);
  else if (block == 8)
    copy_places(to, to_places, from, from_places, 8, count);
  else if (block == 24)
    copy_places(to, to_places, from, from_places, 24, count);
  else
    copy_places(to, to_places, from, from_places, block, count);
}

// Groups of records of a size that the compiler knows: they become moves of whole registers under a mask.
WIDE static void copy_records(const Shape* shape, char* restrict to, const char* restrict from, size_t first,
                         size_t last) {
  enum { kGroup = 192 };
  unsigned char mask[kGroup];
  const size_t step = shape->stride;
  const char* end = from + last * step;
  for (size_t i = 0; i < kGroup; ++i) mask[i] = shape->mask[i % step];
  to += first * step;
  from += first * step;
  for (; kGroup % step == 0 && from + kGroup <= end; to += kGroup, from += kGroup)
    for (size_t i = 0; i < kGroup; ++i)
      if (mask[i]) to[i] = from[i];
  for (size_t i = 0; from + i < end; ++i)
    if (shape->mask[i % step]) to[i] = from[i];
}

void copy_shape(const Shape* shape, char* to, const char* from, size_t first, size_t last) {
  const size_t step = shape->stride;
  if (is_contiguous(shape))
    memcpy(to + first, from + first, last - first);
  else if (shape->mask)
    copy_records(shape, to, from, first, last);
  else if (shape->places)
    copy_list(to, shape->places + first, from, shape->places + first, shape->block, last - first);
  else
    copy_strided(to + first * step, step, from + first * step, step, shape->block, last - first);
}

#if defined(__x86_64__)
static void stream(char* to, const char* from, size_t bytes) {
  const size_t head = (0 - (uintptr_t)to) % kLine, first = head < bytes ? head : bytes;
  memcpy(to, from, first);
  for (to += first, from += first, bytes -= first; bytes >= kLine; to += kLine, from += kLine, bytes -= kLine)
    for (size_t i = 0; i < kLine; i += sizeof(__m128i))
      _mm_stream_si128((__m128i*)(to + i), _mm_loadu_si128((const __m128i*)(from + i)));
  memcpy(to, from, bytes);
  _mm_sfence();
}
#else
static void stream(char* to, const char* from, size_t bytes) { memcpy(to, from, bytes); }
#endif

void stream_shape(const Shape* shape, char* to, const char* from, size_t first, size_t last) {
  if (is_contiguous(shape))
    stream(to + first, from + first, last - first);
  else
    copy_shape(shape, to, from, first, last);
}

void pack_shape(const Shape* shape, char* to, const char* from, size_t first, size_t last) {
  if (is_contiguous(shape))
    memcpy(to, from + first, last - first);
  else if (shape->mask)
    for (size_t i = first * shape->stride; i < last * shape->stride; ++i) {
      *to = from[i];
      to += shape->mask[i % shape->stride];
    }
  else if (shape->places)
    copy_list(to, NULL, from, shape->places + first, shape->block, last - first);
  else
    copy_strided(to, shape->block, from + first * shape->stride, shape->stride, shape->block, last - first);
}

void unpack_shape(const Shape* shape, char* to, const char* from, size_t first, size_t last) {
  if (is_contiguous(shape))
    memcpy(to + first, from, last - first);
  else if (shape->mask) {
    for (size_t i = first * shape->stride; i < last * shape->stride; ++i)
      if (shape->mask[i % shape->stride]) to[i] = *from++;
  } else if (shape->places)
    copy_list(to, shape->places + first, from, NULL, shape->block, last - first);
  else
    copy_strided(to + first * shape->stride, shape->stride, from, shape->block, shape->block, last - first);
}

// ---- The constructors that the programs use.

static Shape* new_shape(Shape value) {
  Shape* shape = malloc(sizeof *shape);
  if (!shape) abort();
  *shape = value;
  return shape;
}

int MPI_Type_vector(int count, int block, int stride, MPI_Datatype of, MPI_Datatype* result) {
  const size_t blocks = (size_t)count, size = of->block;
  *result = new_shape((Shape){blocks, (size_t)block * size, (size_t)stride * size, NULL, NULL});
  return 0;
}

int MPI_Type_create_indexed_block(int count, int block, const int* places, MPI_Datatype of,
                                  MPI_Datatype* result) {
  int* kept = calloc((size_t)count, sizeof *kept);
  if (!kept) abort();
  memcpy(kept, places, (size_t)count * sizeof *kept);
  *result = new_shape((Shape){(size_t)count, (size_t)block * of->block, 0, kept, NULL});
  return 0;
}

int MPI_Type_create_struct(int count, const int* lengths, const MPI_Aint* places, const MPI_Datatype* types,
                           MPI_Datatype* result) {
  unsigned char* mask = calloc(kRecordBytesMax, 1);
  if (!mask) abort();
  for (int i = 0; i < count; ++i) memset(mask + places[i], 1, (size_t)lengths[i] * types[i]->block);
  *result = new_shape((Shape){1, 0, 0, NULL, mask});
  return 0;
}

int MPI_Type_create_resized(MPI_Datatype of, MPI_Aint begin, MPI_Aint extent, MPI_Datatype* result) {
  (void)begin;
  *result = new_shape(*of);
  ((Shape*)*result)->stride = (size_t)extent;
  return 0;
}

int MPI_Type_commit(MPI_Datatype* type) {
  (void)type;
  return 0;
}

int MPI_Type_size(MPI_Datatype type, int* bytes) {
  size_t unit_bytes;
  const size_t units = units_of(type, 1, &unit_bytes);
  *bytes = (int)(units * unit_bytes);
  return 0;
}

int MPI_Type_free(MPI_Datatype* type) {
  *type = NULL;  // the few that a program makes last as long as it does
  return 0;
}
