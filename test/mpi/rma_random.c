/* Random operations against a model: every rank knows what all do (one seed), and what its memory has to be
 * after each epoch.  Types, layouts, displacement units, flavours and epochs vary, and now and then a rank
 * forks in the midst of it; DUNLIN_RMA_WAY forces each way.
 *
 * usage: rma_random [seed [rounds]] */
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static int is_one_node;

enum {
  kRanksMax = 16,
  kSlots = 40,     /* elements that one origin may put into, in each rank */
  kExact = 16,     /* elements that one origin may accumulate into, in each rank */
  kShared = 48,    /* elements that everybody accumulates into */
  kConstants = 64, /* elements that are only read */
};

static uint64_t state;
static unsigned draw(unsigned below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)((state >> 33) % below);
}

/* Elements are numbers that all types hold exactly. */
struct type {
  MPI_Datatype type;
  int bytes;
  int is_float;
};
static struct type types[] = {{0, 1, 0}, {0, 2, 0}, {0, 4, 0}, {0, 8, 0}, {0, 4, 1}, {0, 8, 1}};

static void store(const struct type* t, char* at, int64_t value) {
  const int8_t i8 = (int8_t)value;
  const int16_t i16 = (int16_t)value;
  const int32_t i32 = (int32_t)value;
  const float f32 = (float)value;
  const double f64 = (double)value;
  const void* from = t->bytes == 1   ? (const void*)&i8
                     : t->bytes == 2 ? (const void*)&i16
                     : t->bytes == 4 ? (t->is_float ? (const void*)&f32 : (const void*)&i32)
                                     : (t->is_float ? (const void*)&f64 : (const void*)&value);
  memcpy(at, from, (size_t)t->bytes);
}

static int64_t load(const struct type* t, const char* at) {
  int8_t i8;
  int16_t i16;
  int32_t i32;
  int64_t i64;
  float f32;
  double f64;
  switch (t->bytes + 10 * t->is_float) {
    case 1:
      return memcpy(&i8, at, 1), i8;
    case 2:
      return memcpy(&i16, at, 2), i16;
    case 4:
      return memcpy(&i32, at, 4), i32;
    case 8:
      return memcpy(&i64, at, 8), i64;
    case 14:
      return memcpy(&f32, at, 4), (int64_t)f32;
    default:
      return memcpy(&f64, at, 8), (int64_t)f64;
  }
}

/* What the memory of all ranks has to be. */
static int64_t model[kRanksMax][kRanksMax * (kSlots + kExact) + kShared + kConstants];

static int first_exact(void) { return check_size * kSlots; }
static int first_shared(void) { return check_size * (kSlots + kExact); }
static int first_constant(void) { return first_shared() + kShared; }
static int elements(void) { return first_constant() + kConstants; }

struct window {
  MPI_Win win;
  char* memory;
  MPI_Aint start[kRanksMax];
  MPI_Aint unit;
  int flavor;
};

static void make(struct window* w, const struct type* t) {
  const MPI_Aint bytes = elements() * (MPI_Aint)t->bytes;
  MPI_Aint mine = 0;
  w->flavor = (int)draw(4);
  if (w->flavor == 2 && !is_one_node) w->flavor = 1;
  const int unit = draw(2) ? t->bytes : 1;
  w->unit = w->flavor == 3 ? 1 : unit;
  const unsigned place = draw(2); /* a block of the shared heap, or a small one that does not map */
  switch (w->flavor) {
    case 0:
      w->memory = malloc(place ? 1 << 20 : (size_t)bytes);
      MPI_Win_create(w->memory, bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &w->win);
      break;
    case 1:
      MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &w->memory, &w->win);
      break;
    case 2:
      MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &w->memory, &w->win);
      break;
    default:
      w->memory = malloc(place ? 1 << 20 : (size_t)bytes);
      MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w->win);
      MPI_Win_attach(w->win, w->memory, bytes);
      MPI_Get_address(w->memory, &mine);
  }
  MPI_Allgather(&mine, 1, MPI_AINT, w->start, 1, MPI_AINT, MPI_COMM_WORLD);
  for (int rank = 0; rank < check_size; ++rank)
    for (int i = 0; i < elements(); ++i) model[rank][i] = (int64_t)draw(100);
  for (int i = 0; i < elements(); ++i) store(t, w->memory + i * t->bytes, model[check_rank][i]);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void unmake(struct window* w) {
  if (w->flavor == 3) MPI_Win_detach(w->win, w->memory);
  MPI_Win_free(&w->win);
  if (w->flavor == 0 || w->flavor == 3) free(w->memory);
}

