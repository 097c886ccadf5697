/* What windows met at their edges: freed right behind a long answer, duplicates of types, the order of
 * accumulates that take different ways, displacements and counts that wrap, what is not attached, the ends of
 * windows, exposures in a row. */
#include <string.h>
#include <time.h>

#include "check.h"

enum { kLongs = 25000, kRounds = 50 };

/* The window's memory is the stack, which maps nowhere: the target answers by messages. */
static void freed_behind_an_answer(void) {
  long memory[kLongs];
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kLongs; ++i) memory[i] = i + round;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (check_rank == 0) {
      long* got = malloc(sizeof memory);
      MPI_Win_lock(MPI_LOCK_SHARED, check_size - 1, 0, win);
      MPI_Get_accumulate(NULL, 0, MPI_LONG, got, kLongs, MPI_LONG, check_size - 1, 0, kLongs, MPI_LONG,
                         MPI_NO_OP, win);
      MPI_Win_unlock(check_size - 1, win);
      for (int i = 0; i < kLongs; ++i) CHECK(got[i] == i + round, "%d: %ld", i, got[i]);
      free(got);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    free(memset(malloc(sizeof memory), 0x5a, sizeof memory));
  }
}

/* A duplicate has a handle that means something else in the other process. */
static void duplicated_types(void) {
  MPI_Datatype others[3], type, pair;
  for (int i = 0; i < check_rank % 3; ++i) MPI_Type_dup(MPI_LONG, &others[i]);
  MPI_Type_dup(MPI_DOUBLE, &type);
  MPI_Type_dup(MPI_DOUBLE_INT, &pair);
  struct {
    double value;
    int place;
  } memory[2] = {{1, 1}, {1, 1}}, mine = {check_rank + 2, check_rank};
  const double more = 1.5;
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Accumulate(&more, 1, type, 0, 0, 1, type, MPI_SUM, win);
  MPI_Accumulate(&mine, 1, pair, 0, 1, 1, pair, MPI_MAXLOC, win);
  MPI_Win_fence(0, win);
  if (check_rank == 0) {
    CHECK(memory[0].value == 1 + 1.5 * check_size, "%g", memory[0].value);
    CHECK(memory[1].value == check_size + 1 && memory[1].place == check_size - 1, "%g", memory[1].value);
  }
  MPI_Win_free(&win);
  for (int i = 0; i < check_rank % 3; ++i) MPI_Type_free(&others[i]);
  MPI_Type_free(&type);
  MPI_Type_free(&pair);
}

/* A part of the window maps, another does not; one accumulate covers both, the next only what maps. */
static void order_of_ways(void) {
  long on_stack = 0;
  long* in_heap = calloc(1 << 17, sizeof *in_heap);
  MPI_Aint at[2];
  MPI_Win win;
  MPI_Get_address(in_heap, &at[0]);
  MPI_Get_address(&on_stack, &at[1]);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_attach(win, in_heap, sizeof *in_heap << 17);
  MPI_Win_attach(win, &on_stack, sizeof on_stack);
  MPI_Aint* all = malloc(2 * (size_t)check_size * sizeof *all);
  MPI_Allgather(at, 2, MPI_AINT, all, 2, MPI_AINT, MPI_COMM_WORLD);
  const int target = (check_rank + 1) % check_size;
  MPI_Datatype both;
  MPI_Type_create_hindexed_block(2, 1, all + 2 * target, MPI_LONG, &both);
  MPI_Type_commit(&both);
  MPI_Win_lock_all(0, win);
  for (long round = 1; round <= kRounds; ++round) {
    const long first[2] = {-round, -round};
    long seen = 0;
    MPI_Accumulate(first, 2, MPI_LONG, target, 0, 1, both, MPI_REPLACE, win);
    MPI_Accumulate(&round, 1, MPI_LONG, target, all[2 * target], 1, MPI_LONG, MPI_REPLACE, win);
    MPI_Win_flush(target, win);
    MPI_Get(&seen, 1, MPI_LONG, target, all[2 * target], 1, MPI_LONG, win);
    MPI_Win_flush(target, win);
    CHECK(seen == round, "round %ld: %ld", round, seen);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&both);
  MPI_Win_free(&win);
  free(all);
  free(in_heap);
}

