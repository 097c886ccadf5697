// Integer sort by buckets, after NAS IS: keys are generated, counted per bucket, and each rank gets the
// buckets of its range by all-to-all; ten rankings.  --log2-keys=23 (class A), 25 (class B).  The value is s
// for the ten.
#include <stdlib.h>
#include <string.h>

#include "sample.h"

enum { kBuckets = 1024, kRankings = 10, kKeyBits = 19 };

typedef struct {
  long keys;  // of this rank
  uint32_t *mine, *ordered, *received;
  long received_room, received_count;
  int *send_counts, *send_places, *recv_counts, *recv_places;
} Sort;

// Mean of four uniform numbers, so that the middle buckets are the fullest, as in NAS IS.
static void generate(Sort* sort) {
  uint64_t state = 314159265u + (uint64_t)bench_rank * 2654435761u;
  for (long i = 0; i < sort->keys; ++i) {
    uint64_t sum = 0;
    for (int k = 0; k < 4; ++k) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      sum += state >> (64 - kKeyBits);
    }
    sort->mine[i] = (uint32_t)(sum / 4);
  }
}

static int bucket_of(uint32_t key) { return (int)(key >> (kKeyBits - 10)); }

// Buckets in order go to ranks in order so that every rank gets about the same number of keys.
static void share_buckets(const long* totals, long all, int* owner) {
  long sum = 0;
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    owner[bucket] = (int)(sum * bench_ranks / (all ? all : 1));
    if (owner[bucket] >= bench_ranks) owner[bucket] = bench_ranks - 1;
    sum += totals[bucket];
  }
}

static void order_by_bucket(Sort* sort, const long* counts) {
  long next[kBuckets], at = 0;
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    next[bucket] = at;
    at += counts[bucket];
  }
  for (long i = 0; i < sort->keys; ++i) sort->ordered[next[bucket_of(sort->mine[i])]++] = sort->mine[i];
}

static void exchange(Sort* sort, const long* counts, const int* owner) {
  memset(sort->send_counts, 0, sizeof(int) * (size_t)bench_ranks);
  for (int bucket = 0; bucket < kBuckets; ++bucket) sort->send_counts[owner[bucket]] += (int)counts[bucket];
  MPI_Alltoall(sort->send_counts, 1, MPI_INT, sort->recv_counts, 1, MPI_INT, MPI_COMM_WORLD);
  int sent = 0, received = 0;
  for (int rank = 0; rank < bench_ranks; ++rank) {
    sort->send_places[rank] = sent;
    sort->recv_places[rank] = received;
    sent += sort->send_counts[rank];
    received += sort->recv_counts[rank];
  }
  if (received > sort->received_room) {
    free(sort->received);
    sort->received_room = received + received / 4;
    sort->received = bench_memory((size_t)sort->received_room * sizeof(uint32_t));
  }
  sort->received_count = received;
  MPI_Alltoallv(sort->ordered, sort->send_counts, sort->send_places, MPI_UINT32_T, sort->received,
                sort->recv_counts, sort->recv_places, MPI_UINT32_T, MPI_COMM_WORLD);
}

static void count_keys(Sort* sort, int* histogram) {
  memset(histogram, 0, sizeof(int) << kKeyBits);
  for (long i = 0; i < sort->received_count; ++i) ++histogram[sort->received[i]];
}

static void rank_keys(Sort* sort, int* histogram) {
  long counts[kBuckets] = {0}, totals[kBuckets];
  int owner[kBuckets];
  for (long i = 0; i < sort->keys; ++i) ++counts[bucket_of(sort->mine[i])];
  MPI_Allreduce(counts, totals, kBuckets, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  long all = 0;
  for (int bucket = 0; bucket < kBuckets; ++bucket) all += totals[bucket];
  share_buckets(totals, all, owner);
  order_by_bucket(sort, counts);
  exchange(sort, counts, owner);
  count_keys(sort, histogram);
}

// No key was lost, and the ranges of the ranks follow each other.
static void check(const Sort* sort, long keys_in_all) {
  long total = 0;
  MPI_Allreduce(&sort->received_count, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  bench_expect(total == keys_in_all, "the number of keys");
  long low = 1 << kKeyBits, high = -1, below = -1;
  for (long i = 0; i < sort->received_count; ++i) {
    low = sort->received[i] < low ? sort->received[i] : low;
    high = sort->received[i] > high ? sort->received[i] : high;
  }
  MPI_Exscan(&high, &below, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  bench_expect(bench_rank == 0 || sort->received_count == 0 || below < low, "the order of the ranks' ranges");
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "nas_is");
  const long all = 1L << bench_option("log2-keys", 23);
  Sort sort = {.keys = all * (bench_rank + 1) / bench_ranks - all * bench_rank / bench_ranks};
  sort.mine = bench_memory((size_t)sort.keys * sizeof(uint32_t));
  sort.ordered = bench_memory((size_t)sort.keys * sizeof(uint32_t));
  int** const per_rank[] = {&sort.send_counts, &sort.send_places, &sort.recv_counts, &sort.recv_places};
  for (int i = 0; i < 4; ++i) *per_rank[i] = bench_memory(sizeof(int) * (size_t)bench_ranks);
  int* histogram = bench_memory(sizeof(int) << kKeyBits);
  generate(&sort);
  rank_keys(&sort, histogram);  // warm-up
  for (long repeat = 0; repeat < bench_option("repeats", 3); ++repeat) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = bench_probe(), start = bench_now();
    for (int i = 0; i < kRankings; ++i) rank_keys(&sort, histogram);
    const double seconds = bench_largest(bench_now() - start), after = bench_probe();
    check(&sort, all);
    bench_sample_probed("sort", (double)all, seconds, "s", before, after);
  }
  bench_finish();
  return 0;
}