/* `count` elements, `stride` apart; kept until the epoch ends. */
static MPI_Datatype layout(const struct type* t, int count, int stride) {
  MPI_Datatype made;
  MPI_Type_vector(count, 1, stride, t->type, &made);
  MPI_Type_commit(&made);
  return made;
}

/* One operation of `origin`; that rank does it, everybody else only keeps the model. */
struct pending {
  char* buffer;
  int count, stride;
  int64_t wanted[kSlots];
};

static void begin_one(struct window* w, int epoch, int target) {
  if (epoch == 3) MPI_Win_lock(target % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, w->win);
}
static void end_one(struct window* w, int epoch, int target) {
  if (epoch == 3) MPI_Win_unlock(target, w->win);
}

/* One element that only this origin changes: what comes back is known. */
static void one_exact(struct window* w, const struct type* t, int epoch, int origin, struct pending* p) {
  const MPI_Op kOps[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_REPLACE, MPI_NO_OP};
  const int target = (int)draw((unsigned)check_size), which = (int)draw(5), kind = (int)draw(3);
  const int first = first_exact() + origin * kExact + (int)draw(kExact);
  const int64_t value = (int64_t)draw(50), guess = (int64_t)draw(2);
  int64_t* const there = &model[target][first];
  const int64_t before = *there, compared = before + guess;
  if (kind == 2 && !t->is_float) {
    if (guess == 0) *there = value;
  } else {
    const int64_t results[] = {t->bytes == 1 ? (int8_t)(before + value) : before + value,
                               before > value ? before : value, before < value ? before : value, value,
                               before};
    *there = results[which];
  }
  p->count = 0;
  if (origin != check_rank) return;
  char given[8], expected[8];
  const MPI_Aint at = w->start[target] + first * (MPI_Aint)t->bytes / w->unit;
  store(t, given, value);
  store(t, expected, compared);
  p->buffer = malloc(8);
  p->stride = 1;
  p->count = 1;
  p->wanted[0] = before;
  begin_one(w, epoch, target);
  if (kind == 2 && !t->is_float) {
    MPI_Compare_and_swap(given, expected, p->buffer, t->type, target, at, w->win);
  } else if (kind == 1 && epoch >= 2) { /* requests are for epochs of locks only */
    MPI_Request request;
    MPI_Rget_accumulate(given, 1, t->type, p->buffer, 1, t->type, target, at, 1, t->type, kOps[which], w->win,
                        &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(load(t, p->buffer) == before, "%ld, not %ld", (long)load(t, p->buffer), (long)before);
  } else {
    MPI_Fetch_and_op(given, p->buffer, t->type, target, at, kOps[which], w->win);
  }
  end_one(w, epoch, target);
}

/* Where something was put in this epoch: puts are in no order. */
static char is_put[kRanksMax][kRanksMax * kSlots];

static void one_operation(struct window* w, const struct type* t, int epoch, int origin, struct pending* p) {
  const int target = (int)draw((unsigned)check_size), kind = (int)draw(4);
  const int there_stride = 1 + (int)draw(3), here_stride = 1 + (int)draw(3), count = 1 + (int)draw(10);
  const int span = (count - 1) * there_stride + 1;
  int first = origin * kSlots + (int)draw((unsigned)(kSlots - span));
  if (kind == 1) first = first_constant() + (int)draw((unsigned)(kConstants - span));
  if (kind >= 2) first = first_shared() + (int)draw((unsigned)(kShared - span));
  int64_t values[kSlots];
  for (int i = 0; i < count; ++i) values[i] = kind == 2 ? 1 : (int64_t)draw(100);
  int64_t* const there = &model[target][first];
  for (int i = 0; i < count; ++i) {
    int64_t* const element = &there[i * there_stride];
    p->wanted[i] = *element;
    if (kind == 0) {
      char* const was_put = &is_put[target][first + i * there_stride];
      if (*was_put) values[i] = *element;
      *was_put = 1;
      *element = values[i];
    }
    if (kind == 2) *element = t->bytes == 1 ? (int8_t)(*element + 1) : *element + 1;
  }
  p->count = 0;
  if (origin != check_rank) return;
  char* const buffer = malloc((size_t)(count * here_stride * t->bytes));
  MPI_Datatype here = layout(t, count, here_stride), far = layout(t, count, there_stride);
  const MPI_Aint at = w->start[target] + first * (MPI_Aint)t->bytes / w->unit;
  for (int i = 0; i < count; ++i) store(t, buffer + i * here_stride * t->bytes, values[i]);
  p->buffer = buffer;
  p->stride = here_stride;
  begin_one(w, epoch, target);
  if (kind == 0) MPI_Put(buffer, 1, here, target, at, 1, far, w->win);
  if (kind == 1) MPI_Get(buffer, 1, here, target, at, 1, far, w->win), p->count = count;
  if (kind == 2) MPI_Accumulate(buffer, 1, here, target, at, 1, far, MPI_SUM, w->win);
  if (kind == 3) { /* adds nothing, and asks for something that only this checks: it is there */
    char* const back = malloc((size_t)(count * here_stride * t->bytes));
    for (int i = 0; i < count; ++i) store(t, buffer + i * here_stride * t->bytes, 0);
    MPI_Get_accumulate(buffer, 1, here, back, 1, here, target, at, 1, far, MPI_SUM, w->win);
    free(p->buffer);
    p->buffer = back;
  }
  end_one(w, epoch, target);
  MPI_Type_free(&here);
  MPI_Type_free(&far);
}

static void begin(struct window* w, int epoch, MPI_Group all) {
  if (epoch == 0) MPI_Win_fence(0, w->win);
  if (epoch == 1) MPI_Win_post(all, 0, w->win), MPI_Win_start(all, 0, w->win);
  if (epoch >= 2) MPI_Barrier(MPI_COMM_WORLD);
  if (epoch == 2) MPI_Win_lock_all(0, w->win);
}
static void end(struct window* w, int epoch) {
  if (epoch == 0) MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
  if (epoch == 1) MPI_Win_complete(w->win), MPI_Win_wait(w->win);
  if (epoch == 2) MPI_Win_unlock_all(w->win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(w->win);
}

static void fork_once(void) {
  int status;
  const pid_t child = fork();
  if (child == 0) _exit(7);
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "the child");
}

static void one_epoch(struct window* w, const struct type* t, int number, MPI_Group all) {
  enum { kOperations = 12 };
  static struct pending pending[kOperations];
  const int epoch = (int)draw(4), forks = (int)draw(4) == 0, forker = (int)draw((unsigned)check_size);
  memset(is_put, 0, sizeof is_put);
  begin(w, epoch, all);
  for (int origin = 0; origin < check_size; ++origin)
    for (int i = 0; i < kOperations; ++i) {
      struct pending one = {NULL, 0, 0, {0}};
      if (forks && i == kOperations / 2 && origin == check_rank && origin == forker) fork_once();
      if (draw(3))
        one_operation(w, t, epoch, origin, &one);
      else
        one_exact(w, t, epoch, origin, &one);
      if (origin == check_rank) pending[i] = one;
    }
  end(w, epoch);
  for (int i = 0; i < kOperations; ++i) {
    for (int k = 0; k < pending[i].count; ++k) {
      const int64_t got = load(t, pending[i].buffer + k * pending[i].stride * t->bytes);
      CHECK(got == pending[i].wanted[k], "epoch %d, operation %d: got %ld, not %ld", number, i, (long)got,
            (long)pending[i].wanted[k]);
    }
    free(pending[i].buffer);
  }
  for (int i = 0; i < elements(); ++i) {
    const int64_t is = load(t, w->memory + i * t->bytes);
    CHECK(is == model[check_rank][i], "epoch %d (%d), flavor %d, type of %d bytes: [%d] is %ld, not %ld",
          number, epoch, w->flavor, t->bytes, i, (long)is, (long)model[check_rank][i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Group all;
  check_start(&argc, &argv);
  const MPI_Datatype kTypes[] = {MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_FLOAT, MPI_DOUBLE};
  for (int i = 0; i < 6; ++i) types[i].type = kTypes[i];
  unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 0) : (unsigned long)time(NULL);
  const int rounds = argc > 2 ? atoi(argv[2]) : 12;
  MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  if (check_rank == 0) printf("seed %lu\n", seed);
  state = seed;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  is_one_node = check_is_one_node();
  for (int round = 0; round < rounds; ++round) {
    const struct type* const t = &types[draw(6)];
    struct window w;
    make(&w, t);
    for (int epoch = 0; epoch < 6; ++epoch) one_epoch(&w, t, 6 * round + epoch, all);
    unmake(&w);
  }
  MPI_Group_free(&all);
  return check_end();
}
