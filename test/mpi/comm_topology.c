/* Process topologies: Cartesian, graph, distributed graph; queries, sub-grids, duplicates. */
#include <stdlib.h>
#include <string.h>

#include "comm_check.h"

static void cartesian(void) {
  MPI_Comm grid, dup, rows, wrong = MPI_COMM_NULL;
  int dims[2] = {0, 0}, periods[2] = {1, 0}, got_dims[2], got_periods[2], coords[2], back, rank, size, kind,
      n, error;
  int from, to, far[2];
  MPI_Dims_create(check_size, 2, dims);
  CHECK(dims[0] * dims[1] == check_size && dims[0] >= dims[1], "%d x %d", dims[0], dims[1]);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
  check_intra(grid, "grid");
  MPI_Topo_test(grid, &kind);
  CHECK(kind == MPI_CART, "%d", kind);
  MPI_Topo_test(MPI_COMM_WORLD, &kind);
  CHECK(kind == MPI_UNDEFINED, "%d", kind);
  MPI_Cartdim_get(grid, &n);
  CHECK(n == 2, "%d", n);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_get(grid, 2, got_dims, got_periods, coords);
  CHECK(got_dims[0] == dims[0] && got_dims[1] == dims[1] && got_periods[0] == 1 && got_periods[1] == 0,
        "get");
  CHECK(coords[0] == rank / dims[1] && coords[1] == rank % dims[1], "row-major");
  MPI_Cart_rank(grid, coords, &back);
  CHECK(back == rank, "%d", back);
  far[0] = coords[0] - 3 * dims[0];
  far[1] = coords[1];
  MPI_Cart_rank(grid, far, &back);
  CHECK(back == rank, "a periodic coordinate was not wrapped: %d", back);
  MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
  far[1] = -1;
  error = MPI_Cart_rank(grid, far, &back);
  CHECK(error == MPI_ERR_ARG, "%d", error);

  MPI_Cart_shift(grid, 0, 1, &from, &to);
  CHECK(to == (coords[0] + 1) % dims[0] * dims[1] + coords[1], "shift down: %d", to);
  MPI_Cart_shift(grid, 0, -2 * dims[0] - 1, &to, &from);
  CHECK(to == (coords[0] + 1) % dims[0] * dims[1] + coords[1], "shift far up: %d", to);
  MPI_Cart_shift(grid, 1, 1, &from, &to);
  CHECK(from == (coords[1] == 0 ? MPI_PROC_NULL : rank - 1), "shift from %d", from);
  CHECK(to == (coords[1] == dims[1] - 1 ? MPI_PROC_NULL : rank + 1), "shift to %d", to);

  MPI_Comm_dup(grid, &dup);
  MPI_Cart_coords(dup, rank, 2, far);
  CHECK(far[0] == coords[0] && far[1] == coords[1], "a duplicate has lost its topology");
  MPI_Comm_free(&dup);
  MPI_Comm_split(grid, 0, 0, &dup);
  MPI_Topo_test(dup, &kind);
  CHECK(kind == MPI_UNDEFINED, "a split has inherited a topology");
  MPI_Comm_free(&dup);

  {
    int remain[2] = {0, 1}, none[2] = {0, 0};
    MPI_Cart_sub(grid, remain, &rows);
    MPI_Comm_size(rows, &size);
    MPI_Comm_rank(rows, &n);
    CHECK(size == dims[1] && n == coords[1], "row of %d, place %d", size, n);
    MPI_Cart_get(rows, 1, got_dims, got_periods, far);
    CHECK(got_dims[0] == dims[1] && got_periods[0] == 0 && far[0] == coords[1], "row");
    check_intra(rows, "row of the grid");
    MPI_Comm_free(&rows);
    MPI_Cart_sub(grid, none, &rows);
    MPI_Comm_size(rows, &size);
    MPI_Cartdim_get(rows, &n);
    CHECK(size == 1 && n == 0, "%d processes in %d dimensions", size, n);
    MPI_Comm_free(&rows);
  }
  MPI_Comm_free(&grid);

  MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &grid);
  CHECK((grid != MPI_COMM_NULL) == (check_rank == 0), "a grid without dimensions has one process");
  if (grid != MPI_COMM_NULL) MPI_Comm_free(&grid);
  dims[0] = check_size > 1 ? check_size - 1 : 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &grid);
  CHECK((grid == MPI_COMM_NULL) == (check_rank >= dims[0]), "one too many");
  if (grid != MPI_COMM_NULL) check_intra(grid, "grid of some ranks");
  if (grid != MPI_COMM_NULL) MPI_Comm_free(&grid);
  dims[0] = check_size + 1;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  error = MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &wrong);
  CHECK(error != MPI_SUCCESS && wrong == MPI_COMM_NULL, "a grid that is too large");
  error = MPI_Cart_shift(MPI_COMM_WORLD, 0, 1, &from, &to);
  CHECK(error == MPI_ERR_TOPOLOGY, "%d", error);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* A ring as a graph: everybody knows both neighbors. */
