// All reductions of short operands, in one text: every member puts its operand into shared memory, packed,
// and combines those that it wants.
//
// Results do not depend on timing: operands are combined from the first rank to the last (a program's
// function, which writes its right operand: from the last to the first).
// Cost: one wait, and n beta + (p-1) n gamma at each rank that gets a result: as each does the whole work,
// none waits for another's.  A scan waits for the ranks before it only, a reduce elsewhere than at the root
// for none.  An allreduce of more bytes by slices: a second wait, and 3 n beta + n gamma.
#include "coll/algorithms/algorithms.hpp"
#include "coll/rules.hpp"
#include "progress/engine.hpp"

namespace dunlin::coll {
namespace {

struct SharedOperands {
  const void** list = nullptr;  // where operands are used in place; else null:
  std::byte* value = nullptr;   // room for elements laid out as the type says
  std::byte* other = nullptr;

  /// For up to `members` operands.  With too little memory the run ends at its next step.
  static SharedOperands take(const Cx& cx, const Reduction& r, int members) noexcept {
    SharedOperands made;
    if (r.type->is_contiguous()) {
      made.list = reinterpret_cast<const void**>(cx.take(std::size_t(members) * sizeof(void*)));
    } else {
      made.value = cx.take_elements(r.count, *r.type);
      made.other = cx.take_elements(r.count, *r.type);
    }
    return made;
  }

