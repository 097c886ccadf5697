/* ranks: 1 2 3 4 7
   variants: none
   Ranks begin and end sessions a different number of times, or beside MPI_Init and MPI_Finalize: on one
   node the end of a session waits for nobody.  With threads of a rank that do so at once, in their own. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static MPI_Session begin(const char* level) {
  MPI_Session session;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", level);
  CHECK(MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
  MPI_Info_free(&info);
  return session;
}

static void alone(int times) {
  while (times-- > 0) {
    MPI_Session session = begin(times % 2 ? "MPI_THREAD_SINGLE" : "MPI_THREAD_SERIALIZED");
    MPI_Session_finalize(&session);
  }
}

/* The ranks first, first + step, ... below end of the world. */
static MPI_Comm connect(MPI_Session session, const char* word, int first, int end, int step) {
  MPI_Group all, some;
  MPI_Comm comm;
  int range[1][3] = {{first, end - 1, step}};
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  MPI_Group_range_incl(all, 1, range, &some);
  MPI_Comm_create_from_group(some, word, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  return comm;
}

static void talk(MPI_Comm comm) {
  int rank, size, sum;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == size * (size - 1) / 2);
}

static void find_place(void) {
  MPI_Session session = begin("MPI_THREAD_SINGLE");
  MPI_Group all;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  MPI_Group_rank(all, &check_rank);
  MPI_Group_size(all, &check_size);
  MPI_Group_free(&all);
  MPI_Session_finalize(&session);
}

static void meet(int first, int end, int step) {
  MPI_Session session = begin("MPI_THREAD_SINGLE");
  MPI_Comm comm = connect(session, "some", first, end, step);
  talk(comm);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}

/* Neighbours in a ring: the sets overlap, and each rank meets them in another order. */
static void meet_neighbours(int round) {
  MPI_Session session = begin("MPI_THREAD_SINGLE");
  int edge, size = check_size;
  if (size < 3) {
    MPI_Session_finalize(&session);
    return;
  }
  for (edge = 0; edge < size; ++edge) {
    int low = (edge + round) % size, high = (low + 1) % size;
    if (low > high) {
      int last = low;
      low = high, high = last;
    }
    if (check_rank == low || check_rank == high) {
      MPI_Comm comm = connect(session, "edge", low, high + 1, high - low);
      talk(comm);
      MPI_Comm_free(&comm);
    }
  }
  MPI_Session_finalize(&session);
}

static void* begin_and_end(void* at_once) {
  int i;
  pthread_barrier_wait(at_once);
  for (i = 0; i < 20; ++i) {
    MPI_Session session = begin("MPI_THREAD_MULTIPLE");
    MPI_Session_finalize(&session);
  }
  return NULL;
}

/* MPI_Finalize waits for all ranks, and for no session: rank 0 keeps one, in which the others meet it
   later. */
static void beside_the_world(void) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Comm comm;
  pthread_t thread;
  pthread_barrier_t at_once;
  int level;
  if (check_rank == 0) session = begin("MPI_THREAD_MULTIPLE");
  pthread_barrier_init(&at_once, NULL, 2);
  pthread_create(&thread, NULL, begin_and_end, &at_once);
  pthread_barrier_wait(&at_once);
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
  talk(MPI_COMM_WORLD);
  MPI_Finalize();
  pthread_join(thread, NULL);
  alone(check_rank % 2);
  if (check_rank != 0) session = begin("MPI_THREAD_SINGLE");
  comm = connect(session, "afterwards", 0, check_size, 1);
  talk(comm);
  MPI_Comm_disconnect(&comm);
  MPI_Session_finalize(&session);
}

/* One ends its session, which may be the last, while another begins one. */
static void* come_and_go(void* word) {
  int i;
  for (i = 0; i < 20; ++i) {
    MPI_Session session = begin("MPI_THREAD_MULTIPLE");
    if (i % 4 == 0) {
      MPI_Comm comm = connect(session, word, 0, check_size, 1);
      talk(comm);
      MPI_Comm_free(&comm);
    }
    MPI_Session_finalize(&session);
  }
  return NULL;
}

/* Rank 0 sends, ends its session and leaves, before the others look for what it has sent. */
static void leave_first(void) {
  static const int lengths[] = {8, 4096, 40000, 1 << 20};
  static char buffer[1 << 20];
  MPI_Session session = begin("MPI_THREAD_SINGLE");
  MPI_Comm comm = connect(session, "leave", 0, check_size, 1);
  int each, rank, i;
  for (each = 0; each < 4; ++each) {
    memset(buffer, each + 1, sizeof buffer);
    for (rank = 1; rank < check_size && check_rank == 0; ++rank)
      MPI_Send(buffer, lengths[each], MPI_BYTE, rank, each, comm);
    if (check_rank == 0) continue;
    if (each == 3) usleep(100000);
    memset(buffer, 0, sizeof buffer);
    MPI_Recv(buffer, lengths[each], MPI_BYTE, 0, each, comm, MPI_STATUS_IGNORE);
    for (i = 0; i < lengths[each]; ++i) CHECK(buffer[i] == each + 1);
  }
  for (i = 0; i < 20 && check_rank == 0; ++i)
    for (rank = 1; rank < check_size; ++rank) MPI_Send(&i, 1, MPI_INT, rank, 99, comm);
  if (check_rank != 0) usleep(100000);
  for (i = 0; i < 20 && check_rank != 0; ++i) {
    int got = -1;
    MPI_Recv(&got, 1, MPI_INT, 0, 99, comm, MPI_STATUS_IGNORE);
    CHECK(got == i);
  }
  for (rank = 1; rank < check_size && check_rank == 0; ++rank) {
    MPI_Request request;
    MPI_Isend(buffer, sizeof buffer, MPI_BYTE, rank, 100, comm, &request);
    MPI_Request_free(&request);
  }
  if (check_rank != 0) {
    usleep(100000);
    memset(buffer, 0, sizeof buffer);
    MPI_Recv(buffer, sizeof buffer, MPI_BYTE, 0, 100, comm, MPI_STATUS_IGNORE);
    for (i = 0; i < (int)sizeof buffer; ++i) CHECK(buffer[i] == each);
  }
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
}

int main(void) {
  static char words[2][8] = {"first", "second"};
  pthread_t threads[2];
  int round, i;
  find_place();
  for (round = 0; round < 5; ++round) {
    alone((check_rank + round) % 3);
    meet(0, check_size, 1);
    alone(check_rank);
    meet(check_rank % 2, check_size, 2);
    meet_neighbours(round);
  }
  for (i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, come_and_go, words[i]);
  for (i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  beside_the_world();
  alone(check_rank);
  leave_first();
  return 0;
}
