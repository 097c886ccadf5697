/* What the stories of ARCHITECTURE.md tell, one call in each function, run by stories.py under callgrind,
   which writes down the lines that each of them passes. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

enum { kWarmUp = 20, kLargeBytes = 4 << 20 };

static int rank;
static long word, sum;
static char* large;
static MPI_Win window, created;

#define STORY __attribute__((noinline, noipa)) void

STORY story_send(void) { MPI_Send(&word, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD); }
STORY story_receive_arrived(void) {
  MPI_Recv(&word, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
STORY story_receive_awaited(void) {
  MPI_Recv(&word, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
STORY story_collective(void) { MPI_Allreduce(&word, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD); }
STORY story_large_send(void) { MPI_Send(large, kLargeBytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD); }
STORY story_large_receive(void) {
  MPI_Recv(large, kLargeBytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

STORY story_put(void) { MPI_Put(&word, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, window); }
STORY story_flush(void) { MPI_Win_flush(1, window); }
STORY story_accumulate(void) {
  MPI_Accumulate(&word, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, created);
}

/* callgrind writes down a story, and begins the next, when this is left. */
STORY end_of_story(void) { __asm__ volatile(""); }

/* Outside of MPI: who waits in a call would see what it is not to see. */
static void pause_ms(long ms) {
  const struct timespec time = {0, ms * 1000000};
  nanosleep(&time, NULL);
}

static void warm_up(void) {
  for (int i = 0; i < kWarmUp; ++i) {
    const int bytes = i % 2 ? 8 : kLargeBytes;
    if (rank == 0)
      MPI_Send(large, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    else
      MPI_Recv(large, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&word, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  }
}

static void one_sided(void) {
  char* memory;
  MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_create(large, kLargeBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &created);
  MPI_Win_lock_all(0, window);
  MPI_Win_lock_all(0, created);
  if (rank == 0) {
    MPI_Win_flush(1, window);  // the first one polls
    story_put(), end_of_story();
    story_flush(), end_of_story();
    MPI_Accumulate(&word, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, created);
    story_accumulate(), end_of_story();
  }
  MPI_Win_unlock_all(created);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&created);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Alloc_mem(kLargeBytes, MPI_INFO_NULL, &large);
  warm_up();
  if (rank == 0) {
    story_send(), end_of_story();
    pause_ms(400);
    MPI_Send(&word, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
    pause_ms(200);  // no other message is there
  } else {
    pause_ms(200);
    story_receive_arrived(), end_of_story();
    story_receive_awaited(), end_of_story();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  story_collective(), end_of_story();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    story_large_send(), end_of_story();
  else
    story_large_receive(), end_of_story();
  one_sided();
  MPI_Free_mem(large);
  MPI_Finalize();
  return 0;
}
