/* Programs that poll: neighbours exchange in loops of MPI_Testall, MPI_Test, MPI_Testany, MPI_Testsome,
 * MPI_Iprobe, MPI_Improbe and MPI_Request_get_status.  With more ranks than CPUs each failed test keeps the
 * CPU from the rank that is awaited, unless it is given away.
 * ranks: 8
 * variants: none
 */
#include "check.h"

enum { kRounds = 100 };

static void exchange(MPI_Request* requests, const int* out, int* in) {
  const int left = (check_rank + check_size - 1) % check_size, right = (check_rank + 1) % check_size;
  MPI_Irecv(&in[0], 1, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&in[1], 1, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(out, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(out, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[3]);
}

static void test_all(int round) {
  MPI_Request requests[4];
  int in[2] = {-1, -1}, done = 0;
  exchange(requests, &round, in);
  while (!done) MPI_Testall(4, requests, &done, MPI_STATUSES_IGNORE);
  CHECK(in[0] == round && in[1] == round, "%d %d in round %d", in[0], in[1], round);
}

static void test_each(int round) {
  MPI_Request requests[4];
  int in[2];
  exchange(requests, &round, in);
  for (int i = 0; i < 4; ++i)
    for (int done = 0; !done;) MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
}

static void test_any(int round) {
  MPI_Request requests[4];
  int in[2] = {-1, -1};
  exchange(requests, &round, in);
  for (int left = 4; left > 0;) {
    int index, done;
    MPI_Testany(4, requests, &index, &done, MPI_STATUS_IGNORE);
    if (done) --left;
  }
  CHECK(in[0] == round && in[1] == round, "%d %d in round %d", in[0], in[1], round);
}

static void test_some(int round) {
  MPI_Request requests[4];
  int in[2] = {-1, -1};
  exchange(requests, &round, in);
  for (int left = 4; left > 0;) {
    int indices[4], done;
    MPI_Testsome(4, requests, &done, indices, MPI_STATUSES_IGNORE);
    left -= done;
  }
  CHECK(in[0] == round && in[1] == round, "%d %d in round %d", in[0], in[1], round);
}

static void ask_status(int round) {
  MPI_Request requests[4];
  int in[2];
  exchange(requests, &round, in);
  for (int i = 0; i < 4; ++i)
    for (int done = 0; !done;) MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void probe(int round) {
  const int right = (check_rank + 1) % check_size;
  MPI_Send(&round, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
  for (int found = 0; !found;) MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  int in = -1;
  MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&round, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
  MPI_Message message;
  for (int found = 0; !found;)
    MPI_Improbe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

/* A switch by the kernel's clock takes 3 ms and more, and a round needs several: 40 ms. */
static void expect_quick(const char* what, void (*work)(int)) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int round = 0; round < kRounds; ++round) work(round);
  MPI_Barrier(MPI_COMM_WORLD);
  const double each_ms = (MPI_Wtime() - start) * 1000 / kRounds;
  if (check_rank == 0) printf("%s: %.3f ms a round\n", what, each_ms);
  CHECK(each_ms < 10, "%s: %f ms a round", what, each_ms);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  expect_quick("MPI_Testall", test_all);
  expect_quick("MPI_Test", test_each);
  expect_quick("MPI_Testany", test_any);
  expect_quick("MPI_Testsome", test_some);
  expect_quick("MPI_Request_get_status", ask_status);
  expect_quick("MPI_Iprobe and MPI_Improbe", probe);
  return check_end();
}
