// One-sided operations of rank 0 on the window of rank 1, which waits in a barrier meanwhile: time of one
// operation and what completes it.
//
// --flavor=allocate    memory of MPI_Win_allocate; create: a block of malloc; static: an array, up to 4 MiB;
//                      dynamic: a block of malloc, attached; shared
// --ops=put,get,...    put, get, accumulate (MPI_DOUBLE), counter (fetch-and-op, MPI_LONG), cas, each with
//                      its flush under lock_all; puts, gets: 64 and a flush, the time of each; column, face:
//                      a put of blocks of one or of 16 doubles with gaps; lock: lock, put, unlock; start:
//                      start, put, complete, while rank 1 posts and waits; fence: nothing between; barrier
//                      Without MPI, where loads reach the memory (shared): memcpy; loop, which adds to it;
//                      flags: each rank stores a word and waits for the other's, as every fence has to
// --sizes=8,65536      bytes of put, get and accumulate
// --calls=10000        measures no time: so many calls of each, for callgrind to count (bench/instructions)
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

typedef struct {
  MPI_Win win;
  char *memory, *own;
  char* there;     // rank 1's memory, where plain loads reach it
  MPI_Aint start;  // displacement of rank 1's memory
  int bytes;
  MPI_Group other;  // the other of two ranks
} Context;

enum { kTogether = 64 };

static void flush(const Context* c) { MPI_Win_flush(1, c->win); }

static void put(const Context* c) {
  MPI_Put(c->own, c->bytes, MPI_BYTE, 1, c->start, c->bytes, MPI_BYTE, c->win);
  flush(c);
}
static void puts_together(const Context* c) {
  for (int i = 0; i < kTogether; ++i)
    MPI_Put(c->own, c->bytes, MPI_BYTE, 1, c->start, c->bytes, MPI_BYTE, c->win);
  flush(c);
}
static void gets_together(const Context* c) {
  for (int i = 0; i < kTogether; ++i)
    MPI_Get(c->own, c->bytes, MPI_BYTE, 1, c->start, c->bytes, MPI_BYTE, c->win);
  flush(c);
}
static void get(const Context* c) {
  MPI_Get(c->own, c->bytes, MPI_BYTE, 1, c->start, c->bytes, MPI_BYTE, c->win);
  flush(c);
}
static void accumulate(const Context* c) {
  const int count = c->bytes / 8;
  MPI_Accumulate(c->own, count, MPI_DOUBLE, 1, c->start, count, MPI_DOUBLE, MPI_SUM, c->win);
  flush(c);
}
static void counter(const Context* c) {
  const long one = 1;
  MPI_Fetch_and_op(&one, c->own, MPI_LONG, 1, c->start, MPI_SUM, c->win);
  flush(c);
}
static void cas(const Context* c) {
  const long zero = 0;
  MPI_Compare_and_swap(&zero, &zero, c->own, MPI_LONG, 1, c->start, c->win);
  flush(c);
}
static void lock(const Context* c) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, c->win);
  MPI_Put(c->own, c->bytes, MPI_BYTE, 1, c->start, c->bytes, MPI_BYTE, c->win);
  MPI_Win_unlock(1, c->win);
}
static void start(const Context* c) {
  if (bench_rank == 0) {
    MPI_Win_start(c->other, 0, c->win);
    MPI_Put(c->own, c->bytes, MPI_BYTE, 1, c->start, c->bytes, MPI_BYTE, c->win);
    MPI_Win_complete(c->win);
  } else {
    MPI_Win_post(c->other, 0, c->win);
    MPI_Win_wait(c->win);
  }
}
static void fence(const Context* c) { MPI_Win_fence(0, c->win); }
static void barrier(const Context* c) {
  (void)c;
  MPI_Barrier(MPI_COMM_WORLD);
}

