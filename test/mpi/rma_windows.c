/* What windows are: attributes, names, info keys, groups, error handlers, shared memory, dynamic memory,
 * windows without memory, over other communicators, several at once; and what is said of mistakes. */
#include <stdint.h>
#include <string.h>

#include "check.h"

static void expect(int code, int class_wanted, int line) {
  int class_found;
  MPI_Error_class(code, &class_found);
  if (class_found == class_wanted) return;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "line %d: error class %d instead of %d: %s\n", line, class_found, class_wanted, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define EXPECT(call, error_class) expect(call, error_class, __LINE__)

static void check_attributes(MPI_Win win, void* base, MPI_Aint size, int unit, int flavor) {
  void* value;
  int flag;
  MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag);
  CHECK(flag && value == base, "%p %p", value, base);
  MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag);
  CHECK(flag && *(MPI_Aint*)value == size, "%ld", (long)*(MPI_Aint*)value);
  MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag);
  CHECK(flag && *(int*)value == unit, "%d", *(int*)value);
  MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag);
  CHECK(flag && *(int*)value == flavor, "%d", *(int*)value);
  MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag);
  CHECK(flag && *(int*)value == MPI_WIN_UNIFIED, "%d", *(int*)value);
}

static int deleted;
static int on_delete(MPI_Win win, int keyval, void* value, void* extra) {
  (void)win, (void)keyval, (void)extra;
  deleted += *(int*)value;
  return MPI_SUCCESS;
}

static int handled;
static void on_error(MPI_Win* win, int* code, ...) {
  CHECK(*win != MPI_WIN_NULL, " ");
  MPI_Error_class(*code, &handled);
}

static void test_objects(void) {
  int memory[4] = {0}, key, flag, five = 5, length;
  char name[MPI_MAX_OBJECT_NAME];
  void* value;
  MPI_Win win;
  MPI_Info info;
  MPI_Group group, world;
  MPI_Errhandler handler, current;
  MPI_Info_create(&info);
  MPI_Info_set(info, "no_locks", "true");
  MPI_Info_set(info, "unknown", "x");
  MPI_Win_create(memory, sizeof memory, 4, info, MPI_COMM_WORLD, &win);
  MPI_Info_free(&info);
  check_attributes(win, memory, sizeof memory, 4, MPI_WIN_FLAVOR_CREATE);

  MPI_Win_get_info(win, &info);
  MPI_Info_get(info, "no_locks", 10, name, &flag);
  CHECK(flag && strcmp(name, "true") == 0, "%s", name);
  MPI_Info_get(info, "unknown", 10, name, &flag);
  CHECK(!flag, " ");
  MPI_Info_get(info, "mpi_memory_alloc_kinds", 10, name, &flag);
  CHECK(flag && strcmp(name, "mpi,system") == 0, "flag %d: %s", flag, name);
  MPI_Info_get(info, "same_size", 10, name, &flag);
  CHECK(flag && strcmp(name, "false") == 0, "presets are shown, too");
  MPI_Info_free(&info);

  MPI_Info_create(&info);
  MPI_Info_set(info, "accumulate_ordering", "none");
  MPI_Win_set_info(win, info);
  MPI_Info_free(&info);
  MPI_Win_get_info(win, &info);
  MPI_Info_get(info, "accumulate_ordering", 10, name, &flag);
  CHECK(flag && strcmp(name, "none") == 0, "%s", name);
  MPI_Info_get(info, "no_locks", 10, name, &flag);
  CHECK(flag && strcmp(name, "true") == 0, "what was not named is as before");
  MPI_Info_free(&info);

  MPI_Win_get_name(win, name, &length);
  CHECK(length == 0, "%s", name);
  MPI_Win_set_name(win, "a window");
  MPI_Win_get_name(win, name, &length);
  CHECK(strcmp(name, "a window") == 0, "%s", name);

  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &key, NULL);
  MPI_Win_set_attr(win, key, &five);
  MPI_Win_get_attr(win, key, &value, &flag);
  CHECK(flag && value == &five, " ");
  MPI_Win_delete_attr(win, key);
  CHECK(deleted == 5, "%d", deleted);
  MPI_Win_get_attr(win, key, &value, &flag);
  CHECK(!flag, " ");
  MPI_Win_set_attr(win, key, &five);
  MPI_Win_free_keyval(&key);

  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Win_get_group(win, &group);
  MPI_Group_compare(group, world, &flag);
  CHECK(flag == MPI_IDENT, "%d", flag);
  MPI_Group_free(&group);
  MPI_Group_free(&world);

  MPI_Win_get_errhandler(win, &current);
  CHECK(current == MPI_ERRORS_ARE_FATAL, " ");
  MPI_Errhandler_free(&current);
  MPI_Win_create_errhandler(on_error, &handler);
  MPI_Win_set_errhandler(win, handler);
  MPI_Errhandler_free(&handler);
  MPI_Put(memory, 1, MPI_INT, check_size, 0, 1, MPI_INT, win);
  CHECK(handled == MPI_ERR_RANK, "%d", handled);
  MPI_Win_call_errhandler(win, MPI_ERR_BASE);
  CHECK(handled == MPI_ERR_BASE, "%d", handled);
  CHECK(MPI_Win_f2c(MPI_Win_c2f(win)) == win, " ");
  CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL, " ");
  MPI_Win_free(&win);
  CHECK(deleted == 10, "%d", deleted);
}

