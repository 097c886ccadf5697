// All collectives that move long data, in one text: every member copies what it gets straight from the buffer
// of its source into its own (or, for a gather, what it gives into the root's).
//
// A share is the p-1 transfers of one member, beginning with its neighbour, so that no two members read the
// same source at the same time.  Long transfers are cut into pieces, so that idle members help.  Each byte
// moves once.  Cost: two waits, and the bytes of all transfers / p at each rank.
//
// With a root a share is the one transfer with that.  Members wait for nobody else, and where ranks have CPUs
// of their own the root does pieces of those that are there.  Cost: one wait, at the root p-1.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"
#include "coll/select.hpp"
#include "coll/shared_work.hpp"
#include "copy/copy.hpp"
#include "progress/engine.hpp"

namespace dunlin::coll {
namespace {

using protocol::MappedBuffer;
using protocol::RemoteBuffer;

/// Pieces are not longer than 256 KiB, up to 64 of them.  Where not every member has a share, two members may
/// divide a transfer from 64 KiB on.
int cut(std::size_t bytes, bool has_everybody_a_share) noexcept {
  if (bytes < 64 << 10) return bytes > 0 ? 1 : 0;
  return int(std::clamp(bytes >> 18, std::size_t{has_everybody_a_share ? 1u : 2u}, std::size_t{64}));
}

struct Exchange {
  enum class Shape : std::uint8_t { all, from_root, to_root };
  Blocks send, recv;  // by destination, by source
  int root;
  Shape shape;
  bool has_block_for_each;  // what is given to several is not the same block
  bool has_own;             // who gives to itself, too, copies that block
  bool gives(int from, int to) const noexcept {
    return shape == Shape::all || (shape == Shape::from_root ? from : to) == root;
  }
  bool has_root() const noexcept { return shape != Shape::all; }
};

struct Transfers {
  const Cx& cx;
  const SharedWork& shared;
  const Exchange& exchange;
  const bool are_pushed;  // a share is what a member gives
  mutable std::size_t stored_here = 0;  // bytes that this member has stored for itself

  struct Ends {
    int from, to;
  };
  Ends ends(int member, int step) const noexcept {
    const int other = cx.wrapped(member + step);
    return are_pushed ? Ends{member, other} : Ends{other, member};
  }
  /// The transfers of a member's share are its steps from `first` to `last`.
  struct Steps {
    int first, last;
  };
  Steps steps(int member) const noexcept {
    if (!exchange.has_root()) return {1, cx.size - 1};
    const int step = cx.wrapped(exchange.root - member);
    return step == 0 ? Steps{1, 0} : Steps{step, step};
  }
  /// Every member's first p buffers are what it gives, by destination; then what it gets, by source.
  const RemoteBuffer& given(Ends both) const noexcept { return shared.buffer(both.from, both.to); }
  const RemoteBuffer& got(Ends both) const noexcept { return shared.buffer(both.to, cx.size + both.from); }

