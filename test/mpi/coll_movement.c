/* Barrier, bcast, gather(v), scatter(v), allgather(v), alltoall(v, w): every root, several sizes, in place,
 * blocking, nonblocking and persistent, with a contiguous and a gappy datatype.  Results are computed by
 * every rank itself. */
#include "coll_check.h"

static const int kCounts[] = {0, 1, 7, 300, 5000};
enum { COUNTS = 5 };
static MPI_Datatype types[2];

static void check_bcast(int mode, int count, MPI_Datatype type, int root) {
  Data data = make_data(count, type);
  MPI_Request request;
  for (int i = 0; i < count && check_rank == root; ++i) set(data, i, token(root, 0, i));
  if (mode == NOW) MPI_Bcast(data.at, count, type, root, MPI_COMM_WORLD);
  if (mode == LATER) MPI_Ibcast(data.at, count, type, root, MPI_COMM_WORLD, &request);
  if (mode == AGAIN) MPI_Bcast_init(data.at, count, type, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < count; ++i)
    CHECK(get(data, i) == token(root, 0, i), "bcast of %d from %d: element %d", count, root, i);
  drop_data(data);
}

static void check_gather(int mode, int count, MPI_Datatype type, int root, int in_place) {
  Data mine = make_data(count, MPI_INT), all = make_data(check_rank == root ? count * check_size : 0, type);
  const int bare = in_place && check_rank == root;
  const void* send = bare ? MPI_IN_PLACE : mine.at;
  MPI_Request request;
  for (int i = 0; i < count; ++i) set(mine, i, token(check_rank, root, i));
  for (int i = 0; i < count && bare; ++i) set(all, root * count + i, token(root, root, i));
  if (mode == NOW) MPI_Gather(send, count, MPI_INT, all.at, count, type, root, MPI_COMM_WORLD);
  if (mode == LATER) MPI_Igather(send, count, MPI_INT, all.at, count, type, root, MPI_COMM_WORLD, &request);
  if (mode == AGAIN)
    MPI_Gather_init(send, count, MPI_INT, all.at, count, type, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < all.count; ++i)
    CHECK(get(all, i) == token(i / count, root, i % count), "gather of %d at %d: element %d", count, root, i);
  drop_data(mine);
  drop_data(all);
}

static void check_scatter(int mode, int count, MPI_Datatype type, int root, int in_place) {
  Data mine = make_data(count, MPI_INT), all = make_data(check_rank == root ? count * check_size : 0, type);
  const int bare = in_place && check_rank == root;
  void* recv = bare ? MPI_IN_PLACE : mine.at;
  MPI_Request request;
  for (int i = 0; i < all.count; ++i) set(all, i, token(root, i / count, i % count));
  if (mode == NOW) MPI_Scatter(all.at, count, type, recv, count, MPI_INT, root, MPI_COMM_WORLD);
  if (mode == LATER) MPI_Iscatter(all.at, count, type, recv, count, MPI_INT, root, MPI_COMM_WORLD, &request);
  if (mode == AGAIN)
    MPI_Scatter_init(all.at, count, type, recv, count, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &request);
  finish(mode, &request);
  for (int i = 0; i < count && !bare; ++i)
    CHECK(get(mine, i) == token(root, check_rank, i), "scatter of %d from %d: element %d", count, root, i);
  drop_data(mine);
  drop_data(all);
}

/* Rank r has r % 3 * count + r elements; places are in reverse order with one element between them. */
static int varied(int rank, int count) { return rank % 3 * count + rank; }

static int* counts_of(int count) {
  int* counts = malloc((size_t)check_size * sizeof(int));
  for (int i = 0; i < check_size; ++i) counts[i] = varied(i, count);
  return counts;
}

static int* places_of(const int* counts, int* total) {
  int* places = malloc((size_t)check_size * sizeof(int));
  *total = 0;
  for (int i = check_size - 1; i >= 0; --i) {
    places[i] = *total;
    *total += counts[i] + 1;
  }
  return places;
}

