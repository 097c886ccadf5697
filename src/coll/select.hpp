// Which algorithm a collective uses: by its size, the number of ranks and settings (DUNLIN_COLL_...).
//
// All ranks of a collective must decide the same: only what the standard makes equal everywhere is looked at
// (bytes of a message, not counts, where the two sides may use different datatypes), settings, which are the
// job's, and what the ranks agreed on at the start (runtime/job_facts.hpp), never what only this node is
// like.  Called by data_movement.cpp and reductions.cpp.
#pragma once

#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task start_barrier(const Cx& cx) noexcept;
Task start_bcast(const Cx& cx, Block block, int root) noexcept;
Task start_gather(const Cx& cx, Block mine, Blocks all, int root, bool in_place) noexcept;
Task start_scatter(const Cx& cx, Blocks all, Block mine, int root, bool in_place) noexcept;
/// The own block lies in `all`.
Task start_allgather(const Cx& cx, Blocks all) noexcept;
/// In place, `send` is `recv`.
Task start_alltoall(const Cx& cx, Blocks send, Blocks recv, bool in_place) noexcept;
Task start_reduce(const Cx& cx, Reduction r, int root) noexcept;
Task start_allreduce(const Cx& cx, Reduction r) noexcept;
Task start_scan(const Cx& cx, Reduction r, bool is_exclusive) noexcept;
Task start_reduce_scatter(const Cx& cx, Reduction r, Blocks parts) noexcept;

// Where shared memory does not help.
Task bcast_by_messages(const Cx& cx, Block block, int root) noexcept;
Task gather_by_messages(const Cx& cx, Block mine, Blocks all, int root, bool in_place) noexcept;
Task scatter_by_messages(const Cx& cx, Blocks all, Block mine, int root, bool in_place) noexcept;
Task allgather_by_messages(const Cx& cx, Blocks all) noexcept;
Task alltoall_by_messages(const Cx& cx, Blocks send, Blocks recv) noexcept;
Task reduce_by_messages(const Cx& cx, Reduction r, int root) noexcept;
Task allreduce_by_messages(const Cx& cx, Reduction r) noexcept;
Task reduce_scatter_by_messages(const Cx& cx, Reduction r, Blocks parts) noexcept;

}  // namespace dunlin::coll
