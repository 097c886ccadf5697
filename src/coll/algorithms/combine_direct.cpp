// All reductions of long operands, in one text: every member combines its part of all send buffers straight
// into all receive buffers that want it; of a scan, all prefixes of its part.
//
// Nothing is copied in between: each element is loaded once from every send buffer and stored once into every
// receive buffer.  Operands are combined from the first rank to the last (a program's function: from the last
// to the first), whoever does it, so results do not depend on timing.
// Cost: two waits; at each rank n/p * (p beta + (p-1) gamma) for a reduce, twice the beta for an allreduce or
// a scan.
// Source: Hashmi and others, IPDPS 2018, section IV (XPMEM, partitioned among all ranks).
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"
#include "coll/select.hpp"
#include "coll/shared_work.hpp"
#include "copy/copy.hpp"

namespace dunlin::coll {
namespace {

using protocol::MappedBuffer;
using protocol::RemoteBuffer;

/// Combined before the result is copied to further receivers: it is in the first-level cache then.
constexpr std::int64_t kStripBytes = 8 << 10;
constexpr std::int64_t kPieceBytes = 128 << 10;
constexpr int kOperand = 0, kResult = 1, kBuffers = 2;

struct Range {
  std::int64_t first, count;
};

/// Who gets what.
struct Goal {
  enum class Form : std::uint8_t { all_everywhere, all_at_root, own_part, prefix, prefix_before };
  Form form;
  int root = -1;                  // of all_at_root
  const Blocks* parts = nullptr;  // of own_part: a part for each member

  bool is_prefix() const noexcept { return form == Form::prefix || form == Form::prefix_before; }
  /// Of the part that `owner` combines.
  bool has_result_for(int member, int owner) const noexcept {
    switch (form) {
      case Form::all_at_root:
        return member == root;
      case Form::own_part:
        return member == owner;
      case Form::prefix_before:
        return member > 0;
      default:
        return true;
    }
  }
};

struct Parts {
  const Cx& cx;
  const SharedWork& shared;
  const Reduction& r;
  const Goal& goal;
  const void** list;      // room for one pointer a member
  std::byte** results;    // the same
  std::byte* strip;       // for a program's function, which must not write one of its operands; else null
  peer::Mapping* mapped;  // room for two a member

  Range share(int member) const noexcept {
    if (goal.parts) {
      std::int64_t first = 0;
      for (int before = 0; before < member; ++before) first += (*goal.parts)[before].count;
      return {first, (*goal.parts)[member].count};
    }
    // Cut at lines, where elements are not longer.
    const std::int64_t line = std::max<std::int64_t>(1, 64 / r.type->size());
    const std::int64_t each = (r.count / cx.size + line) / line * line;
    const std::int64_t first = std::min(each * member, r.count);
    return {first, member == cx.size - 1 ? r.count - first : std::min(each, r.count - first)};
  }
  int pieces(int member) const noexcept {
    const std::int64_t count = share(member).count, bytes = count * r.type->size();
    return int(std::min({(bytes + kPieceBytes - 1) / kPieceBytes, count, std::int64_t{1} << 20}));
  }

  bool do_piece(int owner, int piece) const noexcept {
    const Range all = share(owner);
    const int count = pieces(owner);
    const std::int64_t first = all.count * piece / count, end = all.count * (piece + 1) / count;
    // In a reduce-scatter the result of a part lies at the beginning of its owner's buffer.
    return combine({all.first + first, end - first}, owner, goal.parts ? first : all.first + first);
  }

