/* Every operation, in every flavour of window and every kind of epoch: values are checked at the target and
 * at the origin, by displacement units, derived datatypes on either side, no bytes at all, and MPI_PROC_NULL.
 */
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { kInts = 64, kFlavors = 4 };

static const char* const flavor_names[kFlavors] = {"create", "allocate", "shared", "dynamic"};

/* A window of kInts ints in each rank, and where its memory and its displacement 0 are. */
struct window {
  MPI_Win win;
  int* memory;
  int flavor;
  MPI_Aint start[64]; /* displacement of the first int of each rank */
  MPI_Aint unit;      /* bytes of a displacement */
};

static struct window make(int flavor) {
  struct window w;
  MPI_Aint bytes = kInts * sizeof(int), mine = 0;
  w.flavor = flavor;
  w.unit = flavor == 3 ? 1 : (MPI_Aint)sizeof(int);
  if (flavor == 0) {
    w.memory = malloc((size_t)bytes);
    MPI_Win_create(w.memory, bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &w.win);
  } else if (flavor == 1) {
    MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &w.memory, &w.win);
  } else if (flavor == 2) {
    MPI_Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &w.memory, &w.win);
  } else {
    w.memory = malloc((size_t)bytes);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w.win);
    MPI_Win_attach(w.win, w.memory, bytes);
    MPI_Get_address(w.memory, &mine);
  }
  MPI_Allgather(&mine, 1, MPI_AINT, w.start, 1, MPI_AINT, MPI_COMM_WORLD);
  return w;
}

static void unmake(struct window* w) {
  if (w->flavor == 3) MPI_Win_detach(w->win, w->memory);
  MPI_Win_free(&w->win);
  CHECK(w->win == MPI_WIN_NULL, "%s", flavor_names[w->flavor]);
  if (w->flavor == 0 || w->flavor == 3) free(w->memory);
}

static MPI_Aint at(const struct window* w, int rank, int index) {
  return w->start[rank] + index * (MPI_Aint)sizeof(int) / w->unit;
}

static void fill(struct window* w) {
  for (int i = 0; i < kInts; ++i) w->memory[i] = 1000 * check_rank + i;
}

/* Epochs: 0 fence, 1 post-start, 2 lock, 3 lock_all. */
static MPI_Group everybody;

static void begin(struct window* w, int epoch, int target) {
  switch (epoch) {
    case 0:
      MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win);
      break;
    case 1:
      MPI_Win_post(everybody, 0, w->win);
      MPI_Win_start(everybody, 0, w->win);
      break;
    case 2:
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win);
      break;
    default:
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_lock_all(0, w->win);
  }
}