static void check_gatherv(int mode, int count, MPI_Datatype type, int root) {
  int total, *counts = counts_of(count), *places = places_of(counts, &total);
  const int is_root = check_rank == root, own = counts[check_rank];
  Data mine = make_data(own, type), all = make_data(is_root ? total : 0, type), back = make_data(own, type);
  MPI_Request request;
  const int *c = is_root ? counts : NULL, *p = is_root ? places : NULL;
  for (int i = 0; i < own; ++i) set(mine, i, token(check_rank, root, i));
  if (mode == NOW) MPI_Gatherv(mine.at, own, type, all.at, c, p, type, root, MPI_COMM_WORLD);
  if (mode == LATER) MPI_Igatherv(mine.at, own, type, all.at, c, p, type, root, MPI_COMM_WORLD, &request);
  if (mode == AGAIN)
    MPI_Gatherv_init(mine.at, own, type, all.at, c, p, type, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int from = 0; from < check_size && is_root; ++from)
    for (int i = 0; i < counts[from]; ++i)
      CHECK(get(all, places[from] + i) == token(from, root, i), "gatherv at %d from %d: element %d", root,
            from, i);
  if (mode == NOW) MPI_Scatterv(all.at, c, p, type, back.at, own, type, root, MPI_COMM_WORLD);
  if (mode == LATER) MPI_Iscatterv(all.at, c, p, type, back.at, own, type, root, MPI_COMM_WORLD, &request);
  if (mode == AGAIN)
    MPI_Scatterv_init(all.at, c, p, type, back.at, own, type, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < own; ++i) CHECK(get(back, i) == get(mine, i), "scatterv from %d: element %d", root, i);
  drop_data(mine);
  drop_data(all);
  drop_data(back);
  free(counts);
  free(places);
}

static void check_allgather(int mode, int count, MPI_Datatype type, int in_place) {
  Data mine = make_data(count, MPI_INT), all = make_data(count * check_size, type);
  const void* send = in_place ? MPI_IN_PLACE : mine.at;
  MPI_Request request;
  for (int i = 0; i < count; ++i) {
    set(mine, i, token(check_rank, 0, i));
    if (in_place) set(all, check_rank * count + i, token(check_rank, 0, i));
  }
  if (mode == NOW) MPI_Allgather(send, count, MPI_INT, all.at, count, type, MPI_COMM_WORLD);
  if (mode == LATER) MPI_Iallgather(send, count, MPI_INT, all.at, count, type, MPI_COMM_WORLD, &request);
  if (mode == AGAIN)
    MPI_Allgather_init(send, count, MPI_INT, all.at, count, type, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < all.count; ++i)
    CHECK(get(all, i) == token(i / count, 0, i % count), "allgather of %d: element %d", count, i);
  drop_data(mine);
  drop_data(all);
}

static void check_allgatherv(int mode, int count, MPI_Datatype type, int in_place) {
  int total, *counts = counts_of(count), *places = places_of(counts, &total);
  const int own = counts[check_rank];
  Data mine = make_data(own, MPI_INT), all = make_data(total, type);
  const void* send = in_place ? MPI_IN_PLACE : mine.at;
  MPI_Request request;
  for (int i = 0; i < own; ++i) {
    set(mine, i, token(check_rank, 0, i));
    if (in_place) set(all, places[check_rank] + i, token(check_rank, 0, i));
  }
  if (mode == NOW) MPI_Allgatherv(send, own, MPI_INT, all.at, counts, places, type, MPI_COMM_WORLD);
  if (mode == LATER)
    MPI_Iallgatherv(send, own, MPI_INT, all.at, counts, places, type, MPI_COMM_WORLD, &request);
  if (mode == AGAIN)
    MPI_Allgatherv_init(send, own, MPI_INT, all.at, counts, places, type, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &request);
  finish(mode, &request);
  for (int from = 0; from < check_size; ++from)
    for (int i = 0; i < counts[from]; ++i)
      CHECK(get(all, places[from] + i) == token(from, 0, i), "allgatherv from %d: element %d", from, i);
  drop_data(mine);
  drop_data(all);
  free(counts);
  free(places);
}

