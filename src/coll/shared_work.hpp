// Work that the members of a region do together, straight from and to the buffers of all of them.
//
// Each member describes its buffers before it arrives.  When all are there, the work is cut into shares, one
// a member, and each share into pieces.  A member does the pieces of its own share, then helps with those of
// the others: so nobody waits for a rank that has no core at this moment, or that computes meanwhile, and
// where ranks share cores the last to arrive on each core does the work of all that sleep.  Who does a piece
// does not change its result.  Called by exchange_direct.cpp and combine_direct.cpp.
//
// A buffer that its owner cannot offer (private memory), or that a worker cannot reach (its owner has
// forked), spoils the work; all members find that out alike, and do the whole by messages. Thread safety:
// under base/big_lock.hpp.
#pragma once

#include "coll/steps.hpp"
#include "protocol/layouts.hpp"
#include "protocol/messaging.hpp"

namespace dunlin::coll {

/// What a member writes for the others: its buffers, as many as the algorithm says.
struct OfferedBuffers {
  std::uint64_t are_mappable;
  protocol::RemoteBuffer buffers[];

  static std::size_t bytes(int count) noexcept {
    return sizeof(OfferedBuffers) + std::size_t(count) * sizeof(protocol::RemoteBuffer);
  }
};

/// One member's side of the work.
class SharedWork {
 public:
  SharedWork(const Cx& cx, const Turn& turn, int buffers) noexcept
      : cx_(cx), turn_(turn), offered_bytes_(OfferedBuffers::bytes(buffers)) {}

  // Before arriving.
  void begin() const noexcept;
  /// Others may read it, or write it.
  template <class Data>
  void offer(int index, const Data& data) const noexcept {
    OfferedBuffers& mine = offered(cx_.rank);
    const bool is_empty = data.bytes == 0;
    const std::uint64_t layout = data.type && !is_empty ? protocol::published_layout(*data.type) : 0;
    mine.buffers[index] = {reinterpret_cast<std::uint64_t>(data.address), data.bytes, layout};
    if (!is_empty && ((data.type && !layout) || !cx_.comm->messaging->peers.is_mappable(data))) refuse();
  }

  /// There is a buffer that others cannot use.
  void refuse() const noexcept { offered(cx_.rank).are_mappable = 0; }

  // When all are there.
  bool are_all_mappable() const noexcept;
  const protocol::RemoteBuffer& buffer(int member, int index) const noexcept {
    return offered(member).buffers[index];
  }
  /// A buffer by plain loads and stores.
  protocol::MappedBuffer map(int member, const protocol::RemoteBuffer& buffer) const noexcept;
  bool is_still_valid(int member, const peer::Mapping& mapping) const noexcept;

  /// A piece of `member`'s share that nobody else does, or -1.
  int try_take(int member, int pieces) const noexcept;
  /// It is done; `is_good`: all memory could be reached.
  void finish(int member, int pieces, bool is_good) const noexcept;
  Flags is_finished(int member, int pieces) const noexcept;
  /// When all is finished: whether all pieces were good.
  bool is_good() const noexcept;

 private:
  OfferedBuffers& offered(int member) const noexcept {
    return *reinterpret_cast<OfferedBuffers*>(turn_.data(member, offered_bytes_));
  }

  const Cx cx_;
  const Turn turn_;
  const std::size_t offered_bytes_;
};

/// Does the pieces of all shares, the own ones first, as long as there are some; `work.pieces(member)` are in
/// a share, and `work.do_piece(member, piece)` does one and answers whether it was good.
template <class Work>
void do_all(const Cx& cx, const SharedWork& shared, const Work& work) noexcept {
  for (int step = 0; step < cx.size; ++step) {
    const int member = cx.wrapped(cx.rank + step), pieces = work.pieces(member);
    for (int piece; (piece = shared.try_take(member, pieces)) >= 0;)
      shared.finish(member, pieces, work.do_piece(member, piece));
  }
}

}  // namespace dunlin::coll