  /// Combines elements [first, first + count) of members 0 to `members` - 1 into `result`.  False: one of
  /// them has brought another length.
  bool try_combine(const Cx& cx, const Turn& turn, const Reduction& r, int members, std::int64_t first,
                   std::int64_t count, std::byte* result) const noexcept {
    const std::size_t all_bytes = r.bytes();
    for (int member = 0; member < members; ++member)
      if (member != cx.rank && !cx.agrees(turn, member, all_bytes)) return false;
    if (count == 0) return true;
    const auto position = std::size_t(first * r.type->size()), bytes = std::size_t(count * r.type->size());
    if (list) {
      for (int member = 0; member < members; ++member) list[member] = turn.data(member, all_bytes) + position;
      // Its own where it comes from: the copy may be in the cache of another that has read it.
      const bool is_whole = r.mine != r.result || r.mine + position == result;  // as long as none is combined
      if (cx.rank < members && r.op->is_predefined() && is_whole)
        list[cx.rank] = r.mine + position;
      if (members == 2)
        r.op->combine3(list[0], list[1], result, count, *r.type);
      else
        r.op->combine_k({list, std::size_t(members)}, result, count, *r.type);
      for (int member = 0; member < members; ++member) turn.take_over(member, bytes, position, all_bytes);
      return true;
    }
    Reduction part = r;
    part.count = count;
    std::byte *sum = value, *left = other;
    turn.get(members - 1, part.block(sum), bytes, position, all_bytes);
    for (int member = members - 2; member >= 0; --member) {
      turn.get(member, part.block(left), bytes, position, all_bytes);
      part.fold(sum, left, true);
    }
    copy(part.block(sum), part.block(result));
    return true;
  }
};

/// All ranks' `count` elements from `first` on, combined.
Task combine_shared(Cx cx, Reduction r, std::int64_t first, std::int64_t count) {
  const SharedOperands operands = SharedOperands::take(cx, r, cx.size);
  const Turn turn = cx.turn();
  co_await cx.until(turn.place_is_free());
  turn.put(r.block(r.mine), r.bytes(), 0, r.bytes());
  turn.arrive(r.bytes());
  co_await cx.until_last(turn, turn.all_are_there());
  if (count > 0) operands.try_combine(cx, turn, r, cx.size, first, count, r.result);
  turn.leave(true);
  co_return Err::ok;
}

/// Where a member's slice begins: that of member i ends where that of i + 1 begins.
std::int64_t first_of_slice(const Cx& cx, const Reduction& r, int member) noexcept {
  return r.count * member / cx.size;
}
std::size_t room_for_operand(const Reduction& r) noexcept { return (r.bytes() + 63) & ~std::size_t{63}; }
bool has_room_for_slice(const Cx& cx, const Reduction& r) noexcept {
  const std::size_t slice_bytes = std::size_t((r.count / cx.size + 1) * r.type->size());
  return room_for_operand(r) + slice_bytes <= transport::shm::Commons::kRoomBytes;
}

/// Each combines a slice and puts it behind its operand; all read them.
Task allreduce_by_slices(Cx cx, Reduction r) {
  const SharedOperands operands = SharedOperands::take(cx, r, cx.size);
  const Turn turn = cx.turn();
  co_await cx.until(turn.place_is_free());
  turn.put(r.block(r.mine), r.bytes(), 0, r.bytes());
  turn.arrive(r.bytes());
  co_await cx.until(turn.all_are_there());
  const std::int64_t first = first_of_slice(cx, r, cx.rank), end = first_of_slice(cx, r, cx.rank + 1);
  std::byte* const result = r.part(r.result, first, end).at;
  // Who has brought another length is seen by all alike, and waits for nobody.
  if (operands.try_combine(cx, turn, r, cx.size, first, end - first, result)) {
    const auto slice_of = [&](int member) noexcept {
      const std::int64_t begin = first_of_slice(cx, r, member);
      const auto bytes = std::size_t((first_of_slice(cx, r, member + 1) - begin) * r.type->size());
      return Block::of_bytes(turn.room(member) + room_for_operand(r), bytes);
    };
    copy(r.part(r.result, first, end), slice_of(cx.rank));
    turn.finish();
    co_await cx.until_last(turn, turn.all_have_finished());
    for (int step = 1; step < cx.size; ++step) {
      const int member = cx.wrapped(cx.rank + step);
      copy(slice_of(member),
           r.part(r.result, first_of_slice(cx, r, member), first_of_slice(cx, r, member + 1)));
    }
  }
  turn.leave(true);
  co_return Err::ok;
}

}  // namespace

Task allreduce_shared(Cx cx, Reduction r) {
  const std::size_t whole_bytes = whole_bytes_max(cx.run->engine.does_job_share_cores());
  const bool is_sliced = cx.size > 2 && r.bytes() > whole_bytes && has_room_for_slice(cx, r);
  return is_sliced ? allreduce_by_slices(cx, r) : combine_shared(cx, r, 0, r.count);
}

Task reduce_scatter_shared(Cx cx, Reduction r, Blocks parts) {
  std::int64_t first = 0;
  for (int rank = 0; rank < cx.rank; ++rank) first += parts[rank].count;
  return combine_shared(cx, r, first, parts[cx.rank].count);
}

Task reduce_shared(Cx cx, Reduction r, int root) {
  const bool is_root = cx.rank == root;
  const SharedOperands operands = SharedOperands::take(cx, r, is_root ? cx.size : 0);
  const Turn turn = cx.turn();
  co_await cx.until(turn.place_is_free());
  turn.put(r.block(r.mine), r.bytes(), 0, r.bytes());
  turn.arrive(r.bytes());
  if (is_root) {
    co_await cx.until_last(turn, turn.all_are_there());
    operands.try_combine(cx, turn, r, cx.size, 0, r.count, r.result);
  }
  turn.leave(is_root);
  co_return Err::ok;
}

Task scan_shared(Cx cx, Reduction r, bool is_exclusive) {
  const int members = is_exclusive ? cx.rank : cx.rank + 1;
  const SharedOperands operands = SharedOperands::take(cx, r, members);
  const Turn turn = cx.turn();
  co_await cx.until(turn.place_is_free());
  turn.put(r.block(r.mine), r.bytes(), 0, r.bytes());
  turn.arrive(r.bytes());
  co_await cx.until_last(turn, turn.are_there(members));
  if (members > 0) operands.try_combine(cx, turn, r, members, 0, r.count, r.result);
  turn.leave(false);
  co_return Err::ok;
}

}  // namespace dunlin::coll
