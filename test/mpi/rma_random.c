/* Random programs of one-sided communication against a model of all memory, byte by byte: every rank plans
 * what all do (one seed), does its own part, and compares its memory and all results.
 *
 * An epoch gives each block of each rank's memory a type and a user: one origin, which may do anything there
 * that the standard orders; everybody, with one operator whose order does not matter; or readers only.
 * Windows of all flavours live at the same time, each with its own synchronisation; communicators,
 * displacement units, layouts, requests, forks and targets that compute vary.  DUNLIN_RMA_WAY forces each
 * way.
 *
 * ranks: 1 2 3 5 8
 * usage: rma_random [seed [rounds [threads]]] */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "rma_layouts.h"

enum {
  kRanksMax = 16,
  kWindowsMax = 3,
  kBlocks = 8,
  kBlockBytesMax = 80 << 10,
  kOperationsMax = 4096, /* of one rank in an epoch */
  kGuardBytes = 16,      /* around what comes back */
  kThreadsMax = 3,
};

static int threads = 1;
static MPI_Comm comm; /* of this round */
static int size, me;
static int is_one_node;
static int block_bytes;

enum use { kOwned, kEverybodys, kRead };
enum mode { kUntouched, kPutting, kGetting, kCombining };
struct block {
  const struct basic* b;
  int shift; /* of the first element */
  enum use use;
  int owner;
  MPI_Op op; /* of everybody */
  enum mode mode;
  char* is_put; /* by element, since the last synchronisation */
};

enum synchronisation { kFence, kPost, kLockAll, kLock, kSynchronisations };
enum flavor { kCreate, kStatic, kDynamic, kAllocate, kShared, kFlavors };
struct window {
  MPI_Win win;
  enum flavor flavor;
  char* memory;
  MPI_Aint start[kRanksMax];
  int unit[kRanksMax];
  char* model[kRanksMax];
  struct block blocks[kRanksMax][kBlocks];
  /* Of this epoch: */
  enum synchronisation how;
  int is_unchecked;
  char may_access[kRanksMax][kRanksMax];
  int has_stored; /* this rank in its own memory */
  int is_changed; /* this rank's memory in this phase */
  MPI_Group origins, targets;
};
static struct window windows[kWindowsMax];
static int window_count;

enum call { kPut, kGet, kAccumulate, kGetAccumulate, kFetchAndOp, kCompareAndSwap };
enum completion { kNone, kWaitNow, kTestNow, kWaitLater, kFree };
struct operation {
  enum call call;
  int window, target, block;
  MPI_Aint displacement;
  const struct basic* b;
  MPI_Op op;
  struct layout here, there, back;
  char *given, *compared;
  char *wanted, *expected; /* with guards */
  size_t wanted_bytes;
  int is_known; /* what comes back */
  enum completion completion;
  MPI_Request request;
  int nap_us;
  int forks;
};
static struct operation own[kOperationsMax];
static int own_count;

static char* place(const struct window* w, int target, int block) {
  return w->model[target] + block * (size_t)block_bytes;
}

/* ---- The plan of an epoch. ---- */

static void fill(struct window* w, int target, int block) {
  struct block* const b = &w->blocks[target][block];
  char* const at = place(w, target, block);
  for (int i = 0; b->shift + (i + 1) * b->b->extent <= block_bytes; ++i)
    draw_element(b->b, 0, at + b->shift + i * b->b->extent);
  if (target != me) return;
  w->has_stored = 1;
  memcpy(w->memory + block * (size_t)block_bytes, at, (size_t)block_bytes);
}

static void plan_blocks(struct window* w) {
  for (int target = 0; target < size; ++target)
    for (int i = 0; i < kBlocks; ++i) {
      struct block* const b = &w->blocks[target][i];
      if (!b->b || draw(3)) {
        b->b = &basics[draw(kBasics)];
        b->shift = draw(4) ? 0 : (int)draw(16);
        fill(w, target, i);
      }
      const unsigned use = draw(8);
      b->use = use < 5 ? kOwned : use < 7 ? kEverybodys : kRead;
      if (b->use == kEverybodys && b->b->kind == kOpaque) b->use = kRead;
      b->owner = (int)draw((unsigned)size);
      b->op = draw_op(b->b, 1);
    }
}

static void forget_puts(struct window* w) {
  for (int target = 0; target < size; ++target)
    for (int i = 0; i < kBlocks; ++i) {
      w->blocks[target][i].mode = kUntouched;
      memset(w->blocks[target][i].is_put, 0, (size_t)block_bytes);
    }
}