static void graph(void) {
  enum { kMost = 64 };
  MPI_Comm ring;
  int index[kMost], edges[2 * kMost], got_index[kMost], got_edges[2 * kMost], neighbors[2], i, nodes, count,
      kind;
  for (i = 0; i < check_size; ++i) {
    index[i] = 2 * (i + 1);
    edges[2 * i] = (i + check_size - 1) % check_size;
    edges[2 * i + 1] = (i + 1) % check_size;
  }
  MPI_Graph_create(MPI_COMM_WORLD, check_size, index, edges, 0, &ring);
  check_intra(ring, "graph");
  MPI_Topo_test(ring, &kind);
  CHECK(kind == MPI_GRAPH, "%d", kind);
  MPI_Graphdims_get(ring, &nodes, &count);
  CHECK(nodes == check_size && count == 2 * check_size, "%d nodes, %d edges", nodes, count);
  MPI_Graph_get(ring, kMost, 2 * kMost, got_index, got_edges);
  CHECK(memcmp(index, got_index, sizeof(int) * (size_t)nodes) == 0, "index");
  CHECK(memcmp(edges, got_edges, sizeof(int) * (size_t)count) == 0, "edges");
  for (i = 0; i < check_size; ++i) {
    MPI_Graph_neighbors_count(ring, i, &count);
    MPI_Graph_neighbors(ring, i, 2, neighbors);
    CHECK(count == 2 && neighbors[0] == edges[2 * i] && neighbors[1] == edges[2 * i + 1], "neighbors of %d",
          i);
  }
  MPI_Comm_free(&ring);
}

static void distributed_graph(void) {
  MPI_Comm ring, star;
  const int left = (check_rank + check_size - 1) % check_size, right = (check_rank + 1) % check_size;
  int weight_in = left, weight_out = check_rank, in, out, weighted, source = -1, destination = -1, win = -1,
      wout = -1;
  int targets[64], sources[64], weights[64], got[64], i, n, degree, seen[64] = {0};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &weight_in, 1, &right, &weight_out, MPI_INFO_NULL,
                                 0, &ring);
  check_intra(ring, "distributed graph");
  MPI_Dist_graph_neighbors_count(ring, &in, &out, &weighted);
  CHECK(in == 1 && out == 1 && weighted, "%d, %d, %d", in, out, weighted);
  MPI_Dist_graph_neighbors(ring, 1, &source, &win, 1, &destination, &wout);
  CHECK(source == left && destination == right && win == left && wout == check_rank, "%d %d", source,
        destination);
  MPI_Comm_free(&ring);

  /* Rank 0 gives all edges of a star: from 0 to everybody, weight = where it ends. */
  for (i = 0; i < check_size; ++i) targets[i] = weights[i] = i;
  n = check_rank == 0;
  sources[0] = 0;
  degree = check_size;
  MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, &degree, targets, weights, MPI_INFO_NULL, 0, &star);
  MPI_Dist_graph_neighbors_count(star, &in, &out, &weighted);
  CHECK(in == 1 && out == (check_rank == 0 ? check_size : 0) && weighted, "%d in, %d out", in, out);
  MPI_Dist_graph_neighbors(star, 1, &source, &win, out, targets, got);
  CHECK(source == 0 && win == check_rank, "from %d with weight %d", source, win);
  for (i = 0; i < out; ++i) {
    CHECK(targets[i] == got[i] && !seen[targets[i]]++, "edge %d to %d with weight %d", i, targets[i], got[i]);
  }
  MPI_Comm_free(&star);

  /* Everybody gives its neighbor's edge; no weights. */
  sources[0] = right;
  degree = 1;
  targets[0] = check_rank;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, sources, &degree, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                        &star);
  MPI_Dist_graph_neighbors_count(star, &in, &out, &weighted);
  CHECK(in == 1 && out == 1 && !weighted, "%d, %d, %d", in, out, weighted);
  MPI_Dist_graph_neighbors(star, 1, &source, MPI_UNWEIGHTED, 1, &destination, MPI_UNWEIGHTED);
  CHECK(source == right && destination == left, "%d %d", source, destination);
  MPI_Comm_free(&star);
}

/* Where DUNLIN_NEAR_RANKS=4,2 tells 8 ranks of a node that they are near: neighbors share a memory node, and
   a cache. */
