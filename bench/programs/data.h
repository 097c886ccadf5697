// The states in which the transfer programs' messages find their data, by option:
//
// --mode=clean      nobody touches the data between messages (as OSU's and IMB's tests)
// --mode=fresh      the sender writes each message before it sends and the receiver reads it after, both
//                   inside the time, as real programs do
// --mode=off_cache  messages rotate through a pool far larger than any cache (as IMB's -off_cache)
#pragma once

#include <string.h>

#include "sample.h"

enum { kPoolBytes = 256 << 20 };

typedef struct {
  char *send, *recv;  // a buffer each, or pools
  size_t bytes;       // of a message
  size_t pool_bytes;  // 0: always the same place
  size_t offset;      // of the newest message
  int is_fresh;
} Data;

static volatile uint64_t data_sink;

// The program's own share of a fresh message, as one runs it that was built for its machine: with SSE2 alone
// these loops take 60 of the 66 us of 1 MB, and no MPI would differ from any other.
#if defined(__x86_64__)
#define AT_FULL_SPEED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define AT_FULL_SPEED __attribute__((noinline))
#endif

AT_FULL_SPEED static void write_all(char* data, size_t bytes, uint64_t value) {
  uint64_t* words = (uint64_t*)data;
  for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) words[i] = value + i;
  for (size_t i = bytes & ~(size_t)7; i < bytes; ++i) data[i] = (char)value;
}

AT_FULL_SPEED static void read_all(const char* data, size_t bytes) {
  const uint64_t* words = (const uint64_t*)data;
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) sum += words[i];
  for (size_t i = bytes & ~(size_t)7; i < bytes; ++i) sum += (uint64_t)data[i];
  data_sink = sum;
}

/// Reads --mode and allocates for `count` messages of up to `bytes_max` at a time, each in a place of its own
/// when the data is fresh or `is_apart`.
static inline Data data_open(size_t bytes_max, size_t count, int is_apart) {
  const char* mode = bench_text("mode", "clean");
  Data data = {.is_fresh = strcmp(mode, "fresh") == 0};
  if (strcmp(mode, "off_cache") == 0) data.pool_bytes = (size_t)bench_option("pool", kPoolBytes);
  size_t room = bytes_max * (data.is_fresh || is_apart ? count : 1);
  if (data.pool_bytes > room) room = data.pool_bytes;
  if (data.pool_bytes) data.pool_bytes = room;
  data.send = bench_buffer(room);
  data.recv = bench_buffer(room);
  return data;
}

/// Where the next message lies when messages rotate; else 0.
static inline size_t data_next(Data* data) {
  if (data->pool_bytes == 0) return 0;
  const size_t step = (data->bytes + 4095) & ~(size_t)4095;
  data->offset += step;
  if (data->offset + data->bytes > data->pool_bytes) data->offset = 0;
  return data->offset;
}

static inline void data_produce(const Data* data, size_t offset, long value) {
  if (data->is_fresh) write_all(data->send + offset, data->bytes, (uint64_t)value);
}
static inline void data_consume(const Data* data, size_t offset) {
  if (data->is_fresh) read_all(data->recv + offset, data->bytes);
}

/// The name of a series: the pattern's, after the mode unless that is "clean".
static inline const char* data_series(const char* pattern) {
  static char series[64];
  const char* mode = bench_text("mode", "clean");
  series[0] = '\0';
  if (strcmp(mode, "clean") != 0) strcat(strncat(series, mode, 20), "_");
  return strncat(series, pattern, 30);
}
