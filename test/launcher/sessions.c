/* Sessions that open and close the library several times in one process, before and after MPI_Init ..
 * MPI_Finalize; run by real_test.py.  First argument "exit": the last rank ends inside the second session;
 * "gone": it leaves without what runs at exit; "late": it stays in its last session for a minute. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern pid_t _Fork(void);

static int is_finalized(void) {
  int flag = 0;
  MPI_Finalized(&flag);
  return flag;
}

/* A child of fork is no rank, begins no session, and does not wait for any rank when it exits. */
static int child_is_no_rank(void) {
  MPI_Session session;
  int status = -1;
  const pid_t child = fork();
  if (child == 0)
    exit(!is_finalized() || MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
  return waitpid(child, &status, 0) == child && status == 0;
}

static int use_session(int turn, const char* what) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int rank, size, sum = -1;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return 0;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (turn == 1 && !strcmp(what, "exit") && rank == size - 1) exit(0);
  if (turn == 2 && !child_is_no_rank()) return 0;
  if (turn == 3) {  /* nor is one for which no handler ran, and its exit is not the rank's */
    const pid_t child = _Fork();
    if (child == 0) exit(0);
    waitpid(child, NULL, 0);
  }
  int value = rank + turn;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (turn == 4 && !strcmp(what, "late") && rank == size - 1) sleep(60);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  return sum == size * (size - 1) / 2 + size * turn;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int turn = 0, size, rank, sum, one = 1;
  for (; turn < 4; ++turn)
    if (!use_session(turn, what)) return 1;
  if (!child_is_no_rank()) return 4;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != size) return 2;
  MPI_Finalize();
  if (!use_session(turn, what)) return 3;
  printf("ok\n");
  fflush(stdout);
  if (!strcmp(what, "gone") && rank == size - 1) _exit(0);
  return 0;
}
