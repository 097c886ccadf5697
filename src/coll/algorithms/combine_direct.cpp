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
#include <cstring>

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
  std::byte* strip;  // for a far root, or a program's function, which must not write an operand; else null
  peer::Mapping* mapped;  // room for two a member
  int* workers;  // by piece of all shares: this member's rank plus one, where it has combined it; or null

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

  /// Of the elements of all.
  Range range(int owner, int piece) const noexcept {
    const Range all = share(owner);
    const int count = pieces(owner);
    const std::int64_t first = all.count * piece / count, end = all.count * (piece + 1) / count;
    return {all.first + first, end - first};
  }
  /// In a reduce-scatter the result of a part lies at the beginning of its owner's buffer.
  std::int64_t result_first(int owner, Range range) const noexcept {
    return goal.parts ? range.first - share(owner).first : range.first;
  }
  /// The number of its first piece among the pieces of all shares.
  int first_piece(int owner) const noexcept {
    int before = 0;
    for (int member = 0; member < owner; ++member) before += pieces(member);
    return before;
  }

  Reduction reduction(Range range) const noexcept {
    Reduction part = r;
    part.mine = offset(r.mine, range.first * r.type->extent());
    part.result = offset(r.result, range.first * r.type->extent());
    part.count = range.count;
    return part;
  }

  bool do_piece(int owner, int piece) const noexcept {
    const Range mine = range(owner, piece);
    if (!try_combine(mine, owner, result_first(owner, mine))) return false;
    if (workers) workers[first_piece(owner) + piece] = cx.rank + 1;
    take_over_operands(mine);
    return are_still_valid(owner);
  }

  /// False: some memory cannot be reached, and nothing has been stored.
  bool try_combine(Range range, int owner, std::int64_t result_first) const noexcept {
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
      done += count;
    }
    return true;
  }

  /// Those that this member has combined, where its result is in the room.
  void fetch_own_pieces() const noexcept {
    const std::int64_t size = r.type->size();
    const int* worker = workers;
    for (int owner = 0; owner < cx.size; ++owner)
      for (int piece = 0; piece < pieces(owner); ++piece) {
        if (*worker++ != cx.rank + 1) continue;
        const Range mine = range(owner, piece);
        const std::byte* const at = reach(cx.rank, kResult, mine.first * size, mine.count * size);
        std::byte* const to = r.result + mine.first * size;
        if (at != to) copy::bytes(to, at, std::size_t(mine.count * size));
      }
  }

  /// What others have stored of this member's result becomes its own: it reads that next.
  void take_over_result() const noexcept {
    const std::int64_t size = r.type->size();
    const int* worker = workers;
    for (int owner = 0; owner < cx.size; ++owner)
      for (int piece = 0; piece < pieces(owner); ++piece) {
        if (*worker++ == cx.rank + 1 || !goal.has_result_for(cx.rank, owner)) continue;
        const Range theirs = range(owner, piece);
        take_over(r.result + result_first(owner, theirs) * size, std::size_t(theirs.count * size));
      }
  }

  /// The next `count` elements.
  void combine_strip(std::int64_t count, std::size_t bytes, int receivers) const noexcept {
    std::byte* const to = strip ? strip : results[0];
    if (cx.size == 2)
      r.op->combine3(list[0], list[1], to, count, *r.type);
    else
      r.op->combine_k({list, std::size_t(cx.size)}, to, count, *r.type);
    traffic.loaded += bytes * std::size_t(cx.size);
    traffic.stored += bytes * std::size_t(receivers);
    const auto all_bytes = std::size_t(r.bytes()) * std::size_t(cx.size + receivers);
    const bool is_mine_first = goal.has_result_for(cx.rank, cx.rank);
    for (int i = strip ? 0 : 1; i < receivers; ++i)
      store(results[i], to, bytes, all_bytes, shared.is_far() && !(i == 0 && is_mine_first));
  }
  /// The same for a scan: what one member gets is the left operand of the next.
  void combine_prefixes(std::int64_t count, std::size_t bytes) const noexcept {
    const int first = goal.form == Goal::Form::prefix_before ? 1 : 0;
    copy::bytes(results[first], static_cast<const std::byte*>(list[0]), bytes);
    for (int member = first + 1; member < cx.size; ++member)
      r.op->combine3(results[member - 1], list[member - first], results[member], count, *r.type);
    traffic.loaded += bytes * std::size_t(cx.size - first);  // and prefixes out of the first-level cache
    traffic.stored += bytes * std::size_t(cx.size - first);
  }

  std::byte* reach(int member, int which, std::int64_t position, std::int64_t bytes) const noexcept {
    // Its own operand where it comes from, as in combine_shared.cpp.
    if (member == cx.rank && which == kOperand) return const_cast<std::byte*>(r.mine) + position;
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
          member != cx.rank && at.may_take_over() && takes_over(cx, std::size_t(r.bytes()), shared.is_far()))
        take_over(at.at, std::size_t(range.count * r.type->size()));
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

