/* Wrong uses of windows: each is an error of its class, leaves the memory as it was, and the epoch goes on.
 * ranks: 1 2
 * variants: none */
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { kLongs = 8 };
static long memory[kLongs], own[2 * kLongs], got[2 * kLongs];

#define EXPECT(class_wanted, call)                                             \
  do {                                                                         \
    const int error_ = (call);                                                 \
    int class_;                                                                \
    MPI_Error_class(error_, &class_);                                          \
    CHECK(class_ == (class_wanted), "class %d, not %d", class_, class_wanted); \
  } while (0)
#define SYNC(call) EXPECT(MPI_ERR_RMA_SYNC, call)

static void epochs(MPI_Win win, MPI_Group all) {
  MPI_Request request;
  int flag;
  SYNC(MPI_Put(own, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
  SYNC(MPI_Win_flush(0, win));
  SYNC(MPI_Win_flush_local_all(win));
  SYNC(MPI_Win_unlock(0, win));
  SYNC(MPI_Win_unlock_all(win));
  SYNC(MPI_Win_complete(win));
  SYNC(MPI_Win_wait(win));
  SYNC(MPI_Win_test(win, &flag));
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  SYNC(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  SYNC(MPI_Win_lock_all(0, win));
  SYNC(MPI_Win_unlock_all(win));
  SYNC(MPI_Win_fence(0, win));
  SYNC(MPI_Win_start(all, 0, win));
  SYNC(MPI_Win_free(&win));
  MPI_Win_unlock(0, win);
  MPI_Win_fence(0, win);
  SYNC(MPI_Win_flush(0, win));
  SYNC(MPI_Rput(own, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win, &request));
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  SYNC(MPI_Put(own, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
  MPI_Win_post(all, 0, win);
  SYNC(MPI_Win_post(all, 0, win));
  SYNC(MPI_Win_fence(0, win));
  SYNC(MPI_Win_free(&win));
  MPI_Win_start(all, 0, win);
  SYNC(MPI_Win_start(all, 0, win));
  SYNC(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  SYNC(MPI_Win_flush(0, win));
  SYNC(MPI_Rget(got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win, &request));
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
  SYNC(MPI_Put(own, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
  MPI_Win_complete(win);
  const int unknown = 1 << 28;
  EXPECT(MPI_ERR_ASSERT, MPI_Win_fence(unknown, win));
  EXPECT(MPI_ERR_ASSERT, MPI_Win_post(all, unknown, win));
  EXPECT(MPI_ERR_ASSERT, MPI_Win_start(all, unknown, win));
  EXPECT(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, 0, unknown, win));
  EXPECT(MPI_ERR_ASSERT, MPI_Win_lock_all(unknown, win));
}

/* Extents whose product with the count wraps would lie inside the window again. */
static void reaches(MPI_Win win) {
  const MPI_Count counts[] = {2, 8, (1 << 24) + 1, (1 << 25) + 1};
  const MPI_Aint far = (MPI_Aint)1 << 40, extents[] = {far, -far, far << 10, -(far << 10)};
  char byte = 1;
  for (int e = 0; e < 4; ++e) {
    MPI_Datatype type;
    MPI_Type_create_resized(MPI_CHAR, 0, extents[e], &type);
    MPI_Type_commit(&type);
    for (int c = 0; c < 4; ++c) {
      EXPECT(MPI_ERR_RMA_RANGE, MPI_Put_c(own, 2, MPI_CHAR, 0, 0, counts[c], type, win));
      EXPECT(MPI_ERR_RMA_RANGE, MPI_Get_c(got, 2, MPI_CHAR, 0, 0, counts[c], type, win));
      EXPECT(MPI_ERR_RMA_RANGE, MPI_Accumulate_c(&byte, 1, MPI_CHAR, 0, 0, counts[c], type, MPI_BOR, win));
    }
    MPI_Type_free(&type);
  }
  const MPI_Aint displacements[] = {-1, kLongs, INT64_MAX, INT64_MAX / 8, INT64_MIN, INT64_MIN / 8};
  for (int i = 0; i < 6; ++i) {
    EXPECT(MPI_ERR_RMA_RANGE, MPI_Put(own, 1, MPI_LONG, 0, displacements[i], 1, MPI_LONG, win));
    EXPECT(MPI_ERR_RMA_RANGE, MPI_Fetch_and_op(own, got, MPI_LONG, 0, displacements[i], MPI_SUM, win));
  }
  EXPECT(MPI_ERR_TRUNCATE, MPI_Put(own, 2, MPI_LONG, 0, 0, 1, MPI_LONG, win));
}

static void no_function(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
}

static void accumulates(MPI_Win win) {
  MPI_Datatype two;
  MPI_Op user;
  MPI_Type_contiguous(2, MPI_LONG, &two);
  MPI_Type_commit(&two);
  MPI_Op_create(no_function, 1, &user);
  EXPECT(MPI_ERR_OP, MPI_Accumulate(own, 1, MPI_LONG, 0, 0, 1, MPI_LONG, user, win));
  EXPECT(MPI_ERR_OP, MPI_Accumulate(own, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_NO_OP, win));
  EXPECT(MPI_ERR_OP, MPI_Accumulate(own, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_MINLOC, win));
  EXPECT(MPI_ERR_OP, MPI_Accumulate(own, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_BXOR, win));
  EXPECT(MPI_ERR_TYPE, MPI_Accumulate(own, 1, MPI_DOUBLE, 0, 0, 1, MPI_LONG, MPI_SUM, win));
  EXPECT(MPI_ERR_TYPE, MPI_Fetch_and_op(own, got, two, 0, 0, MPI_SUM, win));
  EXPECT(MPI_ERR_TYPE, MPI_Compare_and_swap(own, own, got, two, 0, 0, win));
  MPI_Op_free(&user);
  MPI_Type_free(&two);
}

static void making(void) {
  MPI_Win win;
  void* base;
  const MPI_Comm self = MPI_COMM_SELF;
  void* const last = (void*)(uintptr_t)-16;
  EXPECT(MPI_ERR_SIZE, MPI_Win_create(own, -1, 1, MPI_INFO_NULL, self, &win));
  EXPECT(MPI_ERR_DISP, MPI_Win_create(own, 8, 0, MPI_INFO_NULL, self, &win));
  EXPECT(MPI_ERR_BASE, MPI_Win_create(last, 64, 1, MPI_INFO_NULL, self, &win));
  EXPECT(MPI_ERR_NO_MEM, MPI_Win_allocate_c(INT64_MAX, 1, MPI_INFO_NULL, self, &base, &win));
  EXPECT(MPI_ERR_DISP, MPI_Win_allocate_c(8, (MPI_Aint)1 << 40, MPI_INFO_NULL, self, &base, &win));
  if (check_size == 1) return;
  MPI_Comm half, both;
  MPI_Comm_split(MPI_COMM_WORLD, check_rank == 0, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, check_rank == 0, 0, &both);
  MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
  EXPECT(MPI_ERR_COMM, MPI_Win_create(own, 8, 1, MPI_INFO_NULL, both, &win));
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  memset(own, 1, sizeof own);
  making();
  MPI_Win win;
  MPI_Group all;
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_get_group(win, &all);
  epochs(win, all);
  MPI_Win_lock_all(0, win);
  reaches(win);
  accumulates(win);
  MPI_Win_unlock_all(win);
  for (int i = 0; i < kLongs; ++i) CHECK(memory[i] == 0, "%d: %lx", i, (unsigned long)memory[i]);
  MPI_Group_free(&all);
  MPI_Win_free(&win);
  return check_end();
}
