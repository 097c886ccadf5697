/* Every send mode and size between all pairs of ranks, oneself included; contents and statuses checked. */
#include <string.h>

#include "check.h"

enum { kSizes = 12 };
static const int sizes[kSizes] = {0, 1, 8, 40, 41, 56, 100, 512, 1000, 5000, 70000, 1500000};

static void fill(unsigned char* data, int bytes, int seed) {
  for (int i = 0; i < bytes; ++i) data[i] = (unsigned char)(seed * 31 + i * 7);
}

static void expect(const unsigned char* data, int bytes, int seed) {
  for (int i = 0; i < bytes; ++i)
    CHECK(data[i] == (unsigned char)(seed * 31 + i * 7), "byte %d of %d, seed %d", i, bytes, seed);
}

static void send_as(int mode, const void* data, int bytes, int to, int tag, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  switch (mode) {
    case 0: MPI_Send(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD); break;
    case 1: MPI_Ssend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD); break;
    case 2: MPI_Bsend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD); break;
    case 3: MPI_Isend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, request); break;
    case 4: MPI_Issend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, request); break;
    case 5: MPI_Ibsend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, request); break;
    case 6: MPI_Rsend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD); break;
    default: MPI_Irsend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, request); break;
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  /* A slow neighbour may leave a message of every size to every rank in the buffer, in both modes. */
  const int buffer_bytes = 2 * (check_size + 1) * (1600000 + kSizes * MPI_BSEND_OVERHEAD);
  void* buffer = malloc(buffer_bytes);
  MPI_Buffer_attach(buffer, buffer_bytes);
  unsigned char* out = malloc(1500000);
  unsigned char* in = malloc(1500000);
  for (int mode = 0; mode < 8; ++mode)
    for (int s = 0; s < kSizes; ++s)
      for (int shift = 0; shift < check_size; ++shift) {
        const int bytes = sizes[s], tag = mode * 100 + s;
        const int to = (check_rank + shift) % check_size,
                  from = (check_rank - shift + check_size) % check_size;
        MPI_Request receive, send;
        MPI_Status status;
        memset(in, 0xee, bytes);
        fill(out, bytes, check_rank + s);
        MPI_Irecv(in, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &receive);
        if (mode >= 6) MPI_Barrier(MPI_COMM_WORLD); /* ready mode: the receive is posted everywhere */
        send_as(mode, out, bytes, to, tag, &send);
        MPI_Wait(&receive, &status);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        int count = -1;
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(count == bytes && status.MPI_SOURCE == from && status.MPI_TAG == tag,
              "mode %d: count %d source %d tag %d", mode, count, status.MPI_SOURCE, status.MPI_TAG);
        expect(in, bytes, from + s);
      }
  void* detached;
  int detached_bytes;
  MPI_Buffer_detach(&detached, &detached_bytes);
  CHECK(detached == buffer && detached_bytes == buffer_bytes, "detach gave %p, %d", detached, detached_bytes);
  free(buffer);
  free(in);
  free(out);
  return check_end();
}
