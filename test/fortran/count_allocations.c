/* Counts what a process allocates, for allocations_f08.f90: calls of malloc and the bytes asked for. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

static atomic_llong calls, bytes;
void* __libc_malloc(size_t size);

void* malloc(size_t size) {
  calls += 1;
  bytes += (long long)size;
  return __libc_malloc(size);
}

void allocations_until_now(int64_t* calls_until_now, int64_t* bytes_until_now) {
  *calls_until_now = calls;
  *bytes_until_now = bytes;
}