/* A buffer of this program for the elements of a layout. */
static char* element(char* buffer, const struct layout* l, const struct basic* b, int i) {
  return buffer + kGuardBytes + (l->at[i] - l->first) * (MPI_Aint)b->extent;
}
static size_t buffer_bytes(const struct layout* l, const struct basic* b) {
  return 2 * kGuardBytes + (size_t)(l->last - l->first + 1) * (size_t)b->extent;
}
static char* start_of(char* buffer, const struct layout* l, const struct basic* b) {
  return buffer ? buffer + kGuardBytes - l->first * (MPI_Aint)b->extent : NULL;
}

/* What the operation does to the model at `target`, whose elements begin at `to`. */
static void apply(struct operation* o, char* to) {
  const int n = o->there.elements, extent = o->b->extent;
  char* const operands = calloc((size_t)n, (size_t)extent);
  char* const there = calloc((size_t)n, (size_t)extent);
  for (int i = 0; i < n; ++i) {
    copy_element(o->b, there + i * extent, to + o->there.at[i] * (MPI_Aint)extent);
    if (o->wanted) copy_element(o->b, element(o->expected, &o->back, o->b, i), there + i * extent);
    if (o->given) copy_element(o->b, operands + i * extent, element(o->given, &o->here, o->b, i));
  }
  if (o->call == kCompareAndSwap) {
    if (memcmp(o->compared, there, (size_t)extent) == 0) memcpy(there, operands, (size_t)extent);
  } else if (o->call == kPut || o->op == MPI_REPLACE) {
    memcpy(there, operands, (size_t)n * (size_t)extent);
  } else if (o->op != MPI_NO_OP) {
    MPI_Reduce_local(operands, there, n, o->b->type, o->op);
  }
  for (int i = 0; i < n; ++i) copy_element(o->b, to + o->there.at[i] * (MPI_Aint)extent, there + i * extent);
  free(operands);
  free(there);
}

static enum call draw_call(const struct block* b) {
  const enum mode mode = b->mode == kUntouched ? (enum mode)(1 + draw(3)) : b->mode;
  if (b->use == kRead) return draw(3) ? kGet : draw(2) ? kGetAccumulate : kFetchAndOp;
  if (b->use == kOwned && mode == kPutting) return kPut;
  if (b->use == kOwned && mode == kGetting) return kGet;
  const int can_swap =
      b->use == kOwned && (b->b->kind == kInteger || b->b->kind == kLogical || b->b->kind == kBits);
  return (enum call)(kAccumulate + draw(can_swap ? 4 : 3));
}

/* Whether these elements may be put: puts that overlap are in no order. */
static int try_mark(struct block* b, const struct layout* there, int start) {
  for (int i = 0; i < there->elements; ++i)
    if (b->is_put[start + there->at[i]]) return 0;
  for (int i = 0; i < there->elements; ++i) b->is_put[start + there->at[i]] = 1;
  return 1;
}

static void free_operation(struct operation* o) {
  free_layout(&o->here);
  free_layout(&o->there);
  free_layout(&o->back);
  free(o->given);
  free(o->compared);
  free(o->wanted);
  free(o->expected);
}

static void draw_buffers(struct operation* o, int is_plain, int n) {
  const int room = n + (int)draw(2) * (int)draw(60), is_factor = o->op == MPI_PROD;
  make_layout(&o->here, o->b, n, room, is_plain);
  make_layout(&o->back, o->b, n, room, is_plain);
  if (o->op != MPI_NO_OP) {
    o->given = calloc(1, buffer_bytes(&o->here, o->b));
    for (int i = 0; i < n; ++i) draw_element(o->b, is_factor, element(o->given, &o->here, o->b, i));
  }
  if (o->call == kPut || o->call == kAccumulate) return;
  o->wanted_bytes = buffer_bytes(&o->back, o->b);
  o->wanted = malloc(o->wanted_bytes);
  o->expected = malloc(o->wanted_bytes);
  memset(o->wanted, 0x5a, o->wanted_bytes);
  memset(o->expected, 0x5a, o->wanted_bytes);
}

