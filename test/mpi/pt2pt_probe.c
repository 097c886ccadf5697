/* Probe, iprobe, mprobe, improbe, mrecv, imrecv, sendrecv and their nonblocking forms. */
#include "check.h"

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  const int left = (check_rank + check_size - 1) % check_size, right = (check_rank + 1) % check_size;
  static int out[30000], in[30000];
  int tag = 0; /* new ones in every round: a neighbour may be a round ahead */
  for (int count = 1; count <= 30000; count = count * 10 + 3, tag += 10) {
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    int found, flag;
    for (int i = 0; i < count; ++i) out[i] = check_rank + i;

    MPI_Isend(out, count, MPI_INT, right, tag + 1, MPI_COMM_WORLD, &request);
    MPI_Probe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &found);
    CHECK(found == count && status.MPI_SOURCE == left && status.MPI_TAG == tag + 1, "probe saw %d of %d",
          found, count);
    MPI_Recv(in, count, MPI_INT, left, tag + 1, MPI_COMM_WORLD, &status);
    CHECK(in[count - 1] == left + count - 1, "received %d", in[count - 1]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    MPI_Isend(out, count, MPI_INT, right, tag + 2, MPI_COMM_WORLD, &request);
    MPI_Mprobe(left, tag + 2, MPI_COMM_WORLD, &message, &status);
    MPI_Iprobe(left, tag + 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag, "mprobe left the message in matching");
    MPI_Mrecv(in, count, MPI_INT, &message, &status);
    CHECK(message == MPI_MESSAGE_NULL && in[0] == left, "mrecv");
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    MPI_Isend(out, count, MPI_INT, right, tag + 3, MPI_COMM_WORLD, &request);
    do MPI_Improbe(MPI_ANY_SOURCE, tag + 3, MPI_COMM_WORLD, &flag, &message, &status); while (!flag);
    MPI_Request receive;
    MPI_Imrecv(in, count, MPI_INT, &message, &receive);
    MPI_Wait(&receive, &status);
    CHECK(status.MPI_SOURCE == left, "imrecv from %d", status.MPI_SOURCE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    MPI_Sendrecv(out, count, MPI_INT, right, tag + 4, in, count, MPI_INT, left, tag + 4, MPI_COMM_WORLD,
                 &status);
    CHECK(in[count / 2] == left + count / 2, "sendrecv");
    for (int i = 0; i < count; ++i) in[i] = check_rank * 2 + i;
    MPI_Sendrecv_replace(in, count, MPI_INT, right, tag + 5, left, tag + 5, MPI_COMM_WORLD, &status);
    CHECK(in[count - 1] == left * 2 + count - 1, "sendrecv_replace");
    MPI_Isendrecv(out, count, MPI_INT, right, tag + 6, in, count, MPI_INT, left, tag + 6, MPI_COMM_WORLD,
                  &request);
    MPI_Wait(&request, &status);
    CHECK(in[0] == left && status.MPI_SOURCE == left, "isendrecv");
    in[0] = check_rank + 50;
    MPI_Isendrecv_replace(in, count, MPI_INT, right, tag + 7, left, tag + 7, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK(in[0] == left + 50, "isendrecv_replace");
  }
  MPI_Message message;
  MPI_Status status;
  MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
  CHECK(message == MPI_MESSAGE_NO_PROC, "mprobe of MPI_PROC_NULL");
  MPI_Mrecv(in, 1, MPI_INT, &message, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && message == MPI_MESSAGE_NULL, "mrecv of MPI_PROC_NULL");
  return check_end();
}