static void far_displacements(void) {
  long memory[100] = {0};
  const long seven = 7;
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  int class;
  MPI_Error_class(MPI_Put(&seven, 1, MPI_LONG, 0, ((MPI_Aint)1 << 61) + 3, 1, MPI_LONG, win), &class);
  MPI_Win_unlock(0, win);
  CHECK(class == MPI_ERR_RMA_RANGE, "class %d", class);
  MPI_Win_free(&win);
  for (int i = 0; i < 100; ++i) CHECK(memory[i] == 0, "%d: %ld", i, memory[i]);
}

static int class_of(int error) {
  int class;
  MPI_Error_class(error, &class);
  return class;
}

/* Of an operation and its flush: ranks of other nodes say no when they have been asked. */
static int class_at_end(int error, int target, MPI_Win win) {
  return class_of(error ? error : MPI_Win_flush(target, win));
}

/* Two neighbours are attached, what lies before and behind them is not; in a block that maps, and on the
 * stack. */
static void attached_memory(long* memory) {
  enum { kPart = 100 };
  const int target = (check_rank + 1) % check_size;
  long seven = 7, got[2 * kPart];
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  for (int i = 0; i < 4 * kPart; ++i) memory[i] = i;
  MPI_Win_attach(win, memory + 2 * kPart, kPart * sizeof(long));
  MPI_Win_attach(win, memory + kPart, kPart * sizeof(long));
  MPI_Win_attach(win, memory, 0);
  MPI_Win_attach(win, memory, 0);
  MPI_Win_detach(win, memory);
  MPI_Aint at;
  MPI_Aint* all = malloc((size_t)check_size * sizeof *all);
  MPI_Get_address(memory, &at);
  MPI_Allgather(&at, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
  const MPI_Aint there = all[target], part = kPart * sizeof(long), one = sizeof(long);
  const int refused = MPI_ERR_RMA_RANGE;
  CHECK(class_of(MPI_Win_attach(win, memory + 3 * kPart - 1, sizeof(long))) == MPI_ERR_RMA_ATTACH, "overlap");
  MPI_Win_lock_all(0, win);
  for (int turn = 0; turn < 3; ++turn) { /* first the general way, then the short one */
    MPI_Get(got, 2 * kPart, MPI_LONG, target, there + part, 2 * kPart, MPI_LONG, win);
    MPI_Win_flush(target, win);
    for (int i = 0; i < 2 * kPart; ++i) CHECK(got[i] == kPart + i, "%d: %ld", i, got[i]);
    CHECK(MPI_Get(got, 1, MPI_LONG, target, there + 2 * part, 1, MPI_LONG, win) == MPI_SUCCESS, "inside");
    CHECK(class_at_end(MPI_Put(&seven, 1, MPI_LONG, target, there + part - one, 1, MPI_LONG, win), target,
                       win) == refused,
          "before it");
    CHECK(class_at_end(MPI_Put(&seven, 1, MPI_LONG, target, there + 3 * part, 1, MPI_LONG, win), target,
                       win) == refused,
          "behind it");
    CHECK(class_at_end(MPI_Get(got, 2, MPI_LONG, target, there + 3 * part - one, 2, MPI_LONG, win), target,
                       win) == refused,
          "over its end");
    CHECK(class_at_end(MPI_Accumulate(&seven, 1, MPI_LONG, target, there, 1, MPI_LONG, MPI_SUM, win), target,
                       win) == refused,
          "nothing is attached there");
  }
  MPI_Win_flush_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_detach(win, memory + kPart);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(class_at_end(MPI_Put(&seven, 1, MPI_LONG, target, there + part, 1, MPI_LONG, win), target, win) ==
            refused,
        "detached");
  CHECK(MPI_Put(&seven, 1, MPI_LONG, target, there + 2 * part, 1, MPI_LONG, win) == MPI_SUCCESS,
        "still there");
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 4 * kPart; ++i) CHECK(memory[i] == (i == 2 * kPart ? 7 : i), "%d: %ld", i, memory[i]);
  CHECK(class_of(MPI_Win_detach(win, memory + kPart)) == MPI_ERR_BASE, "detached twice");
  MPI_Win_detach(win, memory);
  MPI_Win_detach(win, memory + 2 * kPart);
  MPI_Win_free(&win);
  free(all);
}

