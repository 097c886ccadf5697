/* Counts beyond 2^31 by the _c calls: put, get and accumulate of more bytes than an int counts, in one call,
 * to the middle of a window and back.  The origin's memory is one small block, mapped again and again.
 * rma_huge elements: what is accumulated are as many elements.  Where memory is short, one line says so.
 * Takes 2 GiB. ranks: none variants: none */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#define OK(call) CHECK((call) == MPI_SUCCESS, " ")

enum { kBlock = 1 << 24, kRest = 24, kAround = 64 };
static const MPI_Count kBlocks = 128, kBytes = ((MPI_Count)1 << 31) + kRest;
static const MPI_Count kNeeded = (MPI_Count)7 << 29;

static char* block; /* there 128 times, each behind the other */
static char* rest;  /* behind the last */
static char* memory;
static MPI_Win win;

/* Also where that is not known. */
static int is_memory_short(void) {
  char line[128];
  long long kb = 0;
  FILE* const file = fopen("/proc/meminfo", "r");
  while (file && fgets(line, sizeof line, file) && sscanf(line, "MemAvailable: %lld", &kb) != 1) {
  }
  if (file) fclose(file);
  return kb < kNeeded / 1024;
}

static char* map_again_and_again(void) {
  const int descriptor = memfd_create("block", 0), both = PROT_READ | PROT_WRITE;
  char* const first = mmap(NULL, (size_t)(kBytes + kBlock), both, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(ftruncate(descriptor, kBlock) == 0 && first != MAP_FAILED, " ");
  for (MPI_Count i = 0; i < kBlocks; ++i) {
    char* const at = first + i * kBlock;
    CHECK(mmap(at, kBlock, both, MAP_SHARED | MAP_FIXED, descriptor, 0) == at, " ");
  }
  close(descriptor);
  return first;
}

static char byte_of(int i) { return (char)(1 + (i * 7 + i / 251) % 100); }

static void fill(void) {
  for (int i = 0; i < kBlock; ++i) block[i] = byte_of(i);
  for (int i = 0; i < kRest; ++i) rest[i] = byte_of(kBlock + i);
}

/* Whether the window holds so many times what `fill` made, and nothing around. */
static void check_window(int times) {
  static char wanted[kBlock];
  const char *const all = memory + kAround, *const end = all + kBytes;
  for (int i = 0; i < kBlock; ++i) wanted[i] = (char)(times * byte_of(i));
  for (MPI_Count i = 0; i < kBlocks; ++i)
    CHECK(memcmp(all + i * kBlock, wanted, kBlock) == 0, "block %lld", (long long)i);
  for (int i = 0; i < kRest; ++i) CHECK(end[i - kRest] == (char)(times * byte_of(kBlock + i)), "%d", i);
  for (int i = 0; i < kAround; ++i) CHECK(memory[i] == 0 && end[i] == 0, "%d", i);
}

static void put(void) {
  if (check_rank == 1) {
    fill();
    OK(MPI_Put_c(block, kBytes, MPI_BYTE, 0, kAround, kBytes, MPI_BYTE, win));
  }
  OK(MPI_Win_fence(0, win));
  if (check_rank == 0) check_window(1);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void get(void) {
  if (check_rank == 1) {
    memset(block, 0, kBlock);
    memset(rest, 0, kRest);
    OK(MPI_Get_c(block, kBytes, MPI_BYTE, 0, kAround, kBytes, MPI_BYTE, win));
  }
  OK(MPI_Win_fence(0, win));
  for (int i = 0; check_rank == 1 && i < kBlock; ++i) CHECK(block[i] == byte_of(i), "%d", i);
  for (int i = 0; check_rank == 1 && i < kRest; ++i) CHECK(rest[i] == byte_of(kBlock + i), "%d", i);
}

static void accumulate(MPI_Datatype type, MPI_Count count) {
  if (check_rank == 1) {
    fill();
    OK(MPI_Accumulate_c(block, count, type, 0, kAround, count, type, MPI_SUM, win));
  }
  OK(MPI_Win_fence(0, win));
  if (check_rank == 0) check_window(2);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  int is_short = is_memory_short(), some = 0;
  MPI_Allreduce(&is_short, &some, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (some) {
    if (check_rank == 0) printf("skipped: less than %lld MB of memory\n", (long long)kNeeded >> 20);
    return check_end();
  }
  const MPI_Aint mine = check_rank == 0 ? kBytes + 2 * kAround : 0;
  block = map_again_and_again();
  rest = block + kBlocks * kBlock;
  OK(MPI_Win_allocate(mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  if (check_rank == 0) memset(memory, 0, (size_t)mine);
  OK(MPI_Win_fence(0, win));
  put();
  get();
  if (strcmp(argc > 1 ? argv[1] : "bytes", "elements") == 0)
    accumulate(MPI_INT8_T, kBytes);
  else
    accumulate(MPI_INT64_T, kBytes / 8);
  OK(MPI_Win_free(&win));
  munmap(block, (size_t)(kBytes + kBlock));
  return check_end();
}