static void test_mistakes(void) {
  int memory[4] = {0}, value = 1;
  MPI_Win win, made = MPI_WIN_NULL;
  MPI_Group group;
  MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  EXPECT(MPI_Win_create(memory, -1, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &made), MPI_ERR_SIZE);
  EXPECT(MPI_Win_create(memory, 4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &made), MPI_ERR_DISP);
  EXPECT(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
  EXPECT(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
  EXPECT(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
  EXPECT(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
  EXPECT(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
  EXPECT(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC);
  EXPECT(MPI_Win_lock(99, 0, 0, win), MPI_ERR_LOCKTYPE);
  EXPECT(MPI_Win_attach(win, memory, 4), MPI_ERR_RMA_FLAVOR);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  EXPECT(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
  EXPECT(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
  EXPECT(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
  EXPECT(MPI_Win_start(group, 0, win), MPI_ERR_RMA_SYNC);
  EXPECT(MPI_Put(&value, 1, MPI_INT, 0, 4, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
  EXPECT(MPI_Put(&value, 1, MPI_INT, 0, -1, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
  EXPECT(MPI_Put(memory, 2, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_TRUNCATE);
  EXPECT(MPI_Accumulate(&value, 1, MPI_FLOAT, 0, 0, 1, MPI_FLOAT, MPI_BAND, win), MPI_ERR_OP);
  EXPECT(MPI_Put(&value, -1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
  EXPECT(MPI_Put(NULL, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_BUFFER);
  EXPECT(MPI_Put(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
  EXPECT(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL), MPI_ERR_WIN);
  MPI_Win_unlock(0, win);
  MPI_Barrier(MPI_COMM_WORLD); /* nobody still holds rank 0 */
  MPI_Group_free(&group);
  MPI_Win_free(&win);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void test_shared(void) {
  MPI_Win win;
  MPI_Aint size;
  int unit, *mine, *first, *each;
  const int ints = 3 + check_rank; /* every rank another size */
  MPI_Win_allocate_shared(ints * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine,
                          &win);
  check_attributes(win, mine, ints * (MPI_Aint)sizeof(int), sizeof(int), MPI_WIN_FLAVOR_SHARED);
  for (int i = 0; i < ints; ++i) CHECK(mine[i] == 0, "%d", mine[i]);
  for (int i = 0; i < ints; ++i) mine[i] = 100 * check_rank + i;
  MPI_Win_fence(0, win);
  MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &first);
  int* next = first;
  for (int rank = 0; rank < check_size; ++rank) {
    MPI_Win_shared_query(win, rank, &size, &unit, &each);
    CHECK(size == (3 + rank) * (MPI_Aint)sizeof(int) && unit == sizeof(int), "%ld", (long)size);
    CHECK(each == next, "not behind the rank before");
    for (int i = 0; i < 3 + rank; ++i) CHECK(each[i] == 100 * rank + i, "%d", each[i]);
    next = each + 3 + rank;
  }
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);

  /* only the last rank has memory, which is large */
  const MPI_Aint large = check_rank == check_size - 1 ? 5 << 20 : 0;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", "true");
  MPI_Win_allocate_shared(large, 1, info, MPI_COMM_WORLD, &mine, &win);
  MPI_Info_free(&info);
  MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &first);
  CHECK(size == 5 << 20, "%ld", (long)size);
  MPI_Win_lock_all(0, win);
  first[1000 + check_rank] = check_rank;
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(win);
  for (int rank = 0; rank < check_size; ++rank) CHECK(first[1000 + rank] == rank, "%d", first[1000 + rank]);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/* Windows that MPI_Win_allocate_shared has not made: what lies in shared memory for good is given out, one's
 * own memory always. */
static void test_queries(void) {
  const MPI_Aint bytes = 8 * (1 + check_rank);
  char *memory, *there, own[64 * 8 + 8];
  MPI_Aint size;
  int unit, class;
  MPI_Win win;
  MPI_Win_allocate(bytes, 2, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  *memory = (char)(check_rank + 1);
  MPI_Win_fence(0, win);
  for (int rank = 0; rank < check_size && check_is_one_node(); ++rank) {
    MPI_Win_shared_query(win, rank, &size, &unit, &there);
    CHECK(size == 8 * (1 + rank) && unit == 2, "%ld bytes, unit %d", (long)size, unit);
    CHECK(*there == rank + 1, "%d", *there);
  }
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  MPI_Win_create(own, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for (int rank = 0; rank < check_size; ++rank) {
    MPI_Win_shared_query(win, rank, &size, &unit, &there);
    CHECK(rank == check_rank ? size == bytes && there == own : size == 0 && !there, "rank %d: %ld bytes",
          rank, (long)size);
  }
  MPI_Win_free(&win);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Error_class(MPI_Win_shared_query(win, 0, &size, &unit, &there), &class);
  CHECK(class == MPI_ERR_RMA_FLAVOR, "%d", class);
  MPI_Win_free(&win);
}

static void test_empty_and_several(void) {
  MPI_Win none, wins[5];
  MPI_Comm half;
  int *memory[5], mine[4] = {check_rank, check_rank, check_rank, check_rank}, value = -1;
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &none);
  MPI_Win_fence(0, none);
  MPI_Put(NULL, 0, MPI_INT, 0, 0, 0, MPI_INT, none);
  MPI_Win_fence(0, none);
  MPI_Win_free(&none);
  /* overlapping windows, and one of a communicator with other ranks */
  MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &half);
  for (int i = 0; i < 3; ++i) MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory[i], &wins[i]);
  MPI_Win_create(mine, sizeof mine, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[3]);
  MPI_Win_create(mine + 1, 2 * sizeof(int), 4, MPI_INFO_NULL, half, &wins[4]);
  MPI_Comm_free(&half);
  MPI_Win_fence(0, wins[4]);
  MPI_Get(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, wins[4]); /* rank 0 of it: the highest rank of my parity */
  MPI_Win_fence(0, wins[4]);
  int highest = check_size - 1;
  if (highest % 2 != check_rank % 2) --highest;
  CHECK(value == highest, "%d, not %d", value, highest);
  for (int i = 4; i >= 0; --i) MPI_Win_free(&wins[i]);
}

static void test_dynamic(void) {
  MPI_Win win;
  static int in_static[30000];
  int on_stack[4] = {0}, value = check_rank + 1, got = 0;
  char* on_heap = malloc(1 << 20);
  MPI_Aint mine[3], theirs[3];
  const int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  check_attributes(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_attach(win, in_static, sizeof in_static);
  MPI_Win_attach(win, on_stack, sizeof on_stack);
  MPI_Win_attach(win, on_heap, 1 << 20);
  EXPECT(MPI_Win_attach(win, on_heap + 100, 50), MPI_ERR_RMA_ATTACH);
  EXPECT(MPI_Win_detach(win, on_heap + 100), MPI_ERR_BASE);
  MPI_Get_address(&in_static[20000], &mine[0]);
  MPI_Get_address(&on_stack[2], &mine[1]);
  MPI_Get_address(on_heap + 400000, &mine[2]);
  MPI_Sendrecv(mine, 3, MPI_AINT, left, 0, theirs, 3, MPI_AINT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int turn = 0; turn < 3; ++turn) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    MPI_Put(&value, 1, MPI_INT, right, theirs[turn], 1, MPI_INT, win);
    MPI_Win_flush(right, win);
    MPI_Accumulate(&value, 1, MPI_INT, right, theirs[turn], 1, MPI_INT, MPI_SUM, win);
    MPI_Get_accumulate(NULL, 0, MPI_INT, &got, 1, MPI_INT, right, theirs[turn], 1, MPI_INT, MPI_NO_OP, win);
    MPI_Win_unlock(right, win);
    CHECK(got == 2 * value, "%d: %d", turn, got);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(in_static[20000] == 2 * (left + 1), "%d", in_static[20000]);
  CHECK(on_stack[2] == 2 * (left + 1), "%d", on_stack[2]);
  CHECK(*(int*)(void*)(on_heap + 400000) == 2 * (left + 1), " ");
  MPI_Win_detach(win, on_heap);
  MPI_Win_detach(win, in_static);
  MPI_Win_detach(win, on_stack);
  MPI_Win_free(&win);
  free(on_heap);
}

/* Of the mapping around an address: what the kernel maps by huge pages. */
static long huge_kb_at(const void* address) {
  FILE* maps = fopen("/proc/self/smaps", "r");
  char line[512];
  long found = 0, kb;
  int is_there = 0;
  while (maps && fgets(line, sizeof line, maps)) {
    unsigned long begin, end;
    if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
      is_there = begin <= (uintptr_t)address && (uintptr_t)address < end;
    if (is_there && sscanf(line, "ShmemPmdMapped: %ld kB", &kb) == 1) found = kb;
  }
  if (maps) fclose(maps);
  return found;
}

/* Where the heap's large blocks have huge pages, windows have, too. */
static void test_huge_pages(void) {
  enum { kBytes = 4 << 20 };
  char *block, *memory;
  MPI_Win win;
  MPI_Alloc_mem(kBytes, MPI_INFO_NULL, &block);
  MPI_Win_allocate(kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memset(block, 1, kBytes);
  memset(memory, 1, kBytes);
  CHECK(huge_kb_at(memory) >= kBytes >> 10 || huge_kb_at(block) == 0,
        "%ld KiB of the window, %ld of the heap", huge_kb_at(memory), huge_kb_at(block));
  MPI_Free_mem(block);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  test_objects();
  test_mistakes();
  if (check_is_one_node()) test_shared();
  test_queries();
  test_empty_and_several();
  test_huge_pages();
  test_dynamic();
  return check_end();
}
