/* Collectives of an inter-communicator: the first third of the ranks on one side, the others on the other.
 * ranks: 2 3 4 7 8 */
#include "coll_check.h"

static MPI_Comm inter, local;
static int side, rank, size, remote; /* side 0 holds the low world ranks */

static int world_of(int group, int r) { return group == 0 ? r : r + (side == 0 ? size : remote); }

static void make_inter(void) {
  const int split = check_size < 3 ? 1 : check_size / 3;
  side = check_rank < split ? 0 : 1;
  MPI_Comm_split(MPI_COMM_WORLD, side, check_rank, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side == 0 ? split : 0, 3, &inter);
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_size(inter, &size);
  MPI_Comm_remote_size(inter, &remote);
}

/* What this rank names as root when `root` of group `group` is it. */
static int root_of(int group, int root) {
  if (group != side) return root;
  return rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

static void check_rooted(int mode, int count, int group, int root) {
  const int named = root_of(group, root), sends = group != side, is_root = named == MPI_ROOT;
  const int world = check_rank, root_world = world_of(group, root);
  int *mine = malloc(((size_t)count + 1) * sizeof(int)),
      *all = malloc(((size_t)(count * remote) + 1) * sizeof(int));
  MPI_Request request;
  for (int i = 0; i < count; ++i) mine[i] = is_root ? token(root_world, 0, i) : UNSET;
  if (mode == NOW) MPI_Bcast(mine, count, MPI_INT, named, inter);
  if (mode == LATER) MPI_Ibcast(mine, count, MPI_INT, named, inter, &request);
  if (mode == AGAIN) MPI_Bcast_init(mine, count, MPI_INT, named, inter, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < count; ++i)
    CHECK(mine[i] == (sends || is_root ? token(root_world, 0, i) : UNSET), "bcast: element %d", i);

  for (int i = 0; i < count; ++i) mine[i] = token(world, root, i);
  if (mode == NOW) MPI_Gather(mine, count, MPI_INT, all, count, MPI_INT, named, inter);
  if (mode == LATER) MPI_Igather(mine, count, MPI_INT, all, count, MPI_INT, named, inter, &request);
  if (mode == AGAIN)
    MPI_Gather_init(mine, count, MPI_INT, all, count, MPI_INT, named, inter, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < count * remote && is_root; ++i) {
    CHECK(all[i] == token(world_of(!side, i / count), root, i % count), "gather: element %d", i);
    all[i] = token(world, i / count, i % count);
  }
  if (mode == NOW) MPI_Scatter(all, count, MPI_INT, mine, count, MPI_INT, named, inter);
  if (mode == LATER) MPI_Iscatter(all, count, MPI_INT, mine, count, MPI_INT, named, inter, &request);
  if (mode == AGAIN)
    MPI_Scatter_init(all, count, MPI_INT, mine, count, MPI_INT, named, inter, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < count && sends; ++i)
    CHECK(mine[i] == token(root_world, rank, i), "scatter: element %d", i);

  int* result = malloc(((size_t)count + 1) * sizeof(int));
  for (int i = 0; i < count; ++i) mine[i] = world * 10 + i;
  if (mode == NOW) MPI_Reduce(mine, result, count, MPI_INT, MPI_SUM, named, inter);
  if (mode == LATER) MPI_Ireduce(mine, result, count, MPI_INT, MPI_SUM, named, inter, &request);
  if (mode == AGAIN)
    MPI_Reduce_init(mine, result, count, MPI_INT, MPI_SUM, named, inter, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < count && is_root; ++i) {
    int sum = 0;
    for (int r = 0; r < remote; ++r) sum += world_of(!side, r) * 10 + i;
    CHECK(result[i] == sum, "reduce: element %d", i);
  }
  free(mine);
  free(all);
  free(result);
}

static void check_all(int mode, int count) {
  const size_t room = (size_t)count * (size_t)(size > remote ? size : remote) + 1;
  int *out = malloc(room * sizeof(int)), *in = malloc(room * sizeof(int));
  MPI_Request request;
  for (int i = 0; i < count; ++i) out[i] = token(check_rank, 0, i);
  if (mode == NOW) MPI_Allgather(out, count, MPI_INT, in, count, MPI_INT, inter);
  if (mode == LATER) MPI_Iallgather(out, count, MPI_INT, in, count, MPI_INT, inter, &request);
  if (mode == AGAIN)
    MPI_Allgather_init(out, count, MPI_INT, in, count, MPI_INT, inter, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < count * remote; ++i)
    CHECK(in[i] == token(world_of(!side, i / count), 0, i % count), "allgather: element %d", i);

  for (int i = 0; i < count * remote; ++i) out[i] = token(check_rank, i / count, i % count);
  if (mode == NOW) MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, inter);
  if (mode == LATER) MPI_Ialltoall(out, count, MPI_INT, in, count, MPI_INT, inter, &request);
  if (mode == AGAIN)
    MPI_Alltoall_init(out, count, MPI_INT, in, count, MPI_INT, inter, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < count * remote; ++i)
    CHECK(in[i] == token(world_of(!side, i / count), rank, i % count), "alltoall: element %d", i);

  for (int i = 0; i < count; ++i) out[i] = check_rank * 10 + i;
  if (mode == NOW) MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, inter);
  if (mode == LATER) MPI_Iallreduce(out, in, count, MPI_INT, MPI_SUM, inter, &request);
  if (mode == AGAIN) MPI_Allreduce_init(out, in, count, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < count; ++i) {
    int sum = 0;
    for (int r = 0; r < remote; ++r) sum += world_of(!side, r) * 10 + i;
    CHECK(in[i] == sum, "allreduce: element %d", i);
  }
  if (mode == NOW) MPI_Barrier(inter);
  if (mode == LATER) MPI_Ibarrier(inter, &request);
  if (mode == AGAIN) MPI_Barrier_init(inter, MPI_INFO_NULL, &request);
  finish(mode, &request);
  free(out);
  free(in);
}

