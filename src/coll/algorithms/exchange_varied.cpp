// Exchange of blocks whose lengths only their two ends know: alltoallv, alltoallw, and the neighborhood
// collectives.
//
// Where the ranks share memory, a member puts a table of what it gives into its room, and its short blocks
// behind that; who gets one waits for the table and reads.  Long blocks travel as messages, which both ends
// copy straight from buffer to buffer (protocol/shared_copy.cpp).  The sender alone decides which blocks are
// short; the table says it.  Where ranks do not share memory, all blocks are messages.  Nothing is sent of
// blocks without data: both ends know them.
// Cost: one wait and 2 n beta for the short blocks; alpha + n beta for each long one.
#include <cstring>

#include "coll/algorithms/algorithms.hpp"
#include "coll/rules.hpp"
#include "progress/engine.hpp"

namespace dunlin::coll {
namespace {

constexpr int kNobody = -1;

/// With whom block `i` is exchanged.
int rank_at(const Ends& ends, int i, const Cx& cx) noexcept {
  if (!ends.ranks) return i == cx.rank ? kNobody : i;
  return ends.ranks[i] == MPI_PROC_NULL ? kNobody : ends.ranks[i];
}

/// Whether these are all ranks and this one, in their order; neighbors are listed.
bool are_all(const Ends& ends, const Cx& cx) noexcept { return !ends.ranks && ends.count == cx.size; }

/// The block that is received as the `place`-th: from one's next neighbor on where all exchange with all.
int block_at(const Ends& from, int place, const Cx& cx) noexcept {
  if (from.order) return from.order[place];
  return from.ranks ? place : cx.wrapped(cx.rank - (cx.size - 1 - place));
}

/// What a member tells of one of its blocks.
struct Entry {
  std::int32_t to;
  std::uint32_t position;  // of its bytes behind the beginning of the table; 0: it comes as a message
  std::uint32_t bytes;     // of one that is there
};
struct Table {
  std::uint32_t count;
  Entry entries[];
};

/// Of a table that begins where a member's data begins, and of the blocks behind it.
class ShortBlocks {
 public:
  /// Decides which blocks are short.
  ShortBlocks(const Cx& cx, const Ends& to, const Blocks& send) noexcept : cx_(cx), to_(to), send_(send) {
    for (int i = 0; i < to.count; ++i) entries_ += rank_at(to, i, cx) != kNobody;
    if (entries_ * sizeof(Entry) > transport::shm::Commons::kRoomBytes / 4) entries_ = 0;  // then none is
    used_ = begin();
    for (int i = 0; i < to.count && entries_ > 0; ++i)
      if (is_short(i)) used_ = position(i) + send[i].bytes();
  }
  /// Of table and blocks; 0 where this member gives nothing.
  std::size_t bytes() const noexcept { return entries_ > 0 ? used_ : 0; }

  /// Writes table and blocks; `is_sent`: by block, which ones.
  void put(const Turn& turn, bool* is_sent) noexcept {
    const std::size_t all_bytes = bytes();
    Table& table = *reinterpret_cast<Table*>(turn.data(cx_.rank, all_bytes));
    table.count = 0;
    used_ = begin();
    for (int i = 0; i < to_.count && entries_ > 0; ++i) {
      const int rank = rank_at(to_, i, cx_);
      if (rank == kNobody) continue;
      const Block block = send_[i];
      const std::size_t bytes = block.bytes();
      is_sent[i] = is_short(i);
      const std::size_t at = position(i);
      table.entries[table.count++] = {rank, is_sent[i] ? std::uint32_t(at) : 0, std::uint32_t(bytes)};
      if (!is_sent[i]) continue;
      if (bytes > 0) turn.put(block, bytes, at, all_bytes);
      used_ = at + bytes;
    }
  }

