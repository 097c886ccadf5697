// The node's shared memory as the ranks of a node lay it out among themselves.
//
//   memfd   | launch page (boot)      | written by mpirun and boot, not ours
//           | first pages             | the sizes below, decided by whoever opens first; an Attention each:
//           |                         | who wakes many looks at all of them, and so needs one page
//           | region of local rank 0  |
//           | region of local rank 1  | ...
//
//   region  | front    InboxWords, Bell, a doorbell per sender             what others tell this rank
//           |          Presence                                          what it tells them
//           | cells    one promotion cell per receiver, a pool of cells   what this rank sends by inboxes
//           | transfers  a pool of two lines each, ours and a peer's    copies shared with another rank
//           | commons    kCommons of them (commons.hpp)                 collectives of communicators
//           | pair 0   Credits, lines, bulk                               the ring from local rank 0 to us
//           | pair 1   ...
//
// A memfd needs no file system and is not limited by the size of /dev/shm.  It is sparse and mapped
// whole: a page costs memory when it is first touched, so a pair that never talks costs none, and one
// that exchanged a few messages over its ring costs one page.  All-zero memory is the valid start of
// every structure, so a rank may be sent to before it has opened, and opening needs no message.  At 128
// ranks with default sizes: 320 GB of addresses, no page tables yet.
//
// Thread safety: see the structures; the agreement is one word that is set once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/err.hpp"
#include "transport/shm/attention.hpp"
#include "transport/shm/bell.hpp"
#include "transport/shm/commons.hpp"
#include "transport/shm/inbox.hpp"
#include "transport/shm/presence.hpp"
#include "transport/shm/ring.hpp"
#include "transport/shm/transfer.hpp"

namespace dunlin::transport::shm {

/// Sizes that all ranks of a node must agree on; powers of two.
struct Sizes {
  std::uint64_t ring_lines = 0;
  std::uint64_t bulk_bytes = 0;
  std::uint64_t cells = 0;
  std::uint64_t cell_bytes = 0;
  std::uint64_t lines_bytes_max = 0;

  /// From the settings DUNLIN_SHM_*, and for a node of so many ranks.
  static Sizes wanted(int ranks) noexcept;
  /// In one word that is never 0.
  std::uint64_t pack() const noexcept;
  static Sizes unpack(std::uint64_t word) noexcept;
};

/// What a sender tells a receiver that reads doorbells: its position in the ring, whole, so that it never
/// looks like an old one.
using Doorbell = Hardware::Atomic<std::uint64_t>;

/// Communicators that a rank may give shared memory to.
constexpr int kCommons = 7;

class Segment {
 public:
  Segment() = default;
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  Segment(const Segment&) = delete;
  ~Segment();

  /// Maps what lies behind `offset` in `fd` for `ranks` ranks; grows the file when nobody has yet.
  static Result<Segment> open(int fd, std::size_t offset, int ranks) noexcept;

  const Sizes& sizes() const noexcept { return sizes_; }
  /// Cells are named by their distance from here; never 0.
  std::byte* base() const noexcept { return base_; }

  Attention& attention(int rank) const noexcept {
    return at<Attention>(kAttentionsOffset)[std::size_t(rank)];
  }
  InboxWords& inbox(int rank) const noexcept { return *at<InboxWords>(region(rank)); }
  Bell& bell(int rank) const noexcept { return *at<Bell>(region(rank) + kBellOffset); }
  Presence& presence(int rank) const noexcept { return *at<Presence>(region(rank) + kPresenceOffset); }
  /// The doorbells of `rank`, by sender.
  Doorbell* doorbells(int rank) const noexcept { return at<Doorbell>(region(rank) + kDoorbellsOffset); }
  /// The cell by which `sender` tells `receiver` that it uses the ring from now on.
  std::uint64_t promotion_cell(int sender, int receiver) const noexcept {
    return region(sender) + front_bytes_ + std::uint64_t(receiver) * kPromotionBytes;
  }
  CellPool cell_pool(int sender) const noexcept;
  RingPlace ring(int sender, int receiver) const noexcept;
  /// The kTransfers of `rank`, page aligned.
  std::byte* transfers(int rank) const noexcept { return base_ + region(rank) + transfers_offset_; }
  /// One of the commons that `owner` gives away.
  Commons commons(int owner, int index) const noexcept;

 private:
  static constexpr std::uint64_t kAttentionsOffset = 64;  // behind the agreement
  // In a region:
  static constexpr std::uint64_t kBellOffset = 64;
  static constexpr std::uint64_t kPresenceOffset = 128;
  static constexpr std::uint64_t kDoorbellsOffset = 192;
  static constexpr std::uint64_t kPromotionBytes = 64;

  explicit Segment(const Sizes& sizes, int ranks) noexcept;
  std::uint64_t region(int rank) const noexcept {
    return first_bytes_ + std::uint64_t(rank) * region_bytes_;
  }
  template <class T>
  T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(base_ + offset);
  }

  static constexpr std::uint64_t kPageBytes = 4096;
  Sizes sizes_;
  std::uint64_t first_bytes_ = 0;  // before the regions
  std::uint64_t front_bytes_ = 0;
  std::uint64_t pair_bytes_ = 0;
  std::uint64_t transfers_offset_ = 0;  // in a region
  std::uint64_t commons_offset_ = 0;    // in a region
  std::uint64_t pairs_offset_ = 0;      // in a region
  int ranks_ = 0;
  std::uint64_t region_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;  // first pages included
  std::byte* base_ = nullptr;      // of our mapping: the agreement
};

}  // namespace dunlin::transport::shm
