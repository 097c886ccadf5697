// All algorithms of collective operations, one file each; what they cost and where they come from is said
// there.
//
// They are tasks over a group of ranks (`Cx`) and know nothing of MPI calls: coll/select.cpp chooses among
// them, comm/ uses some directly.  Buffers are blocks; sums of block sizes agree between sender and receiver,
// as the standard demands. Costs use alpha (one message), beta (one byte moved), gamma (one byte reduced), p
// ranks, n bytes.
#pragma once

#include <utility>

#include "coll/block.hpp"
#include "coll/steps.hpp"
#include "coll/task.hpp"
#include "op/op.hpp"

namespace dunlin::coll {

/// What a reduction works on: `count` elements at `mine`, which stays unchanged unless it is `result` (in
/// place).
struct Reduction {
  const std::byte* mine = nullptr;
  std::byte* result = nullptr;  // may be null where the rank gets none
  std::int64_t count = 0;
  const Datatype* type = nullptr;
  const Op* op = nullptr;

  static Reduction of(const void* send, void* recv, std::int64_t count, const Datatype& type,
                      const Op& op) noexcept {
    const void* mine = is_in_place(send) ? recv : send;
    return {static_cast<const std::byte*>(mine), static_cast<std::byte*>(recv), count, &type, &op};
  }
  std::size_t bytes() const noexcept { return std::size_t(count * type->size()); }
  Block block(const std::byte* at) const noexcept { return {const_cast<std::byte*>(at), count, type}; }
  /// Elements [first, last) of an array laid out like the buffers.
  Block part(const std::byte* at, std::int64_t first, std::int64_t last) const noexcept {
    return {offset(at, first * type->extent()), last - first, type};
  }
  /// value = value op other, or other op value; the result may be in either: the pointers are swapped then.
  /// The order is kept also where the operator commutes: not all bits do, of signed zeros and of NaNs.
  void fold(std::byte*& value, std::byte*& other, bool other_is_left) const noexcept {
    if (other_is_left) return op->combine(other, value, count, *type);
    if (op->operation() != op::Operator::user) return op->combine3(value, other, value, count, *type);
    op->combine(value, other, count, *type);  // the program's function writes its right operand
    std::swap(value, other);
  }
};

/// Whether `nothing` is enough.  By messages it is not: where one rank alone gives no data, the others wait
/// for messages, so that it does what they do, with empty ones.
inline bool is_nothing(const Cx& cx, std::size_t bytes) noexcept {
  return bytes == 0 && (cx.share_memory() || cx.size == 1);
}
/// No data: ends at once, but for a look at `members` from `first` on, whose data this rank would receive, in
/// shared memory.  Where all receive from all, those with data find out who has none.
Task nothing(Cx cx, int first = 0, int members = 0);

Task barrier_dissemination(Cx cx);
Task barrier_hierarchical(Cx cx);
Task barrier_shared(Cx cx);
Task barrier_inter(Cx cx);

Task bcast_binomial(Cx cx, Block block, int root);
Task bcast_scatter_allgather(Cx cx, Block block, int root);
Task bcast_hierarchical(Cx cx, Block block, int root);
Task bcast_direct(Cx cx, Block block, int root);
Task bcast_shared(Cx cx, Block block, int root);
Task bcast_inter(Cx cx, Block block, int root);

/// `mine` is ignored at the root where `in_place`; `all` counts at the root only.
Task gather_binomial(Cx cx, Block mine, Blocks all, int root, bool in_place);
/// `is_varied`: who has no data sends no message.
Task gather_linear(Cx cx, Block mine, Blocks all, int root, bool in_place, bool is_varied);
Task gather_hierarchical(Cx cx, Block mine, Blocks all, int root, bool in_place);
Task gather_direct(Cx cx, Block mine, Blocks all, int root, bool in_place);
Task gather_shared(Cx cx, Block mine, Blocks all, int root, bool in_place, std::size_t short_bytes_max);
Task gather_inter(Cx cx, Block mine, Blocks all, int root);
Task scatter_binomial(Cx cx, Blocks all, Block mine, int root, bool in_place);
Task scatter_linear(Cx cx, Blocks all, Block mine, int root, bool in_place, bool is_varied);
Task scatter_hierarchical(Cx cx, Blocks all, Block mine, int root, bool in_place);
Task scatter_direct(Cx cx, Blocks all, Block mine, int root, bool in_place);
Task scatter_shared(Cx cx, Blocks all, Block mine, int root, bool in_place);
Task scatter_varied(Cx cx, Blocks all, Block mine, int root, bool in_place);
Task scatter_inter(Cx cx, Blocks all, Block mine, int root);

/// Every rank's own block lies in `all` already.
Task allgather_bruck(Cx cx, Blocks all);  // equal blocks
Task allgather_ring(Cx cx, Blocks all);
Task allgather_hierarchical(Cx cx, Block mine, Blocks all);
Task allgather_direct(Cx cx, Block mine, Blocks all);  // `mine` is what the others read
Task allgather_shared(Cx cx, Blocks all);

Task alltoall_bruck(Cx cx, Blocks send, Blocks recv);  // equal blocks
Task alltoall_pairwise(Cx cx, Blocks send, Blocks recv);
Task alltoall_hierarchical(Cx cx, Blocks send, Blocks recv);  // equal blocks; domains of equal size
Task alltoall_direct(Cx cx, Blocks send, Blocks recv);
Task alltoall_shared(Cx cx, Blocks send, Blocks recv,
                     bool in_place);  // equal blocks; in place: `send` is `recv`
Task alltoall_in_place(Cx cx, Blocks blocks);

/// With whom a rank exchanges: block i of a row with `ranks[i]` (MPI_PROC_NULL: with nobody), or, where
/// `ranks` is null, with rank i; the own block has been copied then.
struct Ends {
  const int* ranks = nullptr;
  int count = 0;
  const int* order = nullptr;  // in which blocks of one source arrive, as their numbers; null: as they lie
};
/// Blocks of any lengths, which only their two ends know.
Task exchange_varied(Cx cx, Ends to, Blocks send, Ends from, Blocks recv);
Task alltoall_varied(Cx cx, Blocks send, Blocks recv);
/// Exchange with every rank of the remote group: allgather(v) and alltoall(v, w) of inter-communicators.
Task exchange_inter(Cx cx, Blocks send, Blocks recv);

Task reduce_binomial(Cx cx, Reduction r, int root);
Task reduce_hierarchical(Cx cx, Reduction r, int root);
Task reduce_direct(Cx cx, Reduction r, int root);
Task reduce_shared(Cx cx, Reduction r, int root);
Task reduce_inter(Cx cx, Reduction r, int root);

Task allreduce_recursive_doubling(Cx cx, Reduction r);
Task allreduce_rabenseifner(Cx cx, Reduction r);  // commutative
Task allreduce_ring(Cx cx, Reduction r);          // commutative
Task allreduce_hierarchical(Cx cx, Reduction r);
Task allreduce_direct(Cx cx, Reduction r);
Task allreduce_shared(Cx cx, Reduction r);
Task allreduce_inter(Cx cx, Reduction r);

/// `r.count` elements altogether; `parts` divides them (its base is not used), this rank's part ends in
/// `r.result`.
Task reduce_scatter_by_reduce(Cx cx, Reduction r, Blocks parts);
Task reduce_scatter_pairwise(Cx cx, Reduction r, Blocks parts);      // commutative
Task reduce_scatter_hierarchical(Cx cx, Reduction r, Blocks parts);  // domains of equal size
Task reduce_scatter_direct(Cx cx, Reduction r, Blocks parts);
Task reduce_scatter_shared(Cx cx, Reduction r, Blocks parts);
Task reduce_scatter_inter(Cx cx, Reduction r, Blocks parts);

Task scan_recursive_doubling(Cx cx, Reduction r);
Task exscan_recursive_doubling(Cx cx, Reduction r);
Task scan_hierarchical(Cx cx, Reduction r, bool is_exclusive);  // domains in the order of ranks
Task scan_direct(Cx cx, Reduction r, bool is_exclusive);
Task scan_shared(Cx cx, Reduction r, bool is_exclusive);

}  // namespace dunlin::coll
