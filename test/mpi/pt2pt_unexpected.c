/* Far more short messages than a network should hold before their receives: memory stays in bounds, whatever
 * the receiver takes first, and nothing hangs that waits for a message behind all others.
 * ranks: 2 3
 * variants: none */
#include <string.h>
#include <sys/resource.h>

#include "check.h"

/* Where the network matches, libfabric keeps 18 KiB for each message, of which there would be 360 MB. */
enum { kMessages = 20000, kGrowthKbMost = 64 << 10, kLong = 40000, kLongs = 600 };

static MPI_Request requests[kMessages];
static int out[kMessages];

static long most_kb(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

static void check_growth(const char* what, long before) {
  CHECK(most_kb() - before < kGrowthKbMost, "%s: %ld KiB more", what, most_kb() - before);
}

static void flood(int to, int count, int is_synchronous) {
  for (int i = 0; i < count; ++i) {
    out[i] = i;
    (is_synchronous ? MPI_Issend : MPI_Isend)(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &requests[i]);
  }
}

static void receive(int from, int tag) {
  int in = -1;
  MPI_Recv(&in, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in == tag, "%d instead of %d", in, tag);
}

/* Rank 0 from all others; the last one of each first, where `is_backwards`. */
static void from_all(const char* what, int is_backwards, int has_barrier, int is_synchronous) {
  const int count = is_synchronous ? kMessages / 10 : kMessages;
  const long before = most_kb();
  if (check_rank > 0) flood(0, count, is_synchronous);
  if (has_barrier) MPI_Barrier(MPI_COMM_WORLD); /* behind all of them */
  if (check_rank == 0)
    for (int i = 0; i < count; ++i)
      for (int from = 1; from < check_size; ++from) receive(from, is_backwards ? count - 1 - i : i);
  if (check_rank > 0) MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  check_growth(what, before);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* What was put aside is found, matched, cut short, scattered and given back as any other. */
static void by_all_calls(void) {
  enum { kCount = 2000 };
  if (check_rank == 1) {
    int flag;
    MPI_Status status;
    flood(0, kCount, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request wanted_back;
    MPI_Isend(out, 3, MPI_INT, 0, kCount, MPI_COMM_WORLD, &wanted_back);
    MPI_Cancel(&wanted_back);
    MPI_Wait(&wanted_back, &status);
    MPI_Test_cancelled(&status, &flag);
    MPI_Send(&flag, 1, MPI_INT, 0, kCount + 1, MPI_COMM_WORLD);
    MPI_Waitall(kCount, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int tag = kCount - 1; check_rank == 0 && tag >= 0; --tag) {
    int in[2] = {-1, -1}, count;
    MPI_Status status;
    MPI_Message message;
    if (tag % 4 == 0) {
      MPI_Mprobe(1, tag, MPI_COMM_WORLD, &message, &status);
      MPI_Mrecv(in, 2, MPI_INT, &message, &status);
    } else if (tag % 4 == 1) {
      MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
      MPI_Recv(in, 2, MPI_INT, status.MPI_SOURCE, tag, MPI_COMM_WORLD, &status);
    } else if (tag % 4 == 2) {
      char bytes[8] = {0};
      MPI_Datatype every_other;
      MPI_Type_vector(4, 1, 2, MPI_CHAR, &every_other);
      MPI_Type_commit(&every_other);
      MPI_Recv(bytes, 1, every_other, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
      MPI_Type_free(&every_other);
      for (int i = 0; i < 4; ++i) ((char*)in)[i] = bytes[2 * i];
    } else {
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      const int code = MPI_Recv(in, 2, MPI_CHAR, 1, tag, MPI_COMM_WORLD, &status);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
      int class = MPI_SUCCESS;
      MPI_Error_class(code, &class);
      CHECK(class == MPI_ERR_TRUNCATE, "class %d", class);
      ((short*)in)[1] = (short)(tag >> 16);
    }
    CHECK(in[0] == tag, "%d instead of %d", in[0], tag);
    if (tag % 4 < 2) {
      MPI_Get_count(&status, MPI_INT, &count);
      CHECK(count == 1 && status.MPI_TAG == tag && status.MPI_SOURCE == 1, "%d items, tag %d, from %d", count,
            status.MPI_TAG, status.MPI_SOURCE);
    }
  }
  if (check_rank == 0) {
    int is_cancelled, has_come;
    MPI_Recv(&is_cancelled, 1, MPI_INT, 1, kCount + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Iprobe(1, kCount, MPI_COMM_WORLD, &has_come, MPI_STATUS_IGNORE);
    CHECK(has_come == !is_cancelled, "cancelled: %d, here: %d", is_cancelled, has_come);
    if (has_come) MPI_Recv(out, 3, MPI_INT, 1, kCount, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Longer than what is kept whole. */
static void of_long_ones(void) {
  char* const data = calloc(kLong, 1);
  if (check_rank == 1) {
    for (int i = 0; i < kLongs; ++i) MPI_Isend(data, kLong, MPI_CHAR, 0, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(kLongs, requests, MPI_STATUSES_IGNORE);
  }
  for (int i = kLongs - 1; check_rank == 0 && i >= 0; --i) {
    MPI_Status status;
    int count;
    MPI_Recv(data, kLong, MPI_CHAR, 1, i, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &count);
    CHECK(count == kLong, "%d", count);
  }
  free(data);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Everybody has sent all before anybody receives, also to itself. */
static void all_to_all(void) {
  enum { kEach = 3000 };
  int count = 0;
  const long before = most_kb();
  for (int to = 0; to < check_size; ++to)
    for (int i = 0; i < kEach; ++i) {
      out[i] = i;
      MPI_Isend(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &requests[count++]);
    }
  for (int i = kEach - 1; i >= 0; --i)
    for (int from = 0; from < check_size; ++from) receive(from, i);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  check_growth("all to all", before);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  memset(requests, 1, sizeof requests); /* so that memory is touched before it is measured */
  memset(out, 1, sizeof out);
  from_all("in order", 0, 0, 0);
  from_all("in order, behind a barrier", 0, 1, 0);
  from_all("backwards", 1, 0, 0);
  from_all("backwards, synchronous", 1, 1, 1);
  all_to_all();
  by_all_calls();
  of_long_ones();
  return check_end();
}
