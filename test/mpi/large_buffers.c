/* Large messages between every kind of memory: malloc, MPI_Alloc_mem, static data, stack, the program's own
   mmap (moved, unmapped, mapped anew in the same place); with forks in between, after which buffers may have
   changed their backing. ranks: 1 2 3 8 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kBytesMax = 3 << 20, kStackBytes = 200000 };

static int rank, ranks;
static long wrong;
static char static_send[kBytesMax], static_receive[kBytesMax];

static void fill(char* at, size_t bytes, int seed) {
  for (size_t i = 0; i < bytes; ++i) at[i] = (char)(i * 7 + (i >> 9) + (size_t)seed);
}

static void check(const char* at, size_t bytes, int seed, const char* what) {
  for (size_t i = 0; i < bytes; ++i)
    if (at[i] != (char)(i * 7 + (i >> 9) + (size_t)seed)) {
      printf("rank %d: %s: wrong byte %zu of %zu\n", rank, what, i, bytes);
      ++wrong;
      return;
    }
}

/* Everybody sends to the next and receives from the one before, nonblocking. */
static void ring(char* send, char* receive, size_t bytes, int seed, const char* what) {
  const int before = (rank + ranks - 1) % ranks;
  MPI_Request requests[2];
  fill(send, bytes, seed + rank);
  memset(receive, 0, bytes);
  MPI_Irecv(receive, (int)bytes, MPI_BYTE, before, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(send, (int)bytes, MPI_BYTE, (rank + 1) % ranks, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  check(receive, bytes, seed + before, what);
}

/* Ranks 0 and 1, blocking: the waiting sender may help to copy. */
static void ping_pong(char* send, char* receive, size_t bytes, int seed, const char* what) {
  if (rank > 1 || ranks < 2) return;
  const int other = 1 - rank;
  for (int turn = 0; turn < 2; ++turn) {
    if (turn == rank) {
      fill(send, bytes, seed + turn);
      MPI_Send(send, (int)bytes, MPI_BYTE, other, 2, MPI_COMM_WORLD);
    } else {
      memset(receive, 0, bytes);
      MPI_Recv(receive, kBytesMax, MPI_BYTE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      check(receive, bytes, seed + turn, what);
    }
  }
}

static void all_kinds(size_t bytes, int round) {
  char* heap_send = malloc(bytes);
  char* heap_receive = malloc(kBytesMax);
  char *mpi_send, *mpi_receive;
  MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &mpi_send);
  MPI_Alloc_mem((MPI_Aint)kBytesMax, MPI_INFO_NULL, &mpi_receive);
  ring(heap_send, heap_receive, bytes, round, "malloc, nonblocking");
  ring(static_send, heap_receive, bytes, round, "static to malloc");
  ring(heap_send, static_receive, bytes, round, "malloc to static");
  ring(mpi_send, static_receive, bytes, round, "MPI_Alloc_mem to static");
  ping_pong(heap_send, heap_receive, bytes, round + 5, "malloc");
  ping_pong(static_send, static_receive, bytes, round, "static");
  ping_pong(mpi_send, mpi_receive, bytes, round, "MPI_Alloc_mem");
  if (bytes <= kStackBytes) {
    char on_stack[kStackBytes];
    ring(on_stack, heap_receive, bytes, round, "stack to malloc");
    ping_pong(on_stack, heap_receive, bytes, round, "stack to malloc, blocking");
  }
  free(heap_send);
  free(heap_receive);
  MPI_Free_mem(mpi_send);
  MPI_Free_mem(mpi_receive);
}

static char* map_anew(char* at, size_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0);
  char* mapped = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapped == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  return mapped;
}

/* Whoever remembers where a peer's memory lay must notice that there is other memory now. */
static void own_maps(size_t bytes, int round) {
  char* send = map_anew(NULL, bytes);
  char* receive = map_anew(NULL, bytes);
  ring(send, receive, bytes, round, "mmap");
  munmap(send, bytes);
  send = map_anew(send, bytes);
  ring(send, receive, bytes, round + 1, "mmap, mapped anew");
  send = map_anew(send, bytes);  /* over itself, with no munmap before */
  receive = map_anew(receive, bytes);
  ring(send, receive, bytes, round + 2, "mmap, mapped over");
  send = mremap(send, bytes, 2 * bytes, MREMAP_MAYMOVE);
  receive = mremap(receive, bytes, 2 * bytes, MREMAP_MAYMOVE);
  if (send == MAP_FAILED || receive == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  ring(send, receive, 2 * bytes, round + 3, "mmap, grown and moved");
  ping_pong(send, receive, bytes, round + 4, "mmap, blocking");
  munmap(send, 2 * bytes);
  munmap(receive, 2 * bytes);
}

/* realloc and free of large blocks: the next block may lie where the last one did, or elsewhere. */
static void grown_blocks(size_t bytes, int round) {
  char* send = malloc(bytes);
  char* receive = malloc(bytes);
  for (size_t now = bytes; now <= 4 * bytes; now *= 2) {
    send = realloc(send, now);
    receive = realloc(receive, now);
    ring(send, receive, now, round, "realloc, growing");
  }
  send = realloc(send, bytes / 2);
  ring(send, receive, bytes / 2, round, "realloc, shrunk");
  free(send);
  free(receive);
}

/* What a program does between two rounds of messages. */
static pid_t disturb(int round) {
  if (round == 0 && system("true") != 0) ++wrong;
  const int is_forking = round == 1 || (round == 2 && rank == 1);
  if (!is_forking) return 0;
  const pid_t child = fork();
  if (child == 0) {
    if (round == 1) usleep(100000);  /* lives while the parent communicates */
    memset(static_send, 9, sizeof static_send);
    _exit(0);
  }
  return child;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  pid_t child = 0;
  for (int round = 0; round < 4; ++round) {
    for (size_t bytes = 20000; bytes <= kBytesMax; bytes = bytes * 3 + 77) all_kinds(bytes, round);
    for (size_t bytes = 4096; bytes <= 1 << 20; bytes *= 4) {
      own_maps(bytes, round);
      grown_blocks(bytes, round);
    }
    if (child > 0) waitpid(child, NULL, 0);
    child = disturb(round);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return wrong != 0;
}
