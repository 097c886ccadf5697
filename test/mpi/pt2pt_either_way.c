// Messages that may be pushed, read in place, or written where the receive waits (8 to 600 KB): from memory
// that the peer can read and from the stack, unchanged and fresh, to receivers in time and late.  The library
// changes its way in between; no byte, and no message's place in the order, may depend on it.
#include <string.h>

#include "check.h"

enum { kBytesMax = 65536, kLongMax = 600000, kMessages = 400, kWindow = 8 };

static const int kSizes[] = {8191, 8192, 12000, 16384, 16385, 40000, 65528, 65536};

static void fill(unsigned char* data, int bytes, int message) {
  for (int i = 0; i < bytes; ++i) data[i] = (unsigned char)(i * 7 + message * 13);
}

static int is_right(const unsigned char* data, int bytes, int message) {
  for (int i = 0; i < bytes; ++i)
    if (data[i] != (unsigned char)(i * 7 + message * 13)) return 0;
  return 1;
}

static int size_of(int message) { return kSizes[message % 8]; }

// One after another, blocking; the receiver comes late now and then.
static void stream(int rank, int peer, unsigned char* data, int is_fresh) {
  MPI_Status status;
  for (int message = 0; message < kMessages; ++message) {
    const int content = is_fresh ? message : 0, bytes = size_of(is_fresh ? message : message / 100);
    if (rank % 2 == 0) {
      if (is_fresh || message == 0) fill(data, kBytesMax, content);
      MPI_Send(data, bytes, MPI_BYTE, peer, message, MPI_COMM_WORLD);
    } else {
      if (message % 50 == 7)
        for (int i = 0; i < 100; ++i) MPI_Iprobe(peer, MPI_ANY_TAG, MPI_COMM_WORLD, &(int){0}, &status);
      memset(data, 0xff, kBytesMax);
      MPI_Recv(data, kBytesMax, MPI_BYTE, peer, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      int received;
      MPI_Get_count(&status, MPI_BYTE, &received);
      CHECK(status.MPI_TAG == message);
      CHECK(received == bytes);
      CHECK(is_right(data, bytes, content));
    }
  }
}

// Windows both ways at once, every message of another size.
static void windows(int peer, unsigned char* out, unsigned char* in) {
  MPI_Request requests[2 * kWindow];
  for (int window = 0; window < 40; ++window) {
    for (int i = 0; i < kWindow; ++i) {
      fill(out + i * kBytesMax, size_of(i), window + i);
      MPI_Isend(out + i * kBytesMax, size_of(i), MPI_BYTE, peer, 5, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < kWindow; ++i)
      MPI_Irecv(in + i * kBytesMax, kBytesMax, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &requests[kWindow + i]);
    MPI_Waitall(2 * kWindow, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kWindow; ++i) CHECK(is_right(in + i * kBytesMax, size_of(i), window + i));
  }
}

// The receive waits for the second of two messages, or for one that is too long for it, or for the only one.
static void waiting(int rank, int peer, unsigned char* data, int is_fresh) {
  static const int kLong[] = {16384, 16385, 65536, 99999, 262144, 524288, 600000};
  MPI_Status status;
  for (int message = 0; message < 210; ++message) {
    const int bytes = kLong[message % 7], content = is_fresh ? message : 0;
    const int has_other = message % 5 == 3, is_too_long = message % 11 == 6;
    if (rank % 2 == 0) {
      if (is_fresh || message == 0) fill(data, kLongMax, content);
      MPI_Request other = MPI_REQUEST_NULL;
      if (has_other) MPI_Isend(data, bytes / 2, MPI_BYTE, peer, 8, MPI_COMM_WORLD, &other);
      MPI_Send(data, bytes, MPI_BYTE, peer, 7, MPI_COMM_WORLD);
      MPI_Wait(&other, MPI_STATUS_IGNORE);
      MPI_Recv(data, 0, MPI_BYTE, peer, 9, MPI_COMM_WORLD, &status);
    } else {
      memset(data, 0xff, kLongMax);
      if (is_too_long) {
        const int error = MPI_Recv(data, bytes - 100, MPI_BYTE, peer, 7, MPI_COMM_WORLD, &status);
        int class;
        MPI_Error_class(error, &class);
        CHECK(class == MPI_ERR_TRUNCATE);
        CHECK(is_right(data, bytes - 100, content));
        CHECK(data[bytes - 100] == 0xff);
      } else {
        CHECK(MPI_Recv(data, kLongMax, MPI_BYTE, peer, 7, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        int received;
        MPI_Get_count(&status, MPI_BYTE, &received);
        CHECK(received == bytes);
        CHECK(status.MPI_TAG == 7);
        CHECK(status.MPI_SOURCE == peer);
        CHECK(is_right(data, bytes, content));
        CHECK(bytes == kLongMax || data[bytes] == 0xff);
      }
      if (has_other) {
        MPI_Recv(data, kLongMax, MPI_BYTE, peer, 8, MPI_COMM_WORLD, &status);
        CHECK(is_right(data, bytes / 2, content));
      }
      MPI_Send(data, 0, MPI_BYTE, peer, 9, MPI_COMM_WORLD);
    }
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  const int rank = check_rank, peer = rank ^ 1;
  if (peer < check_size) {
    unsigned char on_stack[kBytesMax];
    unsigned char *shared, *more;
    MPI_Alloc_mem(kLongMax, MPI_INFO_NULL, &shared);
    MPI_Alloc_mem(kLongMax, MPI_INFO_NULL, &more);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    unsigned char long_on_stack[kLongMax];
    for (int is_fresh = 0; is_fresh < 2; ++is_fresh) {
      stream(rank, peer, shared, is_fresh);
      stream(rank, peer, on_stack, is_fresh);
      waiting(rank, peer, shared, is_fresh);
      // From memory that no peer can map, into memory that it can.
      waiting(rank, peer, rank % 2 == 0 ? long_on_stack : shared, is_fresh);
      waiting(rank, peer, long_on_stack, is_fresh);
    }
    windows(peer, shared, more);
    MPI_Free_mem(shared);
    MPI_Free_mem(more);
  }
  return check_end();
}