static void near_ranks(void) {
  const char* const told = getenv("DUNLIN_NEAR_RANKS");
  if (!told || strcmp(told, "4,2") != 0 || check_size != 8) return;
  const int dims[2] = {2, 4}, periods[2] = {0, 0};
  int mine, cells[8];
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
  MPI_Allgather(&check_rank, 1, MPI_INT, cells, 1, MPI_INT, grid); /* world rank of each */
  MPI_Comm_rank(grid, &mine);
  const int side = mine % 4 / 2 * 2; /* of the square of four that this rank is in */
  for (int i = 0; i < 4; ++i) {
    const int other = cells[i / 2 * 4 + side + i % 2];
    CHECK(other / 4 == check_rank / 4, "%d shares no memory node with its neighbor %d", check_rank, other);
  }
  const int beside = cells[mine ^ 1], below = cells[mine ^ 4];
  CHECK(beside / 2 == check_rank / 2 || below / 2 == check_rank / 2, "%d shares no cache", check_rank);
  MPI_Comm_free(&grid);
}

/* Whether messages reach the neighbors of the ring v, v + 3. */
static void check_ring(MPI_Comm ring) {
  int mine, sources[2];
  MPI_Comm_rank(ring, &mine);
  MPI_Neighbor_allgather(&mine, 1, MPI_INT, sources, 1, MPI_INT, ring);
  CHECK(sources[0] == (mine + 5) % 8 && sources[1] == (mine + 3) % 8, "rank %d hears from %d and %d", mine,
        sources[0], sources[1]);
}

/* Its edges between groups of so many ranks of MPI_COMM_WORLD. */
static int cut_ring(const int* world, int each) {
  int count = 0;
  for (int v = 0; v < 8; ++v) count += world[v] / each != world[(v + 3) % 8] / each;
  return count;
}

/* What the process knows of them: weights say which vertex gave them.  Sources come in the order of the ranks
   that gave them. */
static void check_edges(MPI_Comm ring) {
  int mine, from[2], to[2], win[2], wout[2];
  MPI_Comm_rank(ring, &mine);
  MPI_Dist_graph_neighbors(ring, 2, from, win, 2, to, wout);
  const int before = (mine + 5) % 8, after = (mine + 3) % 8;
  CHECK(from[0] + from[1] == before + after && to[0] == before && to[1] == after, "edges of %d", mine);
  CHECK(win[0] == mine && win[1] == mine && wout[0] == before && wout[1] == after, "weights of %d", mine);
}

/* The same, with rings that the order of ranks cuts six times between memory nodes: two are enough.  All
   three calls; where DUNLIN_COMM_REORDER_EDGES is less than the ring has, distributed graphs stay as they
   are. */
static void near_neighbors(void) {
  const char *const told = getenv("DUNLIN_NEAR_RANKS"), *const most = getenv("DUNLIN_COMM_REORDER_EDGES");
  if (!told || strcmp(told, "4,2") != 0 || check_size != 8) return;
  const int before = (check_rank + 5) % 8, after = (check_rank + 3) % 8, both[2] = {before, after};
  const int weights[2] = {before, after}, two = 2;
  int index[8], edges[16], world[8], mine, newrank;
  for (int i = 0; i < 8; ++i) {
    index[i] = 2 * i + 2;
    edges[2 * i] = (i + 5) % 8;
    edges[2 * i + 1] = (i + 3) % 8;
  }
  for (int call = 0; call < 3; ++call) {
    MPI_Comm ring;
    if (call == 0)
      MPI_Graph_create(MPI_COMM_WORLD, 8, index, edges, 1, &ring);
    else if (call == 1)
      MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, both, weights, 2, both, weights, MPI_INFO_NULL, 1,
                                     &ring);
    else
      MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &check_rank, &two, both, weights, MPI_INFO_NULL, 1, &ring);
    check_intra(ring, "reordered graph");
    MPI_Comm_rank(ring, &mine);
    MPI_Allgather(&check_rank, 1, MPI_INT, world, 1, MPI_INT, ring);
    if (call == 2)
      check_edges(ring);
    else
      check_ring(ring);
    if (call > 0 && most && atoi(most) < 16) {
      CHECK(mine == check_rank, "call %d gave rank %d in spite of its many edges", call, mine);
    } else {
      const int between_nodes = cut_ring(world, 4), between_caches = cut_ring(world, 2);
      CHECK(between_nodes == 2, "call %d: %d pairs of neighbors share no memory node", call, between_nodes);
      CHECK(between_caches == 4, "call %d: %d pairs of neighbors share no cache", call, between_caches);
    }
    if (call == 0) {
      MPI_Graph_map(MPI_COMM_WORLD, 8, index, edges, &newrank);
      CHECK(newrank == mine, "mapped to %d, not %d", newrank, mine);
    }
    MPI_Comm_free(&ring);
  }
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  cartesian();
  graph();
  distributed_graph();
  near_ranks();
  near_neighbors();
  return check_end();
}