/* The next operation of `origin`, in the model; whether there is one. */
static int try_plan(struct operation* o, int origin) {
  *o = (struct operation){.window = (int)draw((unsigned)window_count), .request = MPI_REQUEST_NULL};
  struct window* const w = &windows[o->window];
  o->target = (int)draw((unsigned)size);
  o->block = (int)draw(kBlocks);
  struct block* const b = &w->blocks[o->target][o->block];
  o->b = b->b;
  o->nap_us = draw(60) ? 0 : 1 + (int)draw(300);
  o->forks = draw(400) == 0;
  const int room = (block_bytes - b->shift) / b->b->extent;
  if ((w->how == kPost && !w->may_access[origin][o->target]) || (b->use == kOwned && b->owner != origin))
    return 0;
  o->call = draw_call(b);
  const int is_one = o->call >= kFetchAndOp || draw(3) == 0;
  const int n = is_one ? 1 : 1 + (int)draw((unsigned)(draw(4) ? (room < 12 ? room : 12) : room));
  make_layout(&o->there, b->b, n, room, is_one);
  /* Where displacements reach. */
  const int spare = room - (o->there.last - o->there.first + 1);
  int start = (int)draw((unsigned)spare + 1) - o->there.first;
  const size_t block_at = (size_t)o->block * (size_t)block_bytes + (size_t)b->shift;
  MPI_Aint at = (MPI_Aint)block_at + start * (MPI_Aint)b->b->extent;
  for (int i = 0; i < 8 && at % w->unit[o->target]; ++i) {
    start = (int)draw((unsigned)spare + 1) - o->there.first;
    at = (MPI_Aint)block_at + start * (MPI_Aint)b->b->extent;
  }
  const int is_possible = at % w->unit[o->target] == 0 && (o->call != kPut || try_mark(b, &o->there, start));
  if (!is_possible) return free_operation(o), 0;
  b->mode = o->call == kPut ? kPutting : o->call == kGet ? kGetting : kCombining;
  o->displacement = w->start[o->target] + at / w->unit[o->target];
  o->op = b->use == kEverybodys ? b->op : draw_op(b->b, 0);
  const int fetches = o->call == kGetAccumulate || o->call == kFetchAndOp;
  if (o->call == kGet || b->use == kRead || (fetches && draw(8) == 0)) o->op = MPI_NO_OP;
  o->is_known = b->use != kEverybodys;
  draw_buffers(o, is_one, n);
  if (o->call == kCompareAndSwap) { /* every other one succeeds */
    o->compared = calloc(1, 16);
    copy_element(b->b, o->compared, w->model[o->target] + at);
    if (draw(2)) draw_element(b->b, 0, o->compared);
  }
  const int is_passive = w->how >= kLockAll,
            has_request = is_passive && o->call <= kGetAccumulate && draw(3) == 0;
  o->completion = has_request ? (enum completion)(1 + draw(4)) : kNone;
  if (o->completion == kFree && (o->call == kGet || o->call == kGetAccumulate)) o->completion = kWaitLater;
  if (o->target == me && o->call != kGet) w->is_changed = 1;
  apply(o, w->model[o->target] + at);
  return 1;
}

/* ---- What this rank does of it. ---- */

static void describe(const struct operation* o, char* text, size_t bytes) {
  const char* const calls[] = {
      "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};
  snprintf(
      text, bytes,
      "%s of %d elements of %d bytes (basic type %d), window %d (flavor %d, epoch %d), target %d, block %d",
      calls[o->call], o->there.elements, o->b->extent, (int)(o->b - basics), o->window,
      (int)windows[o->window].flavor, (int)windows[o->window].how, o->target, o->block);
}

static void check_result(struct operation* o) {
  if (!o->wanted) return;
  for (int i = 0; i < o->back.elements && !o->is_known; ++i)
    copy_element(o->b, element(o->expected, &o->back, o->b, i), element(o->wanted, &o->back, o->b, i));
  size_t at = 0;
  while (at < o->wanted_bytes && o->wanted[at] == o->expected[at]) ++at;
  if (at == o->wanted_bytes) return;
  char text[256];
  describe(o, text, sizeof text);
  CHECK(at == o->wanted_bytes, "byte %ld of what came back is %d, not %d: %s", (long)at - kGuardBytes,
        o->wanted[at], o->expected[at], text);
}

static void fork_once(void) {
#ifdef __SANITIZE_THREAD__
  return;  // it takes what a child writes for its parent's writes, and the parent's threads for the child's
#endif
  int status;
  const pid_t child = fork();
  if (child == 0) _exit(7);
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "the child");
}

