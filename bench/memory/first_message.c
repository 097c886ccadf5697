/* What the first message of a buffer costs beside the second (docs/memory.md, "Figures"): page faults of the
   peer that maps it, registrations, huge pages made late.  Rank 0 sends to rank 1; every sample takes a
   buffer that was never used in a message, on the side that the column names, and a warm one on the other.
   All data are written anew before every message, so that first and second differ by nothing else.

   "sent": a new buffer of the sender.  "received": a new buffer of the receiver, which it has written before.
   "untouched": a new buffer of the receiver, which nobody has touched: its own page faults count too.
   "static": bytes of a static array that no message has used yet, on both sides.

   usage: mpirun -n 2 first_message [SAMPLES [BYTES_MAX]]   Plain MPI: any MPI's compiler builds it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSamplesMax = 64, kKinds = 4 };
static const size_t kBytesMin = (size_t)64 << 10;
static const size_t kStaticBytes = (size_t)32 << 20;
static const char* const kNames[kKinds] = {"sent", "received", "untouched", "static"};
static char static_data[(size_t)32 << 20];
static size_t static_used;
static int rank;

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}
static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_value);
  return values[count / 2];
}

/* One message and its answer, as the sender sees it. */
static double message_us(char* buffer, size_t bytes, int value, int writes_receiver) {
  if (rank == 0 || writes_receiver) memset(buffer, value, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  if (rank == 0) {
    MPI_Send(buffer, (int)bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(buffer, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    if (buffer[0] != (char)value || buffer[bytes - 1] != (char)value) {
      fprintf(stderr, "first_message: wrong data\n");
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  return (MPI_Wtime() - start) * 1e6;
}

static char* allocate(size_t bytes) {
  char* block = malloc(bytes);
  if (!block) MPI_Abort(MPI_COMM_WORLD, 1);
  return block;
}

static void measure(int kind, size_t bytes, int samples, char* warm) {
  static char* kept[kSamplesMax];
  double first[kSamplesMax], second[kSamplesMax], third[kSamplesMax];
  if (kind == 3 && (bytes > (size_t)4 << 20 || static_used + (size_t)samples * bytes > kStaticBytes)) return;
  for (int i = 0; i < samples; ++i) {
    const int is_mine = kind == 3 || (kind == 0) == (rank == 0);
    char* buffer = !is_mine ? warm : kind == 3 ? static_data + static_used : (kept[i] = allocate(bytes));
    if (kind == 3) static_used += bytes;
    if (is_mine && kind != 2) memset(buffer, 1, bytes);
    message_us(warm, bytes, i, 1); /* the caches have lost the warm buffer meanwhile */
    first[i] = message_us(buffer, bytes, 2 * i + 2, kind != 2);
    second[i] = message_us(buffer, bytes, 2 * i + 3, kind != 2);
    third[i] = message_us(buffer, bytes, 2 * i + 4, kind != 2);
  }
  if (kind != 3 &&
      (kind == 0) == (rank == 0)) /* only now: freed earlier, it would be the next sample's again */
    for (int i = 0; i < samples; ++i) free(kept[i]);
  const double one = median(first, samples), two = median(second, samples), three = median(third, samples);
  if (rank == 0)
    printf("%-10s %10zu %10.1f %10.1f %10.1f %7.2f\n", kNames[kind], bytes, one, two, three, one / two),
        fflush(stdout);
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int samples = count > 1 ? atoi(arguments[1]) : 15;
  if (samples < 1 || samples > kSamplesMax) samples = 15;
  const size_t bytes_max = count > 2 ? strtoul(arguments[2], NULL, 0) : (size_t)64 << 20;
  char* warm = allocate(bytes_max);
  for (int i = 0; i < 3; ++i) message_us(warm, bytes_max, i, 1);
  if (rank == 0)
    printf("%-10s %10s %10s %10s %10s %7s\n", "new buffer", "bytes", "first us", "second us", "third us",
           "ratio");
  for (int kind = 0; kind < kKinds; ++kind)
    for (size_t bytes = kBytesMin; bytes <= bytes_max; bytes *= 4)
      measure(kind, bytes, bytes > (size_t)16 << 20 && samples > 5 ? 5 : samples, warm);
  free(warm);
  MPI_Finalize();
  return 0;
}
