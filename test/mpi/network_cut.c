/* The connection of two ranks on different nodes breaks while both live: who waits for the other one ends
 * the job, with a sentence.  By `recv` (the default), `flush`, or `exchange`, where it breaks amid short
 * messages, and the provider tells of nothing; `exchange any`: by MPI_ANY_SOURCE; `exchange early`: before
 * anybody has looked at the connection.  The provider may make it anew before anything is lost: then it
 * breaks again.  Where nothing is under way (`idle`), nothing is lost, and all goes on; but what is sent
 * before the provider has seen the break is (`full`: as much as the peer has room for; `one`: a single
 * message, for which no source is named; `one long`: which the provider only announces).  `uncut`: nothing
 * breaks, and a provider that fetches a long message only while its sender polls takes as long as that
 * computes.  Messages of 1 KiB, as libfabric 1.17 may crash where one fails that it was to copy.  On one node
 * there is no connection.
 *
 * ranks: 2
 *
 * variants: none
 */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "connections.h"

/* Until nothing comes any more. */
static void exchange(const char* how) {
  enum { kInts = 16 };
  const double begin = MPI_Wtime();
  const double first_s = strcmp(how, "early") == 0 ? .02 : 3;
  const int source = strcmp(how, "any") == 0 ? MPI_ANY_SOURCE : 1 - check_rank;
  int out[kInts] = {0}, in[kInts], is_cut = 0;
  for (;;) {
    MPI_Sendrecv(out, kInts, MPI_INT, 1 - check_rank, 0, in, kInts, MPI_INT, source, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (check_rank != 0 || MPI_Wtime() - begin < first_s + 2 * is_cut) continue;
    cut();
    ++is_cut;
  }
}

/* Twice: what one cut leaves behind shows when the next one comes. */
static void idle(void) {
  int out = 0, in = 0;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 1000; ++i, ++out) {
      MPI_Sendrecv(&out, 1, MPI_INT, 1 - check_rank, 0, &in, 1, MPI_INT, 1 - check_rank, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      CHECK(in == out, "%d came, and %d was sent", in, out);
    }
    sleep(1); /* all is at its place */
    if (check_rank == 0) cut();
    /* The provider sees it, and the other one waits for longer than DUNLIN_OFI_SILENCE_S. */
    for (const double begin = MPI_Wtime(); check_rank == 0 && MPI_Wtime() - begin < 4;) {
      int flag;
      MPI_Iprobe(1, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    if (check_rank == 0) MPI_Send(&out, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    if (check_rank == 1) MPI_Recv(&in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/* Rank 0 does not see it before it sends, and rank 1 receives after that. */
static void cut_behind_talk(void) {
  int in;
  for (int i = 0; i < 200; ++i)
    MPI_Sendrecv(&i, 1, MPI_INT, 1 - check_rank, 0, &in, 1, MPI_INT, 1 - check_rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  sleep(1);
  if (check_rank == 1) cut();
  usleep(check_rank == 0 ? 300000 : 600000);
}

static void full(void) {
  enum { kMessages = 64 };
  MPI_Request requests[kMessages];
  int out[kMessages], in;
  cut_behind_talk();
  for (int i = 0; i < kMessages; ++i) {
    out[i] = i;
    if (check_rank == 0) MPI_Isend(&out[i], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[i]);
    if (check_rank == 1) MPI_Recv(&in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (check_rank == 1) CHECK(in == i, "%d came, and %d was sent", in, i);
  }
  if (check_rank == 0) MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
}

/* A message behind which nobody says anything more. */
static void one(const char* how) {
  enum { kBytes = 4 << 20 };
  static char data[kBytes];
  cut_behind_talk();
  const int bytes = strcmp(how, "long") == 0 ? kBytes : 4;
  if (check_rank == 0) MPI_Send(data, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  if (check_rank == 1) MPI_Recv(data, bytes, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(data, bytes, MPI_CHAR, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void uncut(void) {
  static char data[60000];
  MPI_Request requests[2];
  if (check_rank == 0) {
    MPI_Isend(data, sizeof data, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(data, 4, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &requests[1]);
    sleep(8);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else {
    MPI_Recv(data, 4, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(data, sizeof data, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  if (check_is_one_node()) return check_end();
  if (argc > 1 && strcmp(argv[1], "exchange") == 0) exchange(argc > 2 ? argv[2] : "");
  if (argc > 1 && strcmp(argv[1], "idle") == 0) return idle(), check_end();
  if (argc > 1 && strcmp(argv[1], "uncut") == 0) return uncut(), check_end();
  if (argc > 1 && strcmp(argv[1], "full") == 0) full();
  if (argc > 1 && strcmp(argv[1], "one") == 0) one(argc > 2 ? argv[2] : "");
  enum { kInts = 256, kRounds = 200 };
  int words[kInts] = {0}, *memory;
  MPI_Win window;
  MPI_Win_allocate(sizeof words, sizeof *words, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_lock_all(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  const int is_flush = argc > 1 && strcmp(argv[1], "flush") == 0;
  for (int round = 0; check_rank == 0 && round < kRounds; ++round) {
    cut();
    if (is_flush) {
      MPI_Accumulate(words, kInts, MPI_INT, 1, 0, kInts, MPI_INT, MPI_SUM, window);
      MPI_Win_flush(1, window);
    } else {
      MPI_Send(words, kInts, MPI_INT, 1, 0, MPI_COMM_WORLD);
    }
  }
  MPI_Recv(words, kInts, MPI_INT, 1 - check_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return check_end();
}