  bool combine(Range range, int owner, std::int64_t result_first) const noexcept {
    const std::int64_t size = r.type->size();
    int receivers = 0;
    for (int step = 0; step < cx.size; ++step) {
      const int member = cx.wrapped(cx.rank + step);
      auto* const from = reach(member, kOperand, range.first * size, range.count * size);
      if (!from) return false;
      list[member] = from;
      if (!goal.has_result_for(member, owner)) continue;
      std::byte* const to = reach(member, kResult, result_first * size, range.count * size);
      if (!to) return false;
      results[goal.is_prefix() ? member : receivers++] = to;
    }
    for (std::int64_t done = 0; done < range.count;) {
      const std::int64_t count = std::min(range.count - done, std::max<std::int64_t>(1, kStripBytes / size));
      const auto bytes = std::size_t(count * size);
      if (goal.is_prefix())
        combine_prefixes(count, bytes);
      else
        combine_strip(count, bytes, receivers);
      for (int member = 0; member < cx.size; ++member)
        list[member] = static_cast<const std::byte*>(list[member]) + bytes;
      const int stored = goal.is_prefix() ? cx.size : receivers;
      for (int i = 0; i < stored; ++i) results[i] += bytes;
      traffic.loaded += bytes * std::size_t(cx.size);
      traffic.stored += bytes * std::size_t(stored);
      done += count;
    }
    take_over_operands(range);
    return are_still_valid(owner);
  }

  /// The next `count` elements.
  void combine_strip(std::int64_t count, std::size_t bytes, int receivers) const noexcept {
    std::byte* const to = strip ? strip : results[0];
    if (cx.size == 2)
      r.op->combine3(list[0], list[1], to, count, *r.type);
    else
      r.op->combine_k({list, std::size_t(cx.size)}, to, count, *r.type);
    for (int i = strip ? 0 : 1; i < receivers; ++i) copy::bytes(results[i], to, bytes);
  }
  /// The same for a scan: what one member gets is the left operand of the next.
  void combine_prefixes(std::int64_t count, std::size_t bytes) const noexcept {
    const int first = goal.form == Goal::Form::prefix_before ? 1 : 0;
    copy::bytes(results[first], static_cast<const std::byte*>(list[0]), bytes);
    for (int member = first + 1; member < cx.size; ++member)
      r.op->combine3(results[member - 1], list[member - first], results[member], count, *r.type);
  }

