/* MPI_Comm_dup, idup and their forms: same group, own messages, attributes as their callbacks say, hints only
 * where given. */
#include <string.h>
#include <unistd.h>

#include "comm_check.h"

static int copies, deletes;

static int copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval;
  ++copies;
  *(void**)out = (char*)in + *(int*)extra;
  *flag = 1;
  return MPI_SUCCESS;
}

static int erase(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  ++deletes;
  return MPI_SUCCESS;
}

static int refuse(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
  return MPI_ERR_INTERN;
}

static void messages_stay_apart(MPI_Comm one, MPI_Comm two) {
  int rank, size, first = 1, second = 2, got = 0, other;
  MPI_Request requests[2];
  MPI_Comm_rank(one, &rank);
  MPI_Comm_size(one, &size);
  other = (rank + 1) % size;
  MPI_Isend(&first, 1, MPI_INT, other, 3, one, &requests[0]);
  MPI_Isend(&second, 1, MPI_INT, other, 3, two, &requests[1]);
  MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, two, MPI_STATUS_IGNORE);
  CHECK(got == 2, "a message of the original arrived on the duplicate");
  MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, one, MPI_STATUS_IGNORE);
  CHECK(got == 1, "a message of the duplicate arrived on the original");
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void dup_copies(void) {
  MPI_Comm parent, dup;
  int keyval, shift = 5, flag, how, length;
  char* value;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  MPI_Comm_set_name(parent, "parent");
  MPI_Comm_create_keyval(copy, erase, &keyval, &shift);
  MPI_Comm_set_attr(parent, keyval, (void*)10);
  MPI_Comm_dup(parent, &dup);
  CHECK(copies == 1, "%d copies", copies);
  MPI_Comm_get_attr(dup, keyval, &value, &flag);
  CHECK(flag && value == (char*)15, "flag %d", flag);
  MPI_Comm_compare(parent, dup, &how);
  CHECK(how == MPI_CONGRUENT, "%d", how);
  MPI_Comm_get_name(dup, name, &length);
  CHECK(length == 0, "the name was duplicated: %s", name);
  check_intra(dup, "dup");
  messages_stay_apart(parent, dup);
  MPI_Comm_free(&dup);
  CHECK(dup == MPI_COMM_NULL && deletes == 1, "%d deletes", deletes);
  MPI_Comm_free_keyval(&keyval);
  MPI_Comm_free(&parent);
  CHECK(deletes == 2, "%d deletes", deletes);
}

static void failing_callback_fails_dup(void) {
  MPI_Comm parent, dup = MPI_COMM_NULL;
  int keyval, error;
  MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Comm_set_attr(parent, keyval, NULL);
  error = MPI_Comm_dup(parent, &dup);
  CHECK(error == MPI_ERR_INTERN && dup == MPI_COMM_NULL, "error %d", error);
  MPI_Comm_delete_attr(parent, keyval);
  MPI_Comm_free_keyval(&keyval);
  MPI_Comm_dup(parent, &dup);
  check_intra(dup, "dup after a failed one");
  MPI_Comm_free(&dup);
  MPI_Comm_free(&parent);
}

static void hints_are_those_given(void) {
  MPI_Comm with, plain;
  MPI_Info info, used;
  int flag, length = 8;
  char value[8];
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Info_set(info, "nobody knows", "this");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &with);
  MPI_Comm_get_info(with, &used);
  MPI_Info_get_string(used, "mpi_assert_no_any_tag", &length, value, &flag);
  CHECK(flag && strcmp(value, "true") == 0, "flag %d", flag);
  MPI_Info_get_string(used, "nobody knows", &length, value, &flag);
  CHECK(!flag, "an unknown hint was kept");
  MPI_Info_free(&used);
  MPI_Comm_dup(with, &plain);
  MPI_Comm_get_info(plain, &used);
  MPI_Info_get_string(used, "mpi_assert_no_any_tag", &length, value, &flag);
  CHECK(!flag, "MPI_Comm_dup duplicated a hint");
  MPI_Info_free(&used);
  MPI_Info_free(&info);
  MPI_Comm_free(&plain);
  MPI_Comm_free(&with);
}

static void expect_hint(MPI_Comm* comm, const char* key, const char* wanted, const char* what) {
  char value[64] = "";
  int flag, length = sizeof value;
  MPI_Info used;
  MPI_Comm_get_info(*comm, &used);
  MPI_Info_get_string(used, key, &length, value, &flag);
  CHECK(flag && strcmp(value, wanted) == 0, "%s: %s is \"%s\", not \"%s\"", what, key, value, wanted);
  MPI_Info_free(&used);
  if (*comm != MPI_COMM_WORLD) MPI_Comm_free(comm);
}

/* Hints are given with each constructor that takes an info object (MPI 5.0, 7.4.4); and each communicator
 * says which memory it takes (11.4.3). */
