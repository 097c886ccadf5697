// A flood of unexpected messages: rank 1 sends --count 8-byte messages before rank 0 receives the first of
// them.
//
// --order=same|reverse|random  in which order of tags rank 0 then receives
// --tags=N       distinct tags (default: every message has its own, as far as the library has tags)
// --limit-s=20   give up after this many seconds: an MPI that searches linearly would take hours.  The sample
//                then extrapolates from what was received, which flatters such an MPI.
// Samples: seconds from the first send to the last receive, and the receiver's memory per message.
#include <stdlib.h>
#include <string.h>

#include "sample.h"

typedef struct {
  long count, tags;
  const char* order;
} Flood;

static void shuffle(long* order, long count) {
  uint64_t state = 88172645463325252ull;
  for (long i = count - 1; i > 0; --i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const long j = (long)(state % (uint64_t)(i + 1)), swap = order[i];
    order[i] = order[j];
    order[j] = swap;
  }
}

static long* receive_order(const Flood* flood) {
  long* order = malloc((size_t)flood->count * sizeof(long));
  for (long i = 0; i < flood->count; ++i)
    order[i] = strcmp(flood->order, "reverse") == 0 ? flood->count - 1 - i : i;
  if (strcmp(flood->order, "random") == 0) shuffle(order, flood->count);
  return order;
}

// The last message has a tag of its own: when rank 0 has it, all others lie unexpected.
static void send_all(const Flood* flood) {
  for (long i = 0; i < flood->count; ++i) {
    const uint64_t value = (uint64_t)i;
    MPI_Send(&value, 8, MPI_BYTE, 0, (int)(i % flood->tags), MPI_COMM_WORLD);
  }
  MPI_Send(NULL, 0, MPI_BYTE, 0, (int)flood->tags, MPI_COMM_WORLD);
}

// Receives in the order asked for; messages of one tag must come in the order they were sent.  Returns how
// many came in time; the rest is drained as it lies.
static long receive_all(const Flood* flood, const long* order, double limit_s, double* seconds) {
  long* next_of_tag = malloc((size_t)flood->tags * sizeof(long));
  for (long tag = 0; tag < flood->tags; ++tag) next_of_tag[tag] = tag;
  const double start = bench_now();
  int is_right = 1;
  long done = 0;
  while (done < flood->count && (done == 0 || done % 64 != 0 || bench_now() - start < limit_s)) {
    const long tag = order[done++] % flood->tags;
    uint64_t value = 0;
    MPI_Recv(&value, 8, MPI_BYTE, 1, (int)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    is_right &= value == (uint64_t)next_of_tag[tag];
    next_of_tag[tag] += flood->tags;
  }
  *seconds = bench_now() - start;
  bench_expect(is_right, "a message was lost or overtaken");
  for (long i = done; i < flood->count; ++i) {
    uint64_t value;
    MPI_Recv(&value, 8, MPI_BYTE, 1, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  free(next_of_tag);
  return done;
}

static void measure(const Flood* flood, double limit_s) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = bench_now(), memory_before = bench_rss();
  double seconds = 0, bytes_per_message = 0;
  int is_cut_short = 0;
  if (bench_rank == 1) send_all(flood);
  if (bench_rank == 0) {
    MPI_Recv(NULL, 0, MPI_BYTE, 1, (int)flood->tags, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double arrived = bench_now() - start;
    bytes_per_message = (bench_rss() - memory_before) / (double)flood->count;
    long* order = receive_order(flood);
    double receiving = 0;
    const long done = receive_all(flood, order, limit_s, &receiving);
    seconds = arrived + receiving * (double)flood->count / (double)done;
    is_cut_short = done < flood->count;
    free(order);
  }
  bench_sample("memory", (double)flood->count, bytes_per_message, "B");
  bench_extrapolate(is_cut_short);
  bench_sample(flood->order, (double)flood->count, seconds, "s");
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "flood");
  int* tag_max = NULL;
  int has_tag_max = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_max, &has_tag_max);
  Flood flood = {bench_option("count", 1000000), 0, bench_text("order", "same")};
  flood.tags = bench_option("tags", flood.count);
  if (has_tag_max && flood.tags > *tag_max - 1) flood.tags = *tag_max - 1;
  if (bench_ranks == 2) measure(&flood, (double)bench_option("limit-s", 20));
  bench_finish();
  return 0;
}