static void perform(struct operation* o) {
  const MPI_Win win = windows[o->window].win;
  const char* const given = start_of(o->given, &o->here, o->b);
  char* const wanted = start_of(o->wanted, &o->back, o->b);
  const int count = o->here.count, back = o->back.count, far_count = o->there.count, target = o->target;
  const MPI_Datatype here = o->here.type, back_type = o->back.type, far_type = o->there.type;
  const MPI_Aint at = o->displacement;
  MPI_Request* const request = o->completion == kNone ? NULL : &o->request;
  if (o->nap_us) usleep((useconds_t)o->nap_us);
  if (o->forks) fork_once();
  switch (o->call) {
    case kPut:
      if (request)
        MPI_Rput(given, count, here, target, at, far_count, far_type, win, request);
      else
        MPI_Put(given, count, here, target, at, far_count, far_type, win);
      break;
    case kGet:
      if (request)
        MPI_Rget(wanted, back, back_type, target, at, far_count, far_type, win, request);
      else
        MPI_Get(wanted, back, back_type, target, at, far_count, far_type, win);
      break;
    case kAccumulate:
      if (request)
        MPI_Raccumulate(given, count, here, target, at, far_count, far_type, o->op, win, request);
      else
        MPI_Accumulate(given, count, here, target, at, far_count, far_type, o->op, win);
      break;
    case kGetAccumulate:
      if (request)
        MPI_Rget_accumulate(given, count, here, wanted, back, back_type, target, at, far_count, far_type,
                            o->op, win, request);
      else
        MPI_Get_accumulate(given, count, here, wanted, back, back_type, target, at, far_count, far_type,
                           o->op, win);
      break;
    case kFetchAndOp:
      MPI_Fetch_and_op(given, wanted, o->b->type, target, at, o->op, win);
      break;
    default:
      MPI_Compare_and_swap(given, o->compared, wanted, o->b->type, target, at, win);
  }
  if (o->completion == kFree) MPI_Request_free(request);
  if (o->completion == kWaitNow) MPI_Wait(request, MPI_STATUS_IGNORE);
  for (int is_done = 0; o->completion == kTestNow && !is_done;)
    MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
  if (o->completion == kWaitNow || o->completion == kTestNow) check_result(o);
}

static MPI_Group group_of(const struct window* w, int is_of_targets) {
  int ranks[kRanksMax], count = 0;
  MPI_Group all, made;
  for (int other = 0; other < size; ++other)
    if (is_of_targets ? w->may_access[me][other] : w->may_access[other][me]) ranks[count++] = other;
  MPI_Comm_group(comm, &all);
  MPI_Group_incl(all, count, ranks, &made);
  MPI_Group_free(&all);
  return made;
}

static void open_phase(struct window* w, int phase) {
  const int no_store = w->has_stored || phase ? 0 : MPI_MODE_NOSTORE;
  const int no_put = w->is_changed ? 0 : MPI_MODE_NOPUT;
  if (w->how == kFence && phase == 0) MPI_Win_fence(MPI_MODE_NOPRECEDE | no_store | no_put, w->win);
  if (w->how == kPost) {
    w->origins = group_of(w, 0);
    w->targets = group_of(w, 1);
    const int no_check = w->is_unchecked ? MPI_MODE_NOCHECK : 0;
    MPI_Win_post(w->origins, no_check | no_store | no_put, w->win);
    if (no_check) MPI_Barrier(comm);
    MPI_Win_start(w->targets, no_check, w->win);
  }
  if (w->how >= kLockAll && phase == 0) {
    MPI_Win_sync(w->win);
    MPI_Barrier(comm);
  }
  if (w->how == kLockAll && phase == 0) MPI_Win_lock_all(w->is_unchecked ? MPI_MODE_NOCHECK : 0, w->win);
}

static void close_phase(struct window* w, int is_last) {
  int is_over = 0;
  switch (w->how) {
    case kFence:
      MPI_Win_fence(is_last ? MPI_MODE_NOSUCCEED : 0, w->win);
      break;
    case kPost:
      MPI_Win_complete(w->win);
      if (draw_here(2)) MPI_Win_wait(w->win), is_over = 1;
      while (!is_over) MPI_Win_test(w->win, &is_over);
      MPI_Group_free(&w->origins);
      MPI_Group_free(&w->targets);
      break;
    case kLockAll:
      if (is_last)
        MPI_Win_unlock_all(w->win);
      else if (draw_here(2))
        MPI_Win_flush_all(w->win);
      else
        for (int target = 0; target < size; ++target) MPI_Win_flush(target, w->win);
      break;
    default:
      break;
  }
}

static void wait_for_requests(int begin, int end) {
  for (int i = begin; i < end; ++i)
    if (own[i].completion == kWaitLater) MPI_Wait(&own[i].request, MPI_STATUS_IGNORE);
}