static void end(struct window* w, int epoch, int target) {
  switch (epoch) {
    case 0:
      MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
      break;
    case 1:
      MPI_Win_complete(w->win);
      MPI_Win_wait(w->win);
      break;
    case 2:
      MPI_Win_unlock(target, w->win);
      MPI_Barrier(MPI_COMM_WORLD);
      break;
    default:
      MPI_Win_unlock_all(w->win);
      MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_sync(w->win);
}

static void test_put_and_get(struct window* w, int epoch) {
  const int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
  int given[4] = {10 * check_rank, 10 * check_rank + 1, 10 * check_rank + 2, 10 * check_rank + 3};
  int got[4] = {-1, -1, -1, -1};
  fill(w);
  begin(w, epoch, right);
  MPI_Put(given, 4, MPI_INT, right, at(w, right, 8), 4, MPI_INT, w->win);
  MPI_Get(got, 4, MPI_INT, right, at(w, right, 20), 4, MPI_INT, w->win);
  MPI_Put(given, 0, MPI_INT, right, at(w, right, 0), 0, MPI_INT, w->win);
  MPI_Put(given, 4, MPI_INT, MPI_PROC_NULL, 0, 4, MPI_INT, w->win);
  MPI_Get(got, 4, MPI_INT, MPI_PROC_NULL, 0, 4, MPI_INT, w->win);
  end(w, epoch, right);
  for (int i = 0; i < kInts; ++i) {
    const int wanted = i >= 8 && i < 12 ? 10 * left + i - 8 : 1000 * check_rank + i;
    CHECK(w->memory[i] == wanted, "%s, epoch %d: [%d] is %d, not %d", flavor_names[w->flavor], epoch, i,
          w->memory[i], wanted);
  }
  for (int i = 0; i < 4; ++i)
    CHECK(got[i] == 1000 * right + 20 + i, "%s, epoch %d: got %d", flavor_names[w->flavor], epoch, got[i]);
}

/* A column of 4 x 4 ints on one side, every third int on the other. */
static void test_datatypes(struct window* w, int epoch) {
  const int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
  int matrix[16], back[16];
  MPI_Datatype column, thirds;
  MPI_Type_vector(4, 1, 4, MPI_INT, &column);
  MPI_Type_vector(4, 1, 3, MPI_INT, &thirds);
  MPI_Type_commit(&column);
  MPI_Type_commit(&thirds);
  for (int i = 0; i < 16; ++i) matrix[i] = 100 * check_rank + i, back[i] = -1;
  fill(w);
  begin(w, epoch, right);
  MPI_Put(matrix + 1, 1, column, right, at(w, right, 5), 1, thirds, w->win);
  MPI_Get(back + 2, 1, column, right, at(w, right, 30), 4, MPI_INT, w->win);
  MPI_Accumulate(matrix + 3, 1, column, right, at(w, right, 40), 1, thirds, MPI_SUM, w->win);
  end(w, epoch, right);
  MPI_Type_free(&column);
  MPI_Type_free(&thirds);
  for (int i = 0; i < 4; ++i) {
    CHECK(w->memory[5 + 3 * i] == 100 * left + 1 + 4 * i, "%s %d", flavor_names[w->flavor], epoch);
    CHECK(w->memory[40 + 3 * i] == 1000 * check_rank + 40 + 3 * i + 100 * left + 3 + 4 * i, "%s %d",
          flavor_names[w->flavor], epoch);
    CHECK(back[2 + 4 * i] == 1000 * right + 30 + i, "%s %d", flavor_names[w->flavor], epoch);
    CHECK(back[4 * i] == -1, "%s %d", flavor_names[w->flavor], epoch);
  }
  CHECK(w->memory[6] == 1000 * check_rank + 6, "%s %d", flavor_names[w->flavor], epoch);
}

/* All ranks work on rank 0. */
static void test_accumulates(struct window* w, int epoch) {
  const int one = 1, mine = check_rank + 1;
  int seen = -1, all[4] = {-1, -1, -1, -1}, swapped = -1, highest = -1;
  const int four[4] = {mine, mine, mine, mine};
  memset(w->memory, 0, kInts * sizeof(int));
  begin(w, epoch, 0);
  MPI_Accumulate(&mine, 1, MPI_INT, 0, at(w, 0, 0), 1, MPI_INT, MPI_SUM, w->win);
  MPI_Fetch_and_op(&one, &seen, MPI_INT, 0, at(w, 0, 1), MPI_SUM, w->win);
  MPI_Get_accumulate(four, 4, MPI_INT, all, 4, MPI_INT, 0, at(w, 0, 2), 4, MPI_INT, MPI_SUM, w->win);
  MPI_Accumulate(&mine, 1, MPI_INT, 0, at(w, 0, 6), 1, MPI_INT, MPI_MAX, w->win);
  MPI_Accumulate(&mine, 1, MPI_INT, 0, at(w, 0, 7 + check_rank), 1, MPI_INT, MPI_REPLACE, w->win);
  const int none = 0;
  MPI_Compare_and_swap(&mine, &none, &swapped, MPI_INT, 0, at(w, 0, 40), w->win);
  end(w, epoch, 0);
  CHECK(seen >= 0 && seen < check_size, "%d", seen);
  /* Elements are atomic, the whole is not: ranks may come in another order at each. */
  for (int i = 0; i < 4; ++i)
    CHECK(all[i] >= 0 && all[i] <= check_size * (check_size + 1) / 2 - mine, "%d", all[i]);
  if (check_rank == 0) {
    const int sum = check_size * (check_size + 1) / 2;
    CHECK(w->memory[0] == sum, "%s, epoch %d: %d", flavor_names[w->flavor], epoch, w->memory[0]);
    CHECK(w->memory[1] == check_size, "%d", w->memory[1]);
    for (int i = 2; i < 6; ++i) CHECK(w->memory[i] == sum, "%d", w->memory[i]);
    CHECK(w->memory[6] == check_size, "%d", w->memory[6]);
    for (int i = 0; i < check_size; ++i) CHECK(w->memory[7 + i] == i + 1, "%d", w->memory[7 + i]);
    CHECK(w->memory[40] >= 1 && w->memory[40] <= check_size, "%d", w->memory[40]);
  }
  begin(w, epoch, 0);
  MPI_Fetch_and_op(NULL, &highest, MPI_INT, 0, at(w, 0, 6), MPI_NO_OP, w->win);
  MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, all, 2, MPI_INT, 0, at(w, 0, 0), 2, MPI_INT, MPI_NO_OP,
                     w->win);
  end(w, epoch, 0);
  CHECK(highest == check_size && all[1] == check_size, "%d %d", highest, all[1]);
  /* exactly one has swapped */
  int winner = swapped == 0, winners = 0;
  MPI_Allreduce(&winner, &winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(winners == 1, "%d", winners);
}

static void test_requests(struct window* w) {
  const int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
  int given[2] = {7 + check_rank, 9 + check_rank}, got[2] = {0, 0}, before[2] = {0, 0}, sum[2] = {1, 1};
  MPI_Request requests[2];
  fill(w);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, w->win);
  MPI_Rput(given, 2, MPI_INT, right, at(w, right, 2), 2, MPI_INT, w->win, &requests[0]);
  MPI_Rget(got, 2, MPI_INT, right, at(w, right, 50), 2, MPI_INT, w->win, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(got[0] == 1000 * right + 50 && got[1] == got[0] + 1, "%d", got[0]);
  MPI_Win_flush(right, w->win);
  MPI_Raccumulate(sum, 2, MPI_INT, right, at(w, right, 2), 2, MPI_INT, MPI_SUM, w->win, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Win_flush_local(right, w->win);
  MPI_Rget_accumulate(sum, 2, MPI_INT, before, 2, MPI_INT, right, at(w, right, 2), 2, MPI_INT, MPI_PROD,
                      w->win, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  CHECK(before[0] == given[0] + 1 && before[1] == given[1] + 1, "%d %d", before[0], before[1]);
  MPI_Rput(given, 2, MPI_INT, MPI_PROC_NULL, 0, 2, MPI_INT, w->win, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Win_flush_all(w->win);
  MPI_Win_flush_local_all(w->win);
  MPI_Win_unlock_all(w->win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(w->memory[2] == 7 + left + 1, "%d", w->memory[2]);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  MPI_Comm_group(MPI_COMM_WORLD, &everybody);
  for (int flavor = 0; flavor < kFlavors; ++flavor) {
    if (flavor == 2 && !check_is_one_node()) continue;
    struct window w = make(flavor);
    for (int epoch = 0; epoch < 4; ++epoch) {
      test_put_and_get(&w, epoch);
      test_datatypes(&w, epoch);
      test_accumulates(&w, epoch);
    }
    test_requests(&w);
    unmake(&w);
  }
  MPI_Group_free(&everybody);
  return check_end();
}