 private:
  std::size_t begin() const noexcept { return sizeof(Table) + entries_ * sizeof(Entry); }
  // At the present fill of the room.
  std::size_t position(int i) const noexcept { return place_behind(used_, send_[i].bytes()); }
  bool is_short(int i) const noexcept {
    if (rank_at(to_, i, cx_) == kNobody) return false;
    const std::size_t bytes = send_[i].bytes();
    return bytes <= shared_bytes_max() && position(i) + bytes <= transport::shm::Commons::kRoomBytes;
  }

  const Cx& cx_;
  const Ends& to_;
  const Blocks& send_;
  std::size_t entries_ = 0;
  std::size_t used_ = 0;
};

/// What is told of block number `ordinal` for this rank; null: nothing, it is a message.
const Entry* find(const Cx& cx, const Table& theirs, int ordinal) noexcept {
  for (const Entry *each = theirs.entries, *const end = each + theirs.count; each < end; ++each)
    if (each->to == cx.rank && ordinal-- == 0) return each;
  return nullptr;
}

/// The short blocks; `is_sent` and `is_received`: by block, which ones.
Task exchange_short(Cx cx, Ends to, Blocks send, Ends from, Blocks recv, bool* is_sent, bool* is_received) {
  const Turn turn = cx.turn();
  auto* const ordinals = reinterpret_cast<int*>(cx.take(std::size_t(cx.size) * sizeof(int)));
  co_await cx.until(turn.place_is_free());
  std::memset(ordinals, 0, std::size_t(cx.size) * sizeof(int));
  ShortBlocks given(cx, to, send);
  if (given.bytes() > 0) given.put(turn, is_sent);
  turn.arrive(given.bytes());
  // Not before arriving: meanwhile others read.
  if (are_all(to, cx)) copy(send[cx.rank], recv[cx.rank]);
  int met = 0;
  for (int place = 0; place < from.count; ++place) {
    const int i = block_at(from, place, cx), source = rank_at(from, i, cx);
    if (source == kNobody) continue;
    const int ordinal = ordinals[source]++;
    const std::size_t bytes = recv[i].bytes();
    if (bytes == 0) continue;
    co_await cx.until(turn.is_there(source));
    met += ordinal == 0;
    const std::size_t all_bytes = turn.bytes_of(source);
    const Entry* const entry =
        all_bytes > 0 ? find(cx, *reinterpret_cast<Table*>(turn.data(source, all_bytes)), ordinal) : nullptr;
    if (!entry || entry->position == 0) continue;
    is_received[i] = true;  // also one of another length: no message comes
    if (cx.agrees(source, entry->bytes, bytes))
      turn.get(source, recv[i], bytes, entry->position, all_bytes);
  }
  turn.leave(met == cx.size - 1 && ordinals[cx.rank] == 0);
  co_return Err::ok;
}

}  // namespace

Task exchange_varied(Cx cx, Ends to, Blocks send, Ends from, Blocks recv) {
  const std::size_t blocks = std::size_t(to.count) + std::size_t(from.count);
  auto* const is_sent = reinterpret_cast<bool*>(cx.take(blocks));
  if (!is_sent) co_return Err::no_mem;
  bool* const is_received = is_sent + to.count;
  std::memset(is_sent, 0, blocks);
  if (cx.share_memory()) co_await exchange_short(cx, to, send, from, recv, is_sent, is_received);
  for (int place = 0; place < from.count; ++place) {
    const int i = block_at(from, place, cx), source = rank_at(from, i, cx);
    if (source != kNobody && !is_received[i] && recv[i].bytes() > 0) cx.post_recv(recv[i].target(), source);
  }
  for (int i = 0; i < to.count; ++i) {
    const int rank = rank_at(to, i, cx);
    if (rank != kNobody && !is_sent[i] && send[i].bytes() > 0) cx.post_send(send[i].source(), rank);
  }
  co_await cx.all();
  co_return Err::ok;
}

Task alltoall_varied(Cx cx, Blocks send, Blocks recv) {
  return exchange_varied(cx, {nullptr, cx.size}, send, {nullptr, cx.size}, recv);
}

}  // namespace dunlin::coll
