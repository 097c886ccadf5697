// What programs do with windows, by all ranks at once.  Memory of MPI_Win_allocate_shared, so that the same
// can be done by plain loads and stores beside it; --flavor=create takes a block of malloc instead (no
// `bare`).
//
// --cases=counter    fetch-and-op on one number of rank 0 by all other ranks, which wait for nothing else; x:
//                    origins; ns per operation of all together.  `bare`: the processor's instruction itself;
//                    `work`: either with 50 turns of a loop behind each
//         lock       exclusive lock of rank 0, put of 8 bytes, unlock, by all other ranks; ns per turn of all
//         hash       inserts into a distributed table: a slot taken by compare-and-swap, its value put
//         steal      tasks of some hundred ns from a counter that all share; ns per task and rank
//         halo       a strip put to both neighbours in a ring, between fences, or by post, start, complete,
//                    wait; x: bytes of a strip; us per exchange
//         transpose  blocks of a distributed matrix of doubles fetched by MPI_Get; x: rows; us per transpose
//         busy       put, get and accumulate of rank 0 on the last rank, which computes and calls no MPI; us
//         per
//                    operation and flush
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

enum { kWords = 1 << 17, kHalo = 1024, kRowsMost = 512 };

typedef struct {
  MPI_Win win;
  char *memory, *own;
  atomic_long* first;  // rank 0's memory, where plain loads reach it
  int bytes, rows;
  MPI_Group neighbours;
  MPI_Datatype column;
} Context;

static int is_origin(void) { return bench_rank != 0 || bench_ranks == 1; }
static int origins(void) { return bench_ranks == 1 ? 1 : bench_ranks - 1; }

static inline void compute(int turns) {
  if (turns == 0) return;  // known where this is called
  for (volatile int turn = 0; turn < turns; turn = turn + 1) continue;
}
static inline void count_all(long iterations, Context* c, int turns) {
  const long one = 1;
  long before;
  for (long i = 0; i < iterations && is_origin(); ++i) {
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, c->win);
    MPI_Win_flush(0, c->win);
    compute(turns);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}
