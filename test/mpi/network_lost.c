/* A long message that has been announced, and whose connection breaks before it has come: its receive, which
 * names the sender, fails with an error of its call, and the rank goes on.  By `recv` (the default) or
 * `mrecv`.  On one node there is no connection.
 *
 * ranks: 2
 *
 * variants: none
 */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "connections.h"

enum { kBytes = 64 << 20, kTag = 5 };

/* Its first part has left when the connection breaks. */
static void send_some(char* buffer) {
  MPI_Request request;
  MPI_Isend(buffer, kBytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, &request);
  const double start = MPI_Wtime();
  int is_sent = 0;
  while (MPI_Wtime() - start < 5e-3) MPI_Test(&request, &is_sent, MPI_STATUS_IGNORE);
  CHECK(!is_sent, "64 MiB in 5 ms");
  cut();
  for (;;) pause(); /* the other one ends the job */
}

static void receive(char* buffer, int is_matched) {
  MPI_Status status;
  MPI_Message message;
  int error, class;
  if (is_matched) {
    MPI_Mprobe(0, kTag, MPI_COMM_WORLD, &message, &status);
    error = MPI_Mrecv(buffer, kBytes, MPI_BYTE, &message, &status);
  } else {
    error = MPI_Recv(buffer, kBytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &status);
  }
  MPI_Error_class(error, &class);
  CHECK(class == MPI_ERR_PROC_ABORTED, "class %d", class);
  CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == kTag, "source %d", status.MPI_SOURCE);
  puts("the receive has failed, and its rank goes on");
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  if (check_is_one_node()) return check_end();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  char* const buffer = calloc(kBytes, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check_rank == 0)
    send_some(buffer);
  else
    receive(buffer, argc > 1 && strcmp(argv[1], "mrecv") == 0);
  return check_end();
}