  std::byte* reach(int member, int which, std::int64_t position, std::int64_t bytes) const noexcept {
    const RemoteBuffer& whole = shared.buffer(member, which);
    if (member == cx.rank && !shared.is_in_room(whole))
      return reinterpret_cast<std::byte*>(whole.address) + position;
    const RemoteBuffer part{whole.address + std::uint64_t(position), std::uint64_t(bytes), whole.layout};
    const peer::Mapping at = shared.map(member, part).mapping;
    if (at && which == kResult) copy::load_before_stores(at.at, std::size_t(bytes));
    mapped[2 * member + which] = at;
    return at.at;
  }
  /// Nobody else reads this range of theirs.
  void take_over_operands(Range range) const noexcept {
    for (int member = 0; member < cx.size; ++member)
      if (const peer::Mapping& at = mapped[2 * member + kOperand];
          member != cx.rank && at.may_take_over() && takes_over(cx, std::size_t(r.bytes())))
        copy::take_over(at.at, std::size_t(range.count * r.type->size()));
  }
  bool are_still_valid(int owner) const noexcept {
    for (int member = 0; member < cx.size; ++member) {
      if (member == cx.rank) continue;
      if (!shared.is_still_valid(member, mapped[2 * member + kOperand])) return false;
      if (goal.has_result_for(member, owner) && !shared.is_still_valid(member, mapped[2 * member + kResult]))
        return false;
    }
    return true;
  }
};

/// An operand in the place of the result could not be combined again if the work is spoilt: then it is done
/// with a copy.
Reduction with_operand_apart(const Cx& cx, const Reduction& r) noexcept {
  if (r.mine != r.result) return r;
  Reduction apart = r;
  std::byte* const own = cx.take_elements(r.count, *r.type);
  if (own) copy(r.block(r.mine), r.block(own));
  apart.mine = own;
  return apart;
}

Task combine_direct(Cx cx, Reduction r, Goal goal, bool* is_done) {
  const Turn turn = cx.turn();
  const auto size = std::size_t(cx.size);
  auto* const list = reinterpret_cast<const void**>(cx.take(size * sizeof(void*)));
  auto* const results = reinterpret_cast<std::byte**>(cx.take(size * sizeof(void*)));
  auto* const mapped = reinterpret_cast<peer::Mapping*>(cx.take(2 * size * sizeof(peer::Mapping)));
  const bool is_function = r.op->operation() == op::Operator::user;
  const std::int64_t strip_count = std::max<std::int64_t>(1, kStripBytes / r.type->size());
  std::byte* const strip =
      is_function && !goal.is_prefix() ? cx.take_elements(strip_count, *r.type) : nullptr;
  SharedWork shared(cx, turn, kBuffers);
  co_await cx.until(turn.place_is_free());
  shared.begin();
  const std::int64_t whole = goal.parts ? (*goal.parts)[cx.rank].count : r.count;
  const std::int64_t received = goal.has_result_for(cx.rank, cx.rank) ? whole : 0;
  const Block given = r.block(r.mine), got = {received > 0 ? r.result : nullptr, received, r.type};
  shared.give(kOperand, given.source());
  shared.want(kResult, got.target());
  if (!r.type->is_contiguous() || r.type->true_lower_bound() != 0) shared.refuse();  // elements in a row only
  turn.arrive(0);
  co_await cx.until(turn.all_are_there());
  *is_done = shared.are_all_reachable();
  for (int member = 0; member < cx.size; ++member)  // messages find the words where ranks disagree
    *is_done &= shared.buffer(member, kOperand).bytes == r.bytes();
  if (*is_done) {
    const Parts work{cx, shared, r, goal, list, results, strip, mapped};
    do_all(cx, shared, work);
    for (int member = 0; member < cx.size; ++member) {
      const int pieces = work.pieces(member);
      co_await cx.until(shared.is_finished(member, pieces));
    }
    *is_done = shared.is_good();
    if (*is_done) shared.fetch(kResult, got.target());
    const bool is_stored = received > 0 && !shared.is_in_room(shared.buffer(cx.rank, kResult));
    if (is_stored && takes_over(cx, r.bytes())) copy::take_over(got.target().address, got.bytes());
  }
  turn.leave(true);
  co_return Err::ok;
}

}  // namespace

Task allreduce_direct(Cx cx, Reduction r) {
  bool is_done = false;
  r = with_operand_apart(cx, r);
  co_await combine_direct(cx, r, {Goal::Form::all_everywhere}, &is_done);
  if (!is_done) co_await start_allreduce(cx.apart(), r);
  co_return Err::ok;
}

Task reduce_direct(Cx cx, Reduction r, int root) {
  bool is_done = false;
  r = with_operand_apart(cx, r);
  co_await combine_direct(cx, r, {Goal::Form::all_at_root, root}, &is_done);
  if (!is_done) co_await start_reduce(cx.apart(), r, root);
  co_return Err::ok;
}

Task reduce_scatter_direct(Cx cx, Reduction r, Blocks parts) {
  bool is_done = false;
  r = with_operand_apart(cx, r);
  co_await combine_direct(cx, r, {Goal::Form::own_part, -1, &parts}, &is_done);
  if (!is_done) co_await start_reduce_scatter(cx.apart(), r, parts);
  co_return Err::ok;
}

Task scan_direct(Cx cx, Reduction r, bool is_exclusive) {
  bool is_done = false;
  r = with_operand_apart(cx, r);
  co_await combine_direct(cx, r, {is_exclusive ? Goal::Form::prefix_before : Goal::Form::prefix}, &is_done);
  if (!is_done) co_await start_scan(cx.apart(), r, is_exclusive);
  co_return Err::ok;
}

}  // namespace dunlin::coll