/* What accumulates cannot be, and counts whose bytes are 0 by the time they are multiplied. */
static void refused_arguments(void) {
  double number = 1, got = 0;
  long* memory;
  MPI_Win win;
  MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  const MPI_Count wraps = (MPI_Count)1 << 61;
  MPI_Win_lock_all(0, win);
  CHECK(class_of(MPI_Compare_and_swap(&number, &number, &got, MPI_DOUBLE, 0, 0, win)) == MPI_ERR_TYPE,
        "a double");
  CHECK(class_of(MPI_Put_c(&number, wraps, MPI_LONG, 0, 0, wraps, MPI_LONG, win)) == MPI_ERR_COUNT, "put");
  CHECK(class_of(MPI_Get_c(&got, wraps + 1, MPI_LONG, 0, 0, wraps + 1, MPI_LONG, win)) == MPI_ERR_COUNT,
        "get");
  CHECK(class_of(MPI_Accumulate_c(&number, wraps, MPI_LONG, 0, 0, wraps, MPI_LONG, MPI_SUM, win)) ==
            MPI_ERR_COUNT,
        "accumulate");
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(*memory == 0, "%ld", *memory);
  MPI_Win_free(&win);
}

/* Short operations at both ends of windows of all small sizes. */
static void ends_of_windows(void) {
  for (int bytes = 1; bytes <= 80; bytes += 13) {
    char *memory, given[80], got[80];
    MPI_Win win;
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    const int target = (check_rank + 1) % check_size;
    memset(given, bytes, sizeof given);
    MPI_Win_lock_all(0, win);
    for (int at = 0; at < bytes; ++at) {
      const int count = bytes - at;
      CHECK(MPI_Put(given, count, MPI_CHAR, target, at, count, MPI_CHAR, win) == MPI_SUCCESS, "put");
      MPI_Win_flush(target, win);
      MPI_Get(got, count, MPI_CHAR, target, at, count, MPI_CHAR, win);
      MPI_Win_flush(target, win);
      CHECK(memcmp(got, given, (size_t)count) == 0, "%d bytes at %d", count, at);
      const int error = MPI_Put(given, count, MPI_CHAR, target, at + 1, count, MPI_CHAR, win);
      CHECK(class_of(error) == MPI_ERR_RMA_RANGE, "%d bytes at %d", count, at + 1);
      CHECK(class_of(MPI_Get(got, 1, MPI_CHAR, target, -at - 1, 1, MPI_CHAR, win)) == MPI_ERR_RMA_RANGE,
            "before the window");
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
  }
}

/* About as many bytes as the shortcut takes, up to the window's last one: they come whole, none beside them
 * changes. */
static void about_64_kib(int is_created) {
  enum { kBytes = 1 << 17 };
  const int target = (check_rank + 1) % check_size;
  char *memory = malloc(kBytes), *given = malloc(kBytes), *got = malloc(kBytes), *block = memory;
  MPI_Win win;
  if (is_created)
    MPI_Win_create(memory, kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  else
    MPI_Win_allocate(kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < kBytes; ++i) given[i] = (char)(i * 7 + i / 256 + 1);
  for (int bytes = (64 << 10) - 1; bytes <= (64 << 10) + 1; ++bytes)
    for (int turn = 0; turn < 2; ++turn) { /* first the general way, then the short one */
      const int at = kBytes - bytes;
      memset(memory, 0, kBytes);
      memset(got, 0, kBytes);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_lock_all(0, win);
      MPI_Put(given, bytes, MPI_CHAR, target, at, bytes, MPI_CHAR, win);
      MPI_Win_flush(target, win);
      MPI_Get(got, bytes, MPI_CHAR, target, at, bytes, MPI_CHAR, win);
      MPI_Win_flush(target, win);
      MPI_Accumulate(given, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, MPI_BXOR, win);
      MPI_Win_unlock_all(win);
      CHECK(memcmp(got, given, (size_t)bytes) == 0 && got[bytes] == 0, "%d bytes", bytes);
      MPI_Barrier(MPI_COMM_WORLD);
      for (int i = 0; i < kBytes; ++i) CHECK(memory[i] == 0, "%d bytes: %d at %d", bytes, memory[i], i);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  MPI_Win_free(&win);
  free(block);
  free(given);
  free(got);
}

/* Each rank is a target of all lower ones and an origin of all higher ones, in two windows by turns, so that
 * some are rounds ahead; some rounds do not wait for MPI_Win_post, some targets test. */
static void exposures_in_a_row(void) {
  enum { kRows = 60 };
  long* memory[2];
  MPI_Win wins[2];
  MPI_Group all, lower, higher;
  int range[3] = {0, check_rank - 1, 1};
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_range_incl(all, check_rank > 0, &range, &lower);
  range[0] = check_rank + 1;
  range[1] = check_size - 1;
  MPI_Group_range_incl(all, check_rank < check_size - 1, &range, &higher);
  for (int w = 0; w < 2; ++w)
    MPI_Win_allocate(check_size * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &memory[w], &wins[w]);
  for (long row = 1; row <= kRows; ++row) {
    const int w = (int)(row / 2 % 2), mode = row % 5 ? 0 : MPI_MODE_NOCHECK;
    MPI_Win_post(lower, mode, wins[w]);
    if (mode) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_start(higher, mode, wins[w]);
    for (int to = check_rank + 1; to < check_size; ++to)
      MPI_Put(&row, 1, MPI_LONG, to, check_rank, 1, MPI_LONG, wins[w]);
    MPI_Win_complete(wins[w]);
    int is_over = 0;
    while (row % 3 == 0 && !is_over) MPI_Win_test(wins[w], &is_over);
    if (!is_over) MPI_Win_wait(wins[w]);
    for (int from = 0; from < check_rank; ++from)
      CHECK(memory[w][from] == row, "%d: %ld, not %ld", from, memory[w][from], row);
  }
  for (int w = 0; w < 2; ++w) MPI_Win_free(&wins[w]);
  MPI_Group_free(&all);
  MPI_Group_free(&lower);
  MPI_Group_free(&higher);
}

enum { kNegative = 48 };
static MPI_Datatype shifted, spread, early, backward;

/* Types whose first byte is not where they begin, into the right neighbour; displacements in longs. */
static void move_backwards(MPI_Win win, int target, MPI_Aint at, MPI_Aint unit) {
  const long given[3] = {-1, -2, -3};
  long got[8] = {0};
  MPI_Put(given, 1, MPI_LONG, target, at + unit * 1, 1, shifted, win);                  /* [0] */
  MPI_Put(given, 2, MPI_LONG, target, at + unit * 4, 1, spread, win);                   /* [2], [5] */
  MPI_Put(given, 3, MPI_LONG, target, at + unit * 10, 3, early, win);                   /* [10] to [12] */
  MPI_Put(given, 3, MPI_LONG, target, at + unit * 18, 3, backward, win);                /* [18] to [16] */
  MPI_Accumulate(given, 3, MPI_LONG, target, at + unit * 22, 3, backward, MPI_REPLACE, win); /* to [20] */
  MPI_Put(given + 1, 1, shifted, target, at + unit * 30, 1, MPI_LONG, win);
  MPI_Put(given + 2, 3, backward, target, at + unit * 32, 3, MPI_LONG, win); /* [32] to [34] */
  MPI_Get(got + 4, 2, MPI_LONG, target, at + unit * 44, 1, spread, win);     /* [42], [45] */
  MPI_Get(got + 1, 1, shifted, target, at + unit * 46, 1, MPI_LONG, win);
  MPI_Win_flush(target, win);
  CHECK(got[4] == 1000 * target + 42 && got[5] == 1000 * target + 45 && got[0] == 1000 * target + 46,
        "%ld %ld %ld", got[4], got[5], got[0]);
  CHECK(class_at_end(MPI_Put(given, 1, MPI_LONG, target, at, 1, shifted, win), target, win) ==
            MPI_ERR_RMA_RANGE,
        "before the first byte");
  CHECK(class_at_end(MPI_Put(given, 3, MPI_LONG, target, at + unit, 3, backward, win), target, win) ==
            MPI_ERR_RMA_RANGE,
        "before the first byte");
  CHECK(class_at_end(MPI_Put(given, 3, MPI_LONG, target, at + unit * (kNegative - 2), 3, early, win), target,
                     win) == MPI_ERR_RMA_RANGE,
        "behind the last byte");
}

static void types_that_reach_back(int is_dynamic) {
  const MPI_Aint before[1] = {-8}, unit = is_dynamic ? sizeof(long) : 1;
  const int one[2] = {1, 1}, target = (check_rank + 1) % check_size;
  MPI_Aint around[2] = {-16, 8}, mine = 0, *all = malloc((size_t)check_size * sizeof *all);
  long* memory = malloc(sizeof(long) << 17);
  MPI_Win win;
  MPI_Type_create_hindexed(1, one, before, MPI_LONG, &shifted);
  MPI_Type_create_hindexed(2, one, around, MPI_LONG, &spread);
  MPI_Type_create_resized(MPI_LONG, -8, 8, &early);
  MPI_Type_create_resized(MPI_LONG, 0, -8, &backward);
  MPI_Datatype* const types[] = {&shifted, &spread, &early, &backward};
  for (int i = 0; i < 4; ++i) MPI_Type_commit(types[i]);
  if (is_dynamic) {
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, memory, kNegative * sizeof(long));
    MPI_Get_address(memory, &mine);
  } else {
    MPI_Win_create(memory, kNegative * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  }
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  for (int i = 0; i < kNegative; ++i) memory[i] = 1000 * check_rank + i;
  MPI_Allgather(&mine, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int turn = 0; turn < 3; ++turn) move_backwards(win, target, all[target], unit);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  const char* const wanted = "1.1..2....123...321.321.......1.321"; /* of what was given, by place */
  for (int i = 0; i < kNegative; ++i) {
    const char which = i < 35 ? wanted[i] : '.';
    const long value = which == '.' ? 1000 * check_rank + i : '0' - which;
    CHECK(memory[i] == value, "[%d]: %ld, not %ld", i, memory[i], value);
  }
  if (is_dynamic) MPI_Win_detach(win, memory);
  MPI_Win_free(&win);
  for (int i = 0; i < 4; ++i) MPI_Type_free(types[i]);
  free(memory);
  free(all);
}

/* Every other rank has no memory. */
static void ranks_without_memory(int is_created) {
  const MPI_Aint bytes = check_rank % 2 ? 0 : sizeof(long);
  const long seven = 7;
  long own = 0, *memory = &own;
  MPI_Win win;
  if (is_created)
    MPI_Win_create(bytes ? memory : NULL, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  else
    MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, win);
  for (int rank = 0; rank < check_size; ++rank) {
    const int error = MPI_Put(&seven, 1, MPI_LONG, rank, 0, 1, MPI_LONG, win);
    CHECK(class_of(error) == (rank % 2 ? MPI_ERR_RMA_RANGE : MPI_SUCCESS), "rank %d", rank);
    CHECK(MPI_Put(NULL, 0, MPI_LONG, rank, 5, 0, MPI_LONG, win) == MPI_SUCCESS, "nothing");
    CHECK(MPI_Accumulate(NULL, 0, MPI_LONG, rank, 5, 0, MPI_LONG, MPI_SUM, win) == MPI_SUCCESS, "nothing");
  }
  CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS && (check_rank % 2 || *memory == 7), "fence");
  MPI_Win_free(&win);
}

/* What the program asks for is there when it waits, also behind MPI_Win_free; types may go before. */
static void requests_that_outlive(void) {
  long memory[4] = {1, 2, 3, 4}, got[4] = {0}, before = 0; /* the stack maps nowhere */
  const long ten = 10;
  const int target = (check_rank + 1) % check_size;
  MPI_Datatype every_other;
  MPI_Request requests[5];
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Type_create_resized(MPI_LONG, 0, 2 * sizeof(long), &every_other);
  MPI_Type_commit(&every_other);
  MPI_Win_lock_all(0, win);
  MPI_Rget(got, 2, every_other, target, 2, 2, MPI_LONG, win, &requests[0]);
  MPI_Type_free(&every_other);
  MPI_Rput(&ten, 1, MPI_LONG, target, 0, 1, MPI_LONG, win, &requests[1]);
  MPI_Rget_accumulate(&ten, 1, MPI_LONG, &before, 1, MPI_LONG, target, 1, 1, MPI_LONG, MPI_SUM, win,
                      &requests[2]);
  MPI_Raccumulate(&ten, 1, MPI_LONG, target, 1, 1, MPI_LONG, MPI_SUM, win, &requests[3]);
  MPI_Rput(&ten, 1, MPI_LONG, target, 3, 1, MPI_LONG, win, &requests[4]);
  MPI_Request_free(&requests[4]);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  CHECK(got[0] == 3 && got[1] == 0 && (got[2] == 4 || got[2] == 10) && before == 2, "%ld %ld %ld", got[0],
        got[2], before);
  CHECK(memory[0] == 10 && memory[1] == 22 && memory[2] == 3 && memory[3] == 10, "%ld %ld", memory[0],
        memory[1]);
}

/* What was put before a fence is there behind it, and nothing of the next row, by two ranks and by all; some
 * come late. */
static void fences_in_a_row(MPI_Comm comm) {
  enum { kRows = 400 };
  long* memory;
  MPI_Win win;
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Win_allocate(2 * size * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &memory, &win);
  memset(memory, 0, 2 * (size_t)size * sizeof(long));
  MPI_Win_fence(0, win);
  for (long row = 1; row <= kRows; ++row) {
    const int half = (int)(row % 2) * size;
    const struct timespec late = {0, 100000};
    if (row % 16 == rank) nanosleep(&late, NULL);
    for (int to = 0; to < size; ++to) MPI_Put(&row, 1, MPI_LONG, to, half + rank, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    for (int from = 0; from < size; ++from) /* the other half may be changed already */
      CHECK(memory[half + from] == row, "row %ld: %ld from %d", row, memory[half + from], from);
  }
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  freed_behind_an_answer();
  duplicated_types();
  order_of_ways();
  far_displacements();
  long on_stack[400], *in_heap = malloc(sizeof(long) << 17);
  attached_memory(on_stack);
  attached_memory(in_heap);
  free(in_heap);
  refused_arguments();
  ends_of_windows();
  about_64_kib(0);
  about_64_kib(1);
  exposures_in_a_row();
  for (int i = 0; i < 2; ++i) {
    types_that_reach_back(i);
    ranks_without_memory(i);
  }
  requests_that_outlive();
  MPI_Comm two;
  MPI_Comm_split(MPI_COMM_WORLD, check_rank / 2, -check_rank, &two);
  fences_in_a_row(MPI_COMM_WORLD);
  fences_in_a_row(two);
  MPI_Comm_free(&two);
  return check_end();
}