static inline void count_all_bare(long iterations, Context* c, int turns) {
  volatile long before;  // the number that was there is wanted, as of the call
  for (long i = 0; i < iterations && is_origin(); ++i) {
    before = atomic_fetch_add(c->first, 1);
    compute(turns);
  }
  (void)before;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void count(long iterations, void* c) { count_all(iterations, c, 0); }
static void count_bare(long iterations, void* c) { count_all_bare(iterations, c, 0); }
static void count_and_compute(long iterations, void* c) { count_all(iterations, c, 50); }
static void count_bare_and_compute(long iterations, void* c) { count_all_bare(iterations, c, 50); }

static void lock(long iterations, void* opaque) {
  Context* c = opaque;
  const long value = bench_rank;
  for (long i = 0; i < iterations && is_origin(); ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, c->win);
    MPI_Put(&value, 1, MPI_LONG, 0, 1, 1, MPI_LONG, c->win);
    MPI_Win_unlock(0, c->win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static unsigned long scrambled(unsigned long x) {
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185ul;
  return (x ^ (x >> 27)) * 0x81dadef4bc2dd44dul;
}

// Slots are pairs of key and value.  A run fills at most half of the table, which is cleared before it.
static void insert(long iterations, void* opaque) {
  Context* c = opaque;
  static unsigned long next = 1;
  const long empty = 0;
  const unsigned long slots = kWords / 2;
  for (long i = 0; i < iterations; ++i) {
    const long key = (long)(next++ * (unsigned long)bench_ranks + (unsigned long)bench_rank + 1);
    const unsigned long hash = scrambled((unsigned long)key);
    const int target = (int)(hash % (unsigned long)bench_ranks);
    unsigned long slot = (hash >> 20) % slots;
    for (int tries = 0; tries < 8; ++tries, slot = (slot + 1) % slots) {
      long found = 0;
      MPI_Compare_and_swap(&key, &empty, &found, MPI_LONG, target, (MPI_Aint)(2 * slot), c->win);
      MPI_Win_flush(target, c->win);
      if (found == 0 || tries == 7) break;  // a full neighbourhood is overwritten
    }
    MPI_Put(&key, 1, MPI_LONG, target, (MPI_Aint)(2 * slot + 1), 1, MPI_LONG, c->win);
    MPI_Win_flush(target, c->win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void steal(long iterations, void* opaque) {
  Context* c = opaque;
  const long one = 1, zero = 0;
  const long tasks = iterations * bench_ranks;
  volatile double sum = 0;
  if (bench_rank == 0) MPI_Accumulate(&zero, 1, MPI_LONG, 0, 2, 1, MPI_LONG, MPI_REPLACE, c->win);
  MPI_Win_flush_all(c->win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (long task = 0; task < tasks;) {
    MPI_Fetch_and_op(&one, &task, MPI_LONG, 0, 2, MPI_SUM, c->win);
    MPI_Win_flush(0, c->win);
    for (int i = 0; i < 200; ++i) sum = sum + i;
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void put_strips(Context* c) {
  const int right = (bench_rank + 1) % bench_ranks, left = (bench_rank + bench_ranks - 1) % bench_ranks;
  MPI_Put(c->own, c->bytes, MPI_BYTE, right, kHalo, c->bytes, MPI_BYTE, c->win);
  MPI_Put(c->own, c->bytes, MPI_BYTE, left, kWords / 2, c->bytes, MPI_BYTE, c->win);
}
static void halo_fence(long iterations, void* opaque) {
  Context* c = opaque;
  for (long i = 0; i < iterations; ++i) {
    put_strips(c);
    MPI_Win_fence(0, c->win);
  }
}
static void halo_start(long iterations, void* opaque) {
  Context* c = opaque;
  for (long i = 0; i < iterations; ++i) {
    MPI_Win_post(c->neighbours, 0, c->win);
    MPI_Win_start(c->neighbours, 0, c->win);
    put_strips(c);
    MPI_Win_complete(c->win);
    MPI_Win_wait(c->win);
  }
}

// Each rank has some whole rows; it fetches the columns that are to be its rows.
static void transpose(long iterations, void* opaque) {
  Context* c = opaque;
  const int mine = c->rows / bench_ranks;
  for (long i = 0; i < iterations; ++i) {
    for (int step = 0; step < bench_ranks; ++step) {
      const int from = (bench_rank + step) % bench_ranks;
      for (int row = 0; row < mine; ++row)
        MPI_Get(c->own + sizeof(double) * (size_t)(row * c->rows + from * mine), mine, MPI_DOUBLE, from,
                bench_rank * mine + row, 1, c->column, c->win);
    }
    MPI_Win_fence(0, c->win);
  }
}

static const char* busy_operation;
static void operate(long iterations, void* opaque) {
  Context* c = opaque;
  const int target = bench_ranks - 1;
  const double one = 1;
  double got;
  for (long i = 0; i < iterations; ++i) {
    if (*busy_operation == 'p') MPI_Put(&one, 1, MPI_DOUBLE, target, 4, 1, MPI_DOUBLE, c->win);
    if (*busy_operation == 'g') MPI_Get(&got, 1, MPI_DOUBLE, target, 4, 1, MPI_DOUBLE, c->win);
    if (*busy_operation == 'a')
      MPI_Accumulate(&one, 1, MPI_DOUBLE, target, 4, 1, MPI_DOUBLE, MPI_SUM, c->win);
    MPI_Win_flush(target, c->win);
  }
}

// The target computes for `seconds`; the origin does `kOperations` and looks how long that took.
static void busy(Context* c) {
  enum { kOperations = 100 };
  const double seconds = 0.05;
  const char* const operations[] = {"put", "get", "accumulate"};
  for (int which = 0; which < 3; ++which) {
    busy_operation = operations[which];
    char series[32] = "busy-";
    strncat(series, busy_operation, 20);
    for (int repeat = 0; repeat < bench_option("repeats", 3); ++repeat) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = bench_now();
      if (bench_rank == bench_ranks - 1)
        while (bench_now() - begin < seconds) continue;
      else if (bench_rank == 0)
        operate(kOperations, c);
      const double took = bench_now() - begin;
      MPI_Barrier(MPI_COMM_WORLD);
      bench_sample(series, 8, took / kOperations * 1e6, "us");
    }
  }
}

static Context open_window(const char* flavor) {
  Context c = {0};
  const MPI_Aint bytes = kWords * (MPI_Aint)sizeof(long);
  c.own = bench_memory(2 << 20);
  memset(c.own, 0, 2 << 20);
  if (strcmp(flavor, "create") == 0) {
    c.memory = malloc((size_t)bytes);
    MPI_Win_create(c.memory, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &c.win);
  } else {
    MPI_Aint size;
    int unit;
    MPI_Win_allocate_shared(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &c.memory, &c.win);
    MPI_Win_shared_query(c.win, 0, &size, &unit, &c.first);
  }
  memset(c.memory, 0, (size_t)bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  return c;
}

static void check_count(Context* c) {
  long before = 0;
  const long zero = 0;
  MPI_Win_lock_all(0, c->win);
  if (bench_rank == 0) memset(c->memory, 0, sizeof(long));
  MPI_Barrier(MPI_COMM_WORLD);
  count(100, c);
  MPI_Fetch_and_op(&zero, &before, MPI_LONG, 0, 0, MPI_SUM, c->win);
  MPI_Win_unlock_all(c->win);
  bench_expect(before == 100L * origins(), "counter");
}

static void check_transpose(Context* c) {
  const int mine = c->rows / bench_ranks;
  double* const rows = (double*)(void*)c->memory;
  for (int row = 0; row < mine; ++row)
    for (int column = 0; column < c->rows; ++column)
      rows[row * c->rows + column] = (bench_rank * mine + row) * 1000.0 + column;
  MPI_Win_fence(0, c->win);
  transpose(1, c);
  const double* const got = (double*)(void*)c->own;
  int is_right = 1;
  for (int row = 0; row < mine; ++row)
    for (int column = 0; column < c->rows; ++column)
      is_right &= got[row * c->rows + column] == column * 1000.0 + bench_rank * mine + row;
  bench_expect(is_right, "transpose");
}

static void measure_fenced(Context* c) {
  const int pair[2] = {(bench_rank + 1) % bench_ranks, (bench_rank + bench_ranks - 1) % bench_ranks};
  MPI_Group all;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, pair[0] == pair[1] ? 1 : 2, pair, &c->neighbours);
  for (c->bytes = 64; c->bytes <= 64 << 10 && bench_wants("cases", "halo"); c->bytes *= 32) {
    const bench_point fence = {"halo-fence", c->bytes, "us", 1e6, 0};
    const bench_point start = {"halo-start", c->bytes, "us", 1e6, 0};
    MPI_Win_fence(0, c->win);
    bench_measure(&fence, halo_fence, c);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, c->win);
    bench_measure(&start, halo_start, c);
  }
  for (c->rows = 64; c->rows <= kRowsMost / 2 && bench_wants("cases", "transpose"); c->rows *= 4) {
    if (c->rows % bench_ranks) continue;
    MPI_Type_vector(c->rows / bench_ranks, 1, c->rows, MPI_DOUBLE, &c->column);
    MPI_Type_commit(&c->column);
    check_transpose(c);
    const bench_point point = {"transpose", c->rows, "us", 1e6, 0};
    bench_measure(&point, transpose, c);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, c->win);
    MPI_Type_free(&c->column);
  }
  MPI_Group_free(&c->neighbours);
  MPI_Group_free(&all);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "window_programs");
  Context c = open_window(bench_text("flavor", "shared"));
  const double ns_of_all = 1e9 / origins();
  check_count(&c);
  MPI_Win_lock_all(0, c.win);
  const bench_point counter = {"counter", origins(), "ns", ns_of_all, 0};
  const bench_point bare = {"counter-bare", origins(), "ns", ns_of_all, 0};
  const bench_point work = {"counter-work", origins(), "ns", ns_of_all, 0};
  const bench_point bare_work = {"counter-work-bare", origins(), "ns", ns_of_all, 0};
  const bench_point hash = {"hash", bench_ranks, "ns", 1e9, 0};
  const bench_point task = {"steal", bench_ranks, "ns", 1e9, 0};
  if (bench_wants("cases", "counter")) bench_measure(&counter, count, &c);
  if (bench_wants("cases", "counter") && c.first) bench_measure(&bare, count_bare, &c);
  if (bench_wants("cases", "counter")) bench_measure(&work, count_and_compute, &c);
  if (bench_wants("cases", "counter") && c.first) bench_measure(&bare_work, count_bare_and_compute, &c);
  if (bench_wants("cases", "hash")) bench_measure(&hash, insert, &c);
  if (bench_wants("cases", "steal")) bench_measure(&task, steal, &c);
  if (bench_wants("cases", "busy") && bench_ranks > 1) busy(&c);
  MPI_Win_unlock_all(c.win);
  const bench_point locks = {"lock", origins(), "ns", ns_of_all, 0};
  if (bench_wants("cases", "lock")) bench_measure(&locks, lock, &c);
  measure_fenced(&c);
  MPI_Win_free(&c.win);
  bench_finish();
  return 0;
}
