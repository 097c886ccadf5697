// Which algorithm a collective uses: by its size, the number of ranks and settings (DUNLIN_COLL_...).
//
// All ranks of a collective must decide the same: only what the standard makes equal everywhere is looked at
// (bytes of a message, not counts, where the two sides may use different datatypes), settings, which are the
// job's, and what the ranks agreed on at the start (runtime/job_facts.hpp), never what only this node is
// like.  An algorithm that finds out, on all ranks alike, that it cannot reach their memory has another
// chosen, without shared memory (`Cx::apart`).  Called by data_movement.cpp and reductions.cpp.
#pragma once

#include <cstddef>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/rules.hpp"

namespace dunlin::coll {

Task start_barrier(const Cx& cx) noexcept;
Task start_bcast(const Cx& cx, Block block, int root) noexcept;
Task start_gather(const Cx& cx, Block mine, Blocks all, int root, bool in_place) noexcept;
Task start_scatter(const Cx& cx, Blocks all, Block mine, int root, bool in_place) noexcept;
/// The own block, `mine`, lies in `all`, too.
Task start_allgather(const Cx& cx, Block mine, Blocks all) noexcept;
/// In place, `send` is `recv`.
Task start_alltoall(const Cx& cx, Blocks send, Blocks recv, bool in_place) noexcept;
Task start_reduce(const Cx& cx, Reduction r, int root) noexcept;
Task start_allreduce(const Cx& cx, Reduction r) noexcept;
Task start_scan(const Cx& cx, Reduction r, bool is_exclusive) noexcept;
Task start_reduce_scatter(const Cx& cx, Reduction r, Blocks parts) noexcept;

Task start_gatherv(const Cx& cx, Block mine, Blocks all, int root, bool in_place) noexcept;
Task start_scatterv(const Cx& cx, Blocks all, Block mine, int root, bool in_place) noexcept;
/// alltoallv and alltoallw.
Task start_alltoallv(const Cx& cx, Blocks send, Blocks recv, bool in_place) noexcept;

/// What would be chosen, for dunlin-info; `domains` is that of the communicator, or null.
std::vector<Decision> decisions(const Facts& facts, const Hierarchy* domains);

}  // namespace dunlin::coll