static void copy(const Context* c) { memcpy(c->there, c->own, (size_t)c->bytes); }
static void loop(const Context* c) {
  const double* from = (const double*)(const void*)c->own;
  double* to = (double*)(void*)c->there;
  for (int i = 0; i < c->bytes / 8; ++i) to[i] += from[i];
}
/// Two lines for each rank, by turns.
static void flags(const Context* c) {
  static long turn;
  ++turn;
  _Atomic long* const lines = (_Atomic long*)(void*)(c->there + 512 * (turn & 1));
  atomic_store_explicit(&lines[32 * bench_rank], turn, memory_order_release);  // pairs with the other's load
  do {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  } while (atomic_load_explicit(&lines[32 * (1 - bench_rank)], memory_order_acquire) != turn);
}
static void put_blocks(const Context* c, int doubles) {
  MPI_Datatype type;
  MPI_Type_vector(c->bytes / 8 / doubles / 2, doubles, 2 * doubles, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Put(c->own, 1, type, 1, c->start, 1, type, c->win);
  flush(c);
  MPI_Type_free(&type);
}
static void column(const Context* c) { put_blocks(c, 1); }
static void face(const Context* c) { put_blocks(c, 16); }

typedef struct {
  const char* name;
  void (*call)(const Context*);
  int has_size;     // measured at every size, else at 8 bytes
  int is_of_both;   // ranks call it together
  int is_in_epoch;  // of lock_all
  int is_bare;      // needs no MPI, but plain loads
} Operation;

static const Operation operations[] = {
    {"put", put, 1, 0, 1, 0},
    {"get", get, 1, 0, 1, 0},
    {"accumulate", accumulate, 1, 0, 1, 0},
    {"puts", puts_together, 1, 0, 1, 0},
    {"gets", gets_together, 1, 0, 1, 0},
    {"counter", counter, 0, 0, 1, 0},
    {"cas", cas, 0, 0, 1, 0},
    {"lock", lock, 0, 0, 0, 0},
    {"start", start, 1, 1, 0, 0},
    {"fence", fence, 0, 1, 0, 0},
    {"barrier", barrier, 0, 1, 0, 0},
    {"memcpy", copy, 1, 0, 0, 1},
    {"loop", loop, 1, 0, 0, 1},
    {"flags", flags, 0, 1, 0, 1},
    {"column", column, 1, 0, 1, 0},
    {"face", face, 1, 0, 1, 0},
};
enum { kOperations = sizeof operations / sizeof operations[0] };

typedef struct {
  Context* context;
  const Operation* operation;
} Work;

static void repeat(long iterations, void* opaque) {
  const Work* work = opaque;
  if (bench_rank == 0 || work->operation->is_of_both)
    for (long i = 0; i < iterations; ++i) work->operation->call(work->context);
  MPI_Barrier(MPI_COMM_WORLD);
}

static Context open_window(const char* flavor, size_t bytes) {
  static char array[4 << 20];
  Context c = {0};
  MPI_Aint mine = 0;
  c.own = bench_memory(bytes);
  memset(c.own, 0, bytes);
  if (strcmp(flavor, "allocate") == 0) {
    MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &c.memory, &c.win);
  } else if (strcmp(flavor, "shared") == 0) {
    MPI_Win_allocate_shared((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &c.memory, &c.win);
    MPI_Aint size;
    int unit;
    MPI_Win_shared_query(c.win, bench_ranks > 1, &size, &unit, &c.there);
  } else {
    c.memory = strcmp(flavor, "static") == 0 && bytes <= sizeof array ? array : malloc(bytes);
    if (strcmp(flavor, "dynamic") != 0) {
      MPI_Win_create(c.memory, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &c.win);
    } else {
      MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &c.win);
      MPI_Win_attach(c.win, c.memory, (MPI_Aint)bytes);
      MPI_Get_address(c.memory, &mine);
    }
  }
  memset(c.memory, 0, bytes);
  c.start = mine;
  const int other = 1 - bench_rank;
  MPI_Group all;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, bench_ranks == 2, &other, &c.other);
  MPI_Group_free(&all);
  MPI_Bcast(&c.start, 1, MPI_AINT, 1, MPI_COMM_WORLD);
  return c;
}

static void check(Context* c) {
  memset(c->memory, 0, (size_t)c->bytes);
  if (bench_rank == 0) bench_fill(c->own, (size_t)c->bytes, (unsigned)c->bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  if (bench_rank == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, c->win);
    put(c);
    memset(c->own, 0, (size_t)c->bytes);
    get(c);
    MPI_Win_unlock(1, c->win);
    bench_verify(c->own, (size_t)c->bytes, (unsigned)c->bytes);
    memset(c->own, 0, (size_t)c->bytes);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (bench_rank == 1) bench_verify(c->memory, (size_t)c->bytes, (unsigned)c->bytes);
  memset(c->memory, 0, (size_t)c->bytes);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  bench_start(&argc, &argv, "window");
  long sizes[kBenchSizesMax];
  const int count = bench_sizes(sizes, 8, 1 << 20, 2);
  const long most = bench_size_max(sizes, count), calls = bench_option("calls", 0);
  // Small blocks of malloc are another matter than large ones: the window is as large as one that a program
  // has.
  Context c = open_window(bench_text("flavor", "allocate"), (size_t)(most < 1 << 20 ? 1 << 20 : most));
  for (int i = 0; i < kOperations && bench_ranks == 2; ++i) {
    const Operation* operation = &operations[i];
    if (!bench_wants("ops", operation->name) || (operation->is_bare && !c.there)) continue;
    for (int s = 0; s < (operation->has_size ? count : 1); ++s) {
      c.bytes = operation->has_size ? (int)sizes[s] : 8;
      if ((operation->call == column || operation->call == face) && c.bytes < 1024) continue;
      if (i == 0) check(&c);
      Work work = {&c, operation};
      const int is_one = operation->call != puts_together && operation->call != gets_together;
      const bench_point point = {operation->name, c.bytes, "us", 1e6 / (is_one ? 1 : kTogether), 0};
      if (operation->is_in_epoch) MPI_Win_lock_all(0, c.win);
      if (operation->call == fence) MPI_Win_fence(0, c.win);
      if (calls > 0)
        repeat(calls, &work);
      else
        bench_measure(&point, repeat, &work);
      if (operation->call == fence) MPI_Win_fence(MPI_MODE_NOSUCCEED, c.win);
      if (operation->is_in_epoch) MPI_Win_unlock_all(c.win);
    }
  }
  MPI_Group_free(&c.other);
  MPI_Win_free(&c.win);
  bench_finish();
  return 0;
}