  /// Whether what is given in a share is what is expected; ranks that take different ones for the root do not
  /// agree.
  bool does_agree(int member) const noexcept {
    bool is_so = true;
    const Steps mine = steps(member);
    for (int step = mine.first; step <= mine.last; ++step)
      is_so &= given(ends(member, step)).bytes == got(ends(member, step)).bytes;
    return is_so;
  }
  std::size_t bytes_given(Ends both) const noexcept { return shared.bytes_given(both.from, both.to); }
  /// The same of all shares; where they do not, all ranks have an error.  p(p-1) comparisons, and 48 p^2
  /// bytes of the members' tables to read: of 32, the most that a region has unless a setting says otherwise,
  /// 992 and 49 KB, beside 31 blocks of more than 32 KiB that each reads (5 %).  128 or 10,000 ranks have
  /// several domains of no more than that.
  bool do_agree() const noexcept {
    bool is_so = true;
    for (int member = 0; member < cx.size; ++member) {
      const Steps mine = steps(member);
      for (int step = mine.first; step <= mine.last && is_so; ++step) {
        const Ends both = ends(member, step);
        is_so = cx.agrees(both.from, bytes_given(both), got(both).bytes);
      }
    }
    return is_so;
  }
  int pieces_of(Ends both) const noexcept { return cut(given(both).bytes, !exchange.has_root()); }
  /// What a member reads where blocks have `bytes`: what others give, and of an allgather its own block, too,
  /// to copy it to where others read it.
  std::size_t reads(std::size_t bytes) const noexcept {
    if (exchange.has_root()) return bytes;
    return bytes * std::size_t(exchange.has_block_for_each ? cx.size - 1 : cx.size);
  }
  /// What all read and store where blocks have `bytes`.
  std::size_t all_bytes(std::size_t bytes) const noexcept {
    const int givers = exchange.has_root() ? 1 : cx.size;
    const int stored = givers * (cx.size - 1), read = exchange.has_block_for_each ? stored : givers;
    return bytes * std::size_t(read + stored);
  }
  /// Whether others have stored something of what this member gets.
  bool have_others_stored() const noexcept {
    std::size_t bytes = 0;
    for (int from = 0; from < cx.size; ++from)
      if (from != cx.rank && exchange.gives(from, cx.rank)) bytes += got({from, cx.rank}).bytes;
    return stored_here < bytes;
  }
  /// What others may have stored of a block for this member becomes its own: it reads that next.
  void take_over_block(int from) const noexcept {
    const Target to = exchange.recv[from].target();
    if (shared.is_in_room(got({from, cx.rank})) || !to.is_contiguous()) return;
    if (!shared.is_far() && takes_over(cx, reads(to.bytes), false)) take_over(to.address, to.bytes);
  }
  int pieces(int member) const noexcept {
    int count = 0;
    const Steps all = steps(member);
    for (int step = all.first; step <= all.last; ++step) count += pieces_of(ends(member, step));
    return count;
  }
  bool do_piece(int member, int piece) const noexcept {
    const Steps all = steps(member);
    for (int step = all.first;; ++step) {
      DUNLIN_ASSERT(step <= all.last);
      const Ends both = ends(member, step);
      const int pieces = pieces_of(both);
      if (piece < pieces) return copy_piece(both, piece, pieces);
      piece -= pieces;
    }
  }
  bool copy_piece(Ends both, int piece, int pieces) const noexcept {
    const std::size_t bytes = given(both).bytes, each = bytes / std::size_t(pieces) & ~std::size_t{63};
    const std::size_t begin = each * std::size_t(piece);
    const std::size_t end = piece + 1 == pieces ? bytes : begin + each;
    const bool is_read = both.from != cx.rank && shared.is_by_kernel(given(both));
    const bool is_written = both.to != cx.rank && shared.is_by_kernel(got(both));
    MappedBuffer theirs, room;
    Source from;
    Target to;
    if (both.from == cx.rank) {
      from = exchange.send[both.to].source();
    } else if (!is_read) {
      if (!(theirs = shared.map(both.from, given(both)))) return false;
      from = theirs.source();
    }
    if (both.to == cx.rank && !shared.is_in_room(got(both))) {
      to = exchange.recv[both.from].target();
    } else if (!is_written) {
      if (!(room = shared.map(both.to, got(both)))) return false;
      to = room.target();
      if (to.is_contiguous()) copy::load_before_stores(to.address + begin, end - begin);
    }
    if (both.to == cx.rank) stored_here += end - begin;
    if (is_read) return shared.try_read(both.from, given(both), to, begin, end);
    if (is_written) return shared.try_write(both.to, got(both), from, begin, end);
    DUNLIN_ASSERT(to.bytes >= bytes);
    if (from.is_contiguous() && to.is_contiguous())
      store(to.address + begin, from.address + begin, end - begin, all_bytes(bytes),
            both.to != cx.rank && shared.is_far());
    else
      copy_range(from, to, begin, end - begin);
    const bool is_read_once = exchange.has_block_for_each || cx.size == 2;
    if (theirs.mapping.may_take_over() && is_read_once && from.is_contiguous() &&
        takes_over(cx, reads(bytes), shared.is_far()))
      take_over(from.address + begin, end - begin);
    return (!theirs || shared.is_still_valid(both.from, theirs.mapping)) &&
           (!room || shared.is_still_valid(both.to, room.mapping));
  }
};

void describe(SharedWork& shared, const Cx& cx, const Exchange& exchange) noexcept {
  for (int other = 0; other < cx.size; ++other) {
    const bool gives = other != cx.rank && exchange.gives(cx.rank, other);
    const bool gets = other != cx.rank && exchange.gives(other, cx.rank);
    shared.give(other, gives ? exchange.send[other].source() : Source{});
    shared.want(cx.size + other, gets ? exchange.recv[other].target() : Target{});
  }
}

void copy_own(const Cx& cx, const Exchange& exchange) noexcept {
  if (exchange.has_own && exchange.gives(cx.rank, cx.rank))
    copy(exchange.send[cx.rank], exchange.recv[cx.rank]);
}

/// `is_done`: what comes out; false: nothing of use has been done.
Task exchange_all(Cx cx, Exchange exchange, bool* is_done) {
  const Turn turn = cx.turn();
  SharedWork shared(cx, turn, 2 * cx.size, Reach::by_kernel);
  co_await cx.until(turn.place_is_free());
  shared.begin();
  describe(shared, cx, exchange);
  turn.arrive(0);
  co_await cx.until(turn.all_are_there());
  const Transfers transfers{cx, shared, exchange, shared.are_all_far()};
  const bool do_agree = transfers.do_agree();
  const Reach reach = shared.least_reach();
  shared.look_at_distances();
  *is_done = !do_agree;  // an error of all
  if (do_agree && reach != Reach::none) {
    copy_own(cx, exchange);  // not before arriving: meanwhile others begin with what they get
    if (reach == Reach::mapped)
      do_all(cx, shared, transfers);
    else
      do_share(shared, transfers, cx.rank);
    for (int member = 0; member < cx.size; ++member) {
      const int pieces = transfers.pieces(member);
      co_await cx.until(shared.is_finished(member, pieces));
    }
    *is_done = shared.is_good();
    const bool have_others_stored = transfers.have_others_stored();
    for (int other = 0; other < cx.size && *is_done; ++other) {
      if (other == cx.rank) continue;
      shared.fetch(cx.size + other, exchange.recv[other].target());
      if (have_others_stored) transfers.take_over_block(other);
    }
  }
  turn.leave(true);
  co_return Err::ok;
}

/// The same with a root; false: its buffer is out of reach of the others.  A pair whose share is spoilt sends
/// a message; of one that disagrees who receives has an error.
Task exchange_with_root(Cx cx, Exchange exchange, bool* is_done) {
  const Turn turn = cx.turn();
  const int root = exchange.root;
  const bool is_root = cx.rank == root;
  SharedWork shared(cx, turn, 2 * cx.size, Reach::by_kernel);
  co_await cx.until(turn.place_is_free());
  shared.begin();
  describe(shared, cx, exchange);
  const int partner = is_root ? cx.wrapped(root + 1) : root;
  turn.arrive(exchange.gives(cx.rank, partner) ? exchange.send[partner].bytes() : 0);
  if (!is_root) co_await cx.until(turn.is_there(root));
  *is_done = shared.is_reachable(root);
  if (!*is_done) {
    turn.leave(false);
    co_return Err::ok;
  }
  const bool are_pushed = exchange.shape == Exchange::Shape::to_root;
  const Transfers transfers{cx, shared, exchange, are_pushed};
  const bool helps = !cx.run->engine.does_job_share_cores(), receives = is_root == are_pushed;
  copy_own(cx, exchange);
  const int first = is_root ? 1 : 0, end = is_root ? cx.size : 1;  // steps to members whose shares it sees
  for (int step = first; step < end; ++step) {
    const int member = cx.wrapped(cx.rank + step);
    if (is_root) co_await cx.until(turn.is_there(member));
    if (!transfers.does_agree(member)) continue;
    shared.look_at_distance(is_root ? member : root);
    if (!is_root || (helps && shared.is_reachable(member))) do_share(shared, transfers, member);
    const int pieces = transfers.pieces(member);
    co_await cx.until(shared.is_finished(member, pieces));
  }
  const bool have_others_stored = transfers.have_others_stored();
  for (int step = first; step < end; ++step) {
    const int member = cx.wrapped(cx.rank + step), other = is_root ? member : root;
    const bool is_spoilt = shared.is_spoilt(member);
    if (!transfers.does_agree(member)) continue;
    if (!receives) {
      if (is_spoilt) cx.post_send(exchange.send[other].source(), other);
    } else if (is_spoilt) {
      cx.post_recv(exchange.recv[other].target(), other);
    } else {
      shared.fetch(cx.size + other, exchange.recv[other].target());
      if (have_others_stored) transfers.take_over_block(other);
    }
  }
  co_await cx.all();
  // An error ends the call: not before nobody stores anything here any more.
  for (int step = first; receives && step < end; ++step) {
    const int other = is_root ? cx.wrapped(cx.rank + step) : root;
    (void)cx.agrees(other, transfers.bytes_given({other, cx.rank}), transfers.got({other, cx.rank}).bytes);
  }
  turn.leave(is_root);
  co_return Err::ok;
}

}  // namespace

Task bcast_direct(Cx cx, Block block, int root) {
  bool is_done = false;
  const Blocks blocks = Blocks::same(block);
  co_await exchange_with_root(cx, {blocks, blocks, root, Exchange::Shape::from_root, false, false}, &is_done);
  if (!is_done) co_await start_bcast(cx.apart(), block, root);
  co_return Err::ok;
}

Task gather_direct(Cx cx, Block mine, Blocks all, int root, bool in_place) {
  bool is_done = false;
  co_await exchange_with_root(
      cx, {Blocks::same(mine), all, root, Exchange::Shape::to_root, true, !in_place}, &is_done);
  if (!is_done) co_await start_gather(cx.apart(), mine, all, root, in_place);
  co_return Err::ok;
}

Task scatter_direct(Cx cx, Blocks all, Block mine, int root, bool in_place) {
  bool is_done = false;
  co_await exchange_with_root(
      cx, {all, Blocks::same(mine), root, Exchange::Shape::from_root, true, !in_place}, &is_done);
  if (!is_done) co_await start_scatter(cx.apart(), all, mine, root, in_place);
  co_return Err::ok;
}

Task allgather_direct(Cx cx, Block mine, Blocks all) {
  bool is_done = false;
  // Lines that are taken over are those of the copy in the result: those of `mine` are slow to take over, as
  // this member reads them each time, too.
  const bool are_taken_over = cx.size == 2 && !are_others_far(cx) && takes_over(cx, 2 * mine.bytes(), false);
  const Blocks given = Blocks::same(are_taken_over ? all[cx.rank] : mine);
  co_await exchange_all(cx, {given, all, 0, Exchange::Shape::all, false, false}, &is_done);
  if (!is_done) co_await start_allgather(cx.apart(), mine, all);
  co_return Err::ok;
}

Task alltoall_direct(Cx cx, Blocks send, Blocks recv) {
  bool is_done = false;
  co_await exchange_all(cx, {send, recv, 0, Exchange::Shape::all, true, true}, &is_done);
  if (!is_done) co_await start_alltoall(cx.apart(), send, recv, false);
  co_return Err::ok;
}

}  // namespace dunlin::coll