/* All operations of a window with MPI_Win_lock, target by target; at times with two of them locked. */
static void perform_locked(struct window* w, int begin, int end) {
  const int index = (int)(w - windows);
  for (int target = 0, locked; target < size; target += locked) {
    locked = target + 1 < size && draw_here(3) == 0 ? 2 : 1;
    for (int i = target; i < target + locked; ++i)
      MPI_Win_lock(draw_here(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, i, 0, w->win);
    for (int i = begin; i < end; ++i) {
      if (own[i].window != index || own[i].target < target || own[i].target >= target + locked) continue;
      perform(&own[i]);
      if (draw_here(8) == 0) MPI_Win_flush(own[i].target, w->win);
      if (draw_here(8) == 0) MPI_Win_flush_local_all(w->win);
    }
    for (int i = begin; i < end; ++i)
      if (own[i].window == index && own[i].target >= target && own[i].target < target + locked)
        wait_for_requests(i, i + 1);
    for (int i = target; i < target + locked; ++i) MPI_Win_unlock(i, w->win);
  }
}

struct share {
  int begin, end, thread;
};

/* Operations on one block are one thread's: they stay in order. */
static void* perform_share(void* argument) {
  const struct share* const s = argument;
  for (int i = s->begin; i < s->end; ++i) {
    if (windows[own[i].window].how == kLock) continue;
    if ((own[i].block + own[i].target + own[i].window) % threads == s->thread) perform(&own[i]);
  }
  return NULL;
}

static void perform_all(int begin, int end) {
  pthread_t others[kThreadsMax];
  struct share shares[kThreadsMax];
  for (int i = 0; i < threads; ++i) shares[i] = (struct share){begin, end, i};
  for (int i = 1; i < threads; ++i) pthread_create(&others[i], NULL, perform_share, &shares[i]);
  perform_share(&shares[0]);
  for (int i = 1; i < threads; ++i) pthread_join(others[i], NULL);
  for (int i = begin; i < end; ++i)
    if (windows[own[i].window].how != kLock) wait_for_requests(i, i + 1);
  for (int i = 0; i < window_count; ++i)
    if (windows[i].how == kLock) perform_locked(&windows[i], begin, end);
}

static void check_memory(const struct window* w, int number) {
  for (size_t i = 0; i < kBlocks * (size_t)block_bytes; ++i) {
    const struct block* const b = &w->blocks[me][i / (size_t)block_bytes];
    CHECK(w->memory[i] == w->model[me][i],
          "epoch %d (kind %d), window %d (flavor %d), block %d (basic type %d, use %d, owner %d), byte %d: "
          "%d, not %d",
          number, (int)w->how, (int)(w - windows), (int)w->flavor, (int)(i / (size_t)block_bytes),
          (int)(b->b - basics), (int)b->use, b->owner, (int)(i % (size_t)block_bytes), w->memory[i],
          w->model[me][i]);
  }
}

static void plan_epoch(struct window* w) {
  w->how = (enum synchronisation)draw(kSynchronisations);
  w->is_unchecked = draw(3) == 0;
  w->has_stored = 0;
  for (int origin = 0; origin < size; ++origin)
    for (int target = 0; target < size; ++target) w->may_access[origin][target] = draw(3) > 0;
  plan_blocks(w);
}

static void one_epoch(int number, int operations) {
  const int phases = 1 + (int)draw(3);
  for (int i = 0; i < window_count; ++i) plan_epoch(&windows[i]);
  for (int phase = 0; phase < phases; ++phase) {
    own_count = 0;
    for (int i = 0; i < window_count; ++i) forget_puts(&windows[i]), windows[i].is_changed = 0;
    for (int origin = 0; origin < size; ++origin)
      for (int i = 0; i < operations; ++i) {
        struct operation one;
        if (!try_plan(&one, origin)) continue;
        if (origin == me)
          own[own_count++] = one;
        else
          free_operation(&one);
      }
    for (int i = 0; i < window_count; ++i) open_phase(&windows[i], phase);
    perform_all(0, own_count);
    for (int i = 0; i < window_count; ++i) close_phase(&windows[i], phase == phases - 1);
    for (int i = 0; i < own_count; ++i) {
      check_result(&own[i]);
      free_operation(&own[i]);
    }
  }
  MPI_Barrier(comm);
  for (int i = 0; i < window_count; ++i) {
    MPI_Win_sync(windows[i].win);
    check_memory(&windows[i], number);
  }
}

/* ---- Windows and communicators. ---- */

static char static_memory[kWindowsMax][kBlocks * kBlockBytesMax];

static void make_window(struct window* w) {
  const int index = (int)(w - windows), is_large = (int)draw(2);
  const MPI_Aint bytes = kBlocks * (MPI_Aint)block_bytes, half = bytes / 2;
  MPI_Aint mine = 0;
  memset(w, 0, sizeof *w);
  w->flavor = (enum flavor)draw(kFlavors);
  if (w->flavor == kShared && !is_one_node) w->flavor = kAllocate;
  for (int rank = 0; rank < size; ++rank) {
    const int units[] = {1, 1, 2, 4, 8, 12};
    w->unit[rank] = w->flavor == kDynamic ? 1 : units[draw(6)];
    w->model[rank] = calloc(1, (size_t)bytes);
    for (int i = 0; i < kBlocks; ++i) w->blocks[rank][i].is_put = calloc(1, (size_t)block_bytes);
  }
  const int unit = w->unit[me];
  if (w->flavor == kCreate || w->flavor == kDynamic)
    w->memory = malloc(is_large && bytes < 1 << 20 ? 1 << 20 : (size_t)bytes);
  switch (w->flavor) {
    case kStatic:
      w->memory = static_memory[index];
      /* fall through */
    case kCreate:
      MPI_Win_create(w->memory, bytes, unit, MPI_INFO_NULL, comm, &w->win);
      break;
    case kAllocate:
      MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, comm, &w->memory, &w->win);
      break;
    case kShared:
      MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, comm, &w->memory, &w->win);
      break;
    default: /* in two parts that touch each other */
      MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &w->win);
      MPI_Win_attach(w->win, w->memory + half, half);
      MPI_Win_attach(w->win, w->memory, half);
      MPI_Get_address(w->memory, &mine);
  }
  memset(w->memory, 0, (size_t)bytes);
  MPI_Allgather(&mine, 1, MPI_AINT, w->start, 1, MPI_AINT, comm);
}