static void check_alltoall(int mode, int count, MPI_Datatype type, int in_place) {
  Data out = make_data(count * check_size, MPI_INT), in = make_data(count * check_size, type);
  const void* send = in_place ? MPI_IN_PLACE : out.at;
  MPI_Request request;
  for (int i = 0; i < out.count; ++i) {
    set(out, i, token(check_rank, i / count, i % count));
    if (in_place) set(in, i, token(check_rank, i / count, i % count));
  }
  if (mode == NOW) MPI_Alltoall(send, count, MPI_INT, in.at, count, type, MPI_COMM_WORLD);
  if (mode == LATER) MPI_Ialltoall(send, count, MPI_INT, in.at, count, type, MPI_COMM_WORLD, &request);
  if (mode == AGAIN)
    MPI_Alltoall_init(send, count, MPI_INT, in.at, count, type, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  finish(mode, &request);
  for (int i = 0; i < in.count; ++i)
    CHECK(get(in, i) == token(i / count, check_rank, i % count), "alltoall of %d: element %d", count, i);
  drop_data(out);
  drop_data(in);
}

/* Ranks a and b exchange (a + b) % 3 * count + a * b % 5 elements: the same both ways, so that in place is
 * possible. `mixed` calls alltoallw with another datatype for every second rank. */
static void check_alltoallv(int mode, int count, int in_place, int mixed) {
  const size_t n = (size_t)check_size;
  int *counts = malloc(n * sizeof(int)), *places = malloc(n * sizeof(int)), *bytes = malloc(n * sizeof(int));
  MPI_Datatype* each = malloc(n * sizeof(MPI_Datatype));
  int total = 0;
  for (int i = 0; i < check_size; ++i) {
    counts[i] = (check_rank + i) % 3 * count + check_rank * i % 5;
    places[i] = total;
    bytes[i] = total * (int)sizeof(int);
    each[i] = mixed && i % 2 ? types[1] : MPI_INT;
    total += counts[i] * (each[i] == MPI_INT ? 1 : 3);
  }
  int *out = malloc(((size_t)total + 1) * sizeof(int)), *in = malloc(((size_t)total + 1) * sizeof(int));
  for (int to = 0; to < check_size; ++to)
    for (int i = 0; i < counts[to]; ++i) {
      const int at = places[to] + i * (each[to] == MPI_INT ? 1 : 3);
      out[at] = token(check_rank, to, i);
      in[at] = in_place ? out[at] : UNSET;
    }
  const void* send = in_place ? MPI_IN_PLACE : (void*)out;
  MPI_Request request;
  const MPI_Comm on = MPI_COMM_WORLD;
  if (mixed) {
    if (mode == NOW) MPI_Alltoallw(send, counts, bytes, each, in, counts, bytes, each, on);
    if (mode == LATER) MPI_Ialltoallw(send, counts, bytes, each, in, counts, bytes, each, on, &request);
    if (mode == AGAIN)
      MPI_Alltoallw_init(send, counts, bytes, each, in, counts, bytes, each, on, MPI_INFO_NULL, &request);
  } else {
    if (mode == NOW) MPI_Alltoallv(send, counts, places, MPI_INT, in, counts, places, MPI_INT, on);
    if (mode == LATER)
      MPI_Ialltoallv(send, counts, places, MPI_INT, in, counts, places, MPI_INT, on, &request);
    if (mode == AGAIN)
      MPI_Alltoallv_init(send, counts, places, MPI_INT, in, counts, places, MPI_INT, on, MPI_INFO_NULL,
                         &request);
  }
  finish(mode, &request);
  for (int from = 0; from < check_size; ++from)
    for (int i = 0; i < counts[from]; ++i)
      CHECK(in[places[from] + i * (each[from] == MPI_INT ? 1 : 3)] == token(from, check_rank, i),
            "alltoall%c from %d: element %d", mixed ? 'w' : 'v', from, i);
  free(counts);
  free(places);
  free(bytes);
  free(each);
  free(out);
  free(in);
}

/* Nobody may leave before the last one has come: the last one says so before it comes. */
static void check_barrier(int mode) {
  for (int late = 0; late < check_size; ++late) {
    int word = 0;
    MPI_Request request, said = MPI_REQUEST_NULL;
    if (check_rank == late)
      for (int to = 0; to < check_size; ++to)
        if (to != late) MPI_Send(&late, 1, MPI_INT, to, 5, MPI_COMM_WORLD);
    if (check_rank != late) MPI_Irecv(&word, 1, MPI_INT, late, 5, MPI_COMM_WORLD, &said);
    if (mode == NOW) MPI_Barrier(MPI_COMM_WORLD);
    if (mode == LATER) MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (mode == AGAIN) MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    finish(mode, &request);
    MPI_Wait(&said, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  types[0] = MPI_INT;
  types[1] = gappy_int();
  for (int mode = 0; mode < MODES; ++mode) {
    check_barrier(mode);
    for (int c = 0; c < COUNTS; ++c) {
      for (int t = 0; t < 2; ++t) {
        for (int root = 0; root < check_size; ++root) {
          check_bcast(mode, kCounts[c], types[t], root);
          check_gather(mode, kCounts[c], types[t], root, (root + c) % 2);
          check_scatter(mode, kCounts[c], types[t], root, (root + c) % 2);
          check_gatherv(mode, kCounts[c], types[t], root);
        }
        for (int in_place = 0; in_place < 2; ++in_place) {
          check_allgather(mode, kCounts[c], types[t], in_place);
          check_allgatherv(mode, kCounts[c], types[t], in_place);
          check_alltoall(mode, kCounts[c], types[t], in_place);
          check_alltoallv(mode, kCounts[c], in_place, t);
        }
      }
    }
  }
  MPI_Type_free(&types[1]);
  return check_end();
}
