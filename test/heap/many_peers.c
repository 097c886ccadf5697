/* Every rank exchanges messages with every other one, each from another 2 MiB of small pages, under a limit
   on page tables that a tenth of them reaches (DUNLIN_HEAP_PEER_TABLES_BYTES_MAX, set in CMakeLists.txt):
   mappings are made anew while both sides copy.  Data must be right, and page tables must stay small.

   usage: many_peers LIMIT_KB */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../page_tables_kb.h"

enum { kUnits = 96, kUnitBytes = 2 << 20, kBytesMax = 300000, kAtOnce = 4 };

/* Bounds, each rank: without a limit 4 kB a unit and peer; besides them the upper levels and control pages.
 */
static const long slack_kb = 700;

static size_t bytes_of(int from, int unit) {
  return 8192 + (size_t)(from * 131 + unit * 7919) % (kBytesMax - 8192);
}
static char byte_of(int from, int unit, size_t i) { return (char)(from * 31 + unit * 7 + (int)(i % 251)); }

static long count_wrong(const char* at, int from, int unit) {
  long wrong = 0;
  for (size_t i = 0; i < bytes_of(from, unit); ++i) wrong += at[i] != byte_of(from, unit, i);
  return wrong;
}

int main(int count, char** arguments) {
  int rank, ranks;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long limit_kb = atol(arguments[1]);
  char* const block = calloc(kUnits, kUnitBytes);
  char* const receive = malloc((size_t)kAtOnce * kBytesMax);
  for (int unit = 0; unit < kUnits; ++unit)
    for (size_t i = 0; i < bytes_of(rank, unit); ++i)
      block[(size_t)unit * kUnitBytes + i] = byte_of(rank, unit, i);
  memset(receive, 0, (size_t)kAtOnce * kBytesMax);

  long before = 0, most = 0, wrong = 0;
  for (int distance = 1; distance < ranks; ++distance) {
    const int to = (rank + distance) % ranks, from = (rank + ranks - distance) % ranks;
    for (int unit = 0; unit < kUnits; unit += kAtOnce) {
      MPI_Request requests[2 * kAtOnce];
      for (int i = 0; i < kAtOnce; ++i) {
        MPI_Irecv(receive + (size_t)i * kBytesMax, (int)bytes_of(from, unit + i), MPI_BYTE, from, unit + i,
                  MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(block + (size_t)(unit + i) * kUnitBytes, (int)bytes_of(rank, unit + i), MPI_BYTE, to,
                  unit + i, MPI_COMM_WORLD, &requests[kAtOnce + i]);
      }
      MPI_Waitall(2 * kAtOnce, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < kAtOnce; ++i) wrong += count_wrong(receive + (size_t)i * kBytesMax, from, unit + i);
      const long now = page_tables_kb();
      if (before == 0) before = now;
      if (now > most) most = now;
    }
  }
  const int is_good = wrong == 0 && most - before <= limit_kb + slack_kb;
  if (!is_good || rank == 0)
    printf("rank %d: page tables grew by %ld kB (limit %ld), %ld bytes wrong\n", rank, most - before,
           limit_kb, wrong);
  free(block);
  free(receive);
  MPI_Finalize();
  return !is_good;
}