static void free_window(struct window* w) {
  if (w->flavor == kDynamic) {
    MPI_Win_detach(w->win, w->memory);
    MPI_Win_detach(w->win, w->memory + kBlocks * (MPI_Aint)block_bytes / 2);
  }
  MPI_Win_free(&w->win);
  if (w->flavor == kCreate || w->flavor == kDynamic) free(w->memory);
  for (int rank = 0; rank < size; ++rank) {
    free(w->model[rank]);
    for (int i = 0; i < kBlocks; ++i) free(w->blocks[rank][i].is_put);
  }
}

/* All ranks, in this order or backwards, or some of them; false: this one is not among them. */
static int make_comm(void) {
  const unsigned way = draw(4), some = draw(1u << check_size);
  const int is_in = way < 3 || some >> check_rank & 1 || some == 0;
  MPI_Comm_split(MPI_COMM_WORLD, is_in ? 0 : MPI_UNDEFINED, way == 1 ? -check_rank : 0, &comm);
  if (!is_in) return 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &me);
  return 1;
}

static void one_round(int round) {
  const int sizes[] = {192, 192, 192, 1000, 1000, 4096, 4096, kBlockBytesMax};
  if (!make_comm()) return;
  block_bytes = sizes[draw(8)];
  window_count = 1 + (int)draw(kWindowsMax);
  const int is_large = block_bytes == kBlockBytesMax;
  if (is_large) window_count = 1;
  const int operations = is_large ? 8 : 8 + (int)draw(40);
  for (int i = 0; i < window_count; ++i) make_window(&windows[i]);
  for (int epoch = 0; epoch < (is_large ? 2 : 4); ++epoch) one_epoch(4 * round + epoch, operations);
  for (int i = 0; i < window_count; ++i) free_window(&windows[i]);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  threads = argc > 3 ? atoi(argv[3]) : 1;
  check_start_threads(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
  if (seed == 0) seed = (unsigned long)time(NULL);
  const int rounds = argc > 2 ? atoi(argv[2]) : 6;
  CHECK(check_size <= kRanksMax && threads <= kThreadsMax, "too many ranks or threads");
  make_basics();
  is_one_node = check_is_one_node();
  MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  if (check_rank == 0) printf("seed %lu\n", seed);
  for (int round = 0; round < rounds; ++round) {
    state = (seed + (unsigned long)round) * 2862933555777941757u + 3037000493u;
    one_round(round);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return check_end();
}