static void each_constructor_takes_hints(void) {
  const char* key = "mpi_assert_no_any_source";
  const int me[] = {check_rank}, one[] = {1};
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Info info;
  expect_hint(&comm, "mpi_memory_alloc_kinds", "mpi,system", "MPI_COMM_WORLD");
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  expect_hint(&comm, "mpi_memory_alloc_kinds", "mpi,system", "MPI_Comm_dup");
  MPI_Info_create(&info);
  MPI_Info_set(info, key, "true");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, info, &comm);
  expect_hint(&comm, key, "true", "MPI_Comm_split_type");
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, me, MPI_UNWEIGHTED, 1, me, MPI_UNWEIGHTED, info, 0,
                                 &comm);
  expect_hint(&comm, key, "true", "MPI_Dist_graph_create_adjacent");
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, me, one, me, MPI_UNWEIGHTED, info, 0, &comm);
  expect_hint(&comm, key, "true", "MPI_Dist_graph_create");
  MPI_Info_free(&info);
}

static void many_idups_at_once(void) {
  enum { N = 20 };
  MPI_Comm dups[N];
  MPI_Request requests[N];
  int i;
  for (i = 0; i < N; ++i) MPI_Comm_idup(MPI_COMM_WORLD, &dups[i], &requests[i]);
  MPI_Barrier(MPI_COMM_WORLD); /* other collectives may run meanwhile */
  MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
  for (i = 0; i < N; ++i) check_intra(dups[i], "idup");
  for (i = 0; i + 1 < N; ++i) messages_stay_apart(dups[i], dups[i + 1]);
  for (i = 0; i < N; ++i) MPI_Comm_free(&dups[i]);
}

static void freed_while_messages_are_under_way(void) {
  MPI_Comm dup;
  MPI_Request requests[2];
  int rank, size, out, in = -1;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_rank(dup, &rank);
  MPI_Comm_size(dup, &size);
  out = rank;
  MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 1, dup, &requests[0]);
  MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, 1, dup, &requests[1]);
  MPI_Comm_free(&dup);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(in == (rank + size - 1) % size, "got %d", in);
}

/* The buffer of a communicator is the program's again when MPI_Comm_free returns. */
static void freed_with_a_buffer(void) {
  enum { kCount = 50000 };
  const int bytes = kCount * (int)sizeof(int) + MPI_BSEND_OVERHEAD;
  int *data = malloc(kCount * sizeof(int)), *got = malloc(kCount * sizeof(int)), i;
  void* memory = malloc((size_t)bytes);
  MPI_Request request;
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_attach_buffer(dup, memory, bytes);
  for (i = 0; i < kCount; ++i) data[i] = check_rank + i;
  MPI_Irecv(got, kCount, MPI_INT, (check_rank + check_size - 1) % check_size, 4, dup, &request);
  MPI_Bsend(data, kCount, MPI_INT, (check_rank + 1) % check_size, 4, dup);
  MPI_Comm_free(&dup);
  memset(memory, 0xff, (size_t)bytes);
  free(memory);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (i = 0; i < kCount; ++i)
    CHECK(got[i] == (check_rank + check_size - 1) % check_size + i, "element %d is %d", i, got[i]);
  free(data);
  free(got);
}

static void chains_and_many(void) {
  MPI_Comm chain[50];
  int i;
  MPI_Comm_dup(MPI_COMM_SELF, &chain[0]);
  check_intra(chain[0], "dup of self");
  MPI_Comm_free(&chain[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &chain[0]);
  for (i = 1; i < 50; ++i) MPI_Comm_dup(chain[i - 1], &chain[i]);
  for (i = 0; i < 49; ++i) MPI_Comm_free(&chain[i]);
  check_intra(chain[49], "end of a chain whose parents are gone");
  MPI_Comm_disconnect(&chain[49]);
  CHECK(chain[49] == MPI_COMM_NULL, "disconnect left the handle");
  for (i = 0; i < 3000; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &chain[0]);
    MPI_Comm_free(&chain[0]);
  }
}

/* What has no request any more is over when MPI_Comm_disconnect returns (MPI 5.0, 11.10.4). */
static void disconnect_waits(int ints) {
  const int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
  int* const out = malloc((size_t)ints * sizeof *out);
  int* const in = malloc((size_t)ints * sizeof *in);
  MPI_Comm comm;
  MPI_Request request;
  for (int i = 0; i < ints; ++i) out[i] = check_rank + i, in[i] = -1;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Irecv(in, ints, MPI_INT, from, 0, comm, &request);
  MPI_Request_free(&request);
  if (check_rank == 0) usleep(20000);
  MPI_Isend(out, ints, MPI_INT, to, 0, comm, &request);
  MPI_Request_free(&request);
  MPI_Comm_disconnect(&comm);
  for (int i = 0; i < ints; ++i) CHECK(in[i] == from + i, "of %d: [%d] is %d", ints, i, in[i]);
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  dup_copies();
  failing_callback_fails_dup();
  hints_are_those_given();
  each_constructor_takes_hints();
  many_idups_at_once();
  freed_while_messages_are_under_way();
  freed_with_a_buffer();
  chains_and_many();
  for (int ints = 1; ints <= 1 << 18; ints <<= 6) disconnect_waits(ints);
  return check_end();
}