/// An operand in the place of the result could not be combined again by messages if the work is spoilt: what
/// is combined is a copy.  Not for an allreduce, where the result is in several places.
Reduction with_operand_apart(const Cx& cx, const Reduction& r) noexcept {
  if (r.mine != r.result) return r;
  Reduction apart = r;
  std::byte* const own = cx.take_elements(r.count, *r.type);
  if (own) copy(r.block(r.mine), r.block(own));
  apart.mine = own;
  return apart;
}

/// By messages, where a member's memory went out of reach in the middle of an allreduce: it forked, and what
/// others have stored since is not in its result.  A piece that was combined is right with who did it, whose
/// own memory is always its own: what it had mapped of operands has kept its bytes (docs/memory.md, "Fork").
/// One that was not has left all operands as they were, in place, too.
Task hand_round(Cx cx, Parts parts) {
  const int pieces = parts.first_piece(cx.size);
  const Reduction agreed{reinterpret_cast<const std::byte*>(parts.workers),
                         reinterpret_cast<std::byte*>(parts.workers), pieces,
                         from_handle<Datatype>(MPI_INT), from_handle<Op>(MPI_MAX)};
  co_await start_allreduce(cx, agreed);
  int number = 0;
  for (int owner = 0; owner < cx.size; ++owner)
    for (int piece = 0; piece < parts.pieces(owner); ++piece) {
      const Reduction part = parts.reduction(parts.range(owner, piece));
      const int worker = parts.workers[number++] - 1;
      if (worker >= 0)
        co_await start_bcast(cx, part.block(part.result), worker);
      else
        co_await start_allreduce(cx, part);
    }
  co_return Err::ok;
}

Task combine_direct(Cx cx, Reduction r, Goal goal, bool* is_done) {
  const Turn turn = cx.turn();
  const auto size = std::size_t(cx.size);
  auto* const list = reinterpret_cast<const void**>(cx.take(size * sizeof(void*)));
  auto* const results = reinterpret_cast<std::byte**>(cx.take(size * sizeof(void*)));
  auto* const mapped = reinterpret_cast<peer::Mapping*>(cx.take(2 * size * sizeof(peer::Mapping)));
  const bool is_function = r.op->operation() == op::Operator::user;
  const bool is_root_far = goal.form == Goal::Form::all_at_root && cx.rank != goal.root && are_others_far(cx);
  const std::int64_t strip_count = std::max<std::int64_t>(1, kStripBytes / r.type->size());
  const bool needs_strip = (is_function && !goal.is_prefix()) || is_root_far;
  std::byte* const strip = needs_strip ? cx.take_elements(strip_count, *r.type) : nullptr;
  SharedWork shared(cx, turn, kBuffers, Reach::mapped);
  co_await cx.until(turn.place_is_free());
  shared.begin();
  const std::int64_t whole = goal.parts ? (*goal.parts)[cx.rank].count : r.count;
  const std::int64_t received = goal.has_result_for(cx.rank, cx.rank) ? whole : 0;
  const Block given = r.block(r.mine), got = {received > 0 ? r.result : nullptr, received, r.type};
  shared.give(kOperand, given.source());
  shared.want(kResult, got.target());
  if (!r.type->is_contiguous() || r.type->true_lower_bound() != 0) shared.refuse();  // elements in a row only
  turn.arrive(r.bytes());
  co_await cx.until(turn.all_are_there());
  bool do_agree = true;
  for (int member = 0; member < cx.size && do_agree; ++member)  // else all ranks have an error, and are done
    do_agree = cx.agrees(member, shared.bytes_given(member, kOperand), r.bytes());
  const bool are_reachable = shared.least_reach() == Reach::mapped;
  shared.look_at_distances();
  if (!do_agree || !are_reachable) {
    *is_done = !do_agree;
    turn.leave(true);
    co_return Err::ok;
  }
  Parts work{cx, shared, r, goal, list, results, strip, mapped, nullptr};
  const std::size_t bytes = std::size_t(work.first_piece(cx.size)) * sizeof(int);
  work.workers = reinterpret_cast<int*>(cx.take(bytes));
  if (work.workers) std::memset(work.workers, 0, bytes);
  const bool has_pieces = work.workers && goal.form == Goal::Form::all_everywhere;
  do_all(cx, shared, work);
  for (int member = 0; member < cx.size; ++member) {
    const int pieces = work.pieces(member);
    co_await cx.until(shared.is_finished(member, pieces));
  }
  const bool is_good = shared.is_good();
  if (is_good) {
    shared.fetch(kResult, got.target());
    const bool is_in_room = shared.is_in_room(shared.buffer(cx.rank, kResult));
    const bool have_gone_around = shared.is_far() && !goal.is_prefix();
    if (work.workers && !is_in_room && !have_gone_around && takes_over(cx, r.bytes(), shared.is_far()))
      work.take_over_result();
  } else if (has_pieces) {
    work.fetch_own_pieces();
  }
  turn.leave(true);
  if (!is_good && has_pieces) co_await hand_round(cx.apart(), work);
  *is_done = is_good || has_pieces;
  co_return Err::ok;
}

}  // namespace

Task allreduce_direct(Cx cx, Reduction r) {
  bool is_done = false;
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