/* Both groups give size * remote elements: `remote` for every rank of the own group. */
static void check_reduce_scatter(int mode) {
  int *out = malloc((size_t)(size * remote) * sizeof(int)), *in = malloc((size_t)remote * sizeof(int));
  MPI_Request request;
  for (int i = 0; i < size * remote; ++i) out[i] = check_rank * 10 + i;
  if (mode == NOW) MPI_Reduce_scatter_block(out, in, remote, MPI_INT, MPI_SUM, inter);
  if (mode == LATER) MPI_Ireduce_scatter_block(out, in, remote, MPI_INT, MPI_SUM, inter, &request);
  if (mode == AGAIN)
    MPI_Reduce_scatter_block_init(out, in, remote, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < remote; ++i) {
    int sum = 0;
    for (int r = 0; r < remote; ++r) sum += world_of(!side, r) * 10 + rank * remote + i;
    CHECK(in[i] == sum, "reduce_scatter_block: element %d", i);
  }
  free(out);
  free(in);
}

/* The ranks of two groups have no order. */
static void check_scan(void) {
  int out = 1, in = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  const int codes[] = {
      MPI_Scan(&out, &in, 1, MPI_INT, MPI_SUM, inter),
      MPI_Exscan(&out, &in, 1, MPI_INT, MPI_SUM, inter),
      MPI_Iscan(&out, &in, 1, MPI_INT, MPI_SUM, inter, &request),
      MPI_Iexscan(&out, &in, 1, MPI_INT, MPI_SUM, inter, &request),
      MPI_Scan_init(&out, &in, 1, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &request),
      MPI_Exscan_init(&out, &in, 1, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &request),
  };
  for (int i = 0; i < 6; ++i) CHECK(codes[i] == MPI_ERR_COMM, "call %d: code %d", i, codes[i]);
  CHECK(in == -1 && request == MPI_REQUEST_NULL, "something was done: %d", in);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  make_inter();
  check_scan();
  for (int mode = 0; mode < MODES; ++mode)
    for (int count = 0; count < 3000; count = count * 11 + 2) {
      for (int group = 0; group < 2; ++group)
        for (int root = 0; root < (group == side ? size : remote); ++root)
          check_rooted(mode, count, group, root);
      check_all(mode, count);
      check_reduce_scatter(mode);
    }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
  return check_end();
}
