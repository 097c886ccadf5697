// Long data on its way by RDMA, straight from buffer to buffer, and the buffers that are open for it.
//
// Used by the channels of one process (transport::RemoteAccess).  Which buffers stay registered:
// registrations.hpp.  A transfer goes in pieces of at most DUNLIN_OFI_PIECE_BYTES; over several devices in
// pieces of DUNLIN_OFI_STRIPE_BYTES, of which the faster device takes more.  One-sided operations, too: short
// ones by way of a frame, as their buffers would take longer to register.
//
// Of all transfers with one peer two pieces are under way on each device: one is moved, the next is asked
// for.  The rest waits, and begins in order (Line).  Where CPUs move the data (TCP), more at once fits no
// cache: it would go to memory and back, and take twice as long.
//
// Document: RDMA channel, zero copy (rows R5 and R6 of docs/sources.md).  Thread safety: base/big_lock.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/ofi/fabric.hpp"
#include "transport/ofi/frame.hpp"
#include "transport/ofi/frames.hpp"
#include "transport/ofi/registrations.hpp"
#include "transport/transport.hpp"

namespace dunlin::transport::ofi {

/// To one peer, on each device.
inline constexpr std::size_t kPiecesAtOnce = 2;

struct Transfer;
/// What one device has of a transfer.
struct Piece : Operation {
  Transfer* transfer = nullptr;
  std::size_t device = 0;
  std::size_t bytes = 0;  // 0: nothing
};

struct Transfer {
  Channel* channel;
  std::byte* local;
  std::size_t bytes;
  OpenedBuffer remote;
  std::size_t devices;   // that take part
  std::uint32_t number;  // of the buffer, where it is open for writing
  std::uint64_t token;
  Moved end;               // how it is told here; `written`: it is told to the target, too
  Frame* frame = nullptr;  // between `local` and the network; without:
  std::vector<Registrations::Hold> memory = {};  // of `local`, by device
  std::size_t begun = 0;                         // bytes that the devices have had
  std::size_t done = 0;                          // bytes that are over
  Piece pieces[kDevicesMost][kPiecesAtOnce] = {};
  bool is_ok = true;
  bool is_queued = false;    // in its peer's Line: not all of it has begun
  Transfer* next = nullptr;  // there

  bool is_write() const noexcept { return end == Moved::written || end == Moved::put; }
  bool is_one_sided() const noexcept { return end == Moved::put || end == Moved::got; }
};

/// What moves between a peer's buffers and ours, and what waits for its turn, oldest first.
struct Line {
  Transfer* first = nullptr;
  Transfer* last = nullptr;
  std::size_t under_way[kDevicesMost] = {};  // bytes, by device
  bool is_stuck = false;                     // the network had no room: among Transfers::stuck_
};

class Transfers {
 public:
  /// `frames` are of the first device; data below `short_bytes_end` fits one.
  Transfers(std::span<const std::unique_ptr<Fabric>> devices, Frames& frames,
            std::size_t short_bytes_end) noexcept;

  /// False: refused, and forgotten.
  bool try_begin(std::unique_ptr<Transfer> transfer) noexcept;
  /// A piece is over.
  void complete(Piece& piece, bool is_ok, Inbox& inbox) noexcept;
  bool has_stuck() const noexcept { return !stuck_.empty(); }
  /// Tries again what found no room.
  void go_on(Inbox& inbox) noexcept;

  /// Lets peers read and write these bytes until `close`, on the first `devices`; 0: refused.
  std::uint64_t try_open(const std::byte* at, std::size_t bytes, std::size_t devices,
                         OpenedBuffer& buffer) noexcept;
  void close(std::uint64_t opened) noexcept;
  bool try_open_for_write(std::byte* at, std::size_t bytes, std::size_t devices, std::uint64_t token,
                          OpenedBuffer& buffer, std::uint32_t& number) noexcept;
  /// How many of `devices` a transfer of so many bytes is worth.
  std::size_t devices_for(std::size_t bytes, std::size_t devices) const noexcept;
  /// The peer has written all of the buffer with this number; false: none has it.
  bool try_end(std::uint32_t number, Inbox& inbox) noexcept;

 private:
  using Holds = std::vector<Registrations::Hold>;
  struct Opened {
    Holds memory;
    std::uint64_t token = 0;  // 0: the number is free
  };
  bool try_hold(Transfer& transfer) noexcept;
  Holds try_hold(const std::byte* at, std::size_t bytes, std::size_t devices, bool by_peers) noexcept;
  static OpenedBuffer opened(const Holds& memory, const std::byte* at) noexcept;
  std::size_t next_bytes(const Transfer& transfer) const noexcept;
  bool goes_alone(const Transfer& transfer) const noexcept;
  bool has_room(const Line& line, std::size_t device, std::size_t bytes) const noexcept {
    const std::size_t under_way = line.under_way[device];
    return under_way == 0 || under_way + bytes <= kPiecesAtOnce * piece_bytes_;
  }
  void begin_waiting(Channel& channel) noexcept;
  bool try_post(Transfer& transfer) noexcept;
  bool try_post(Piece& piece) noexcept;
  void go_on(Channel& channel, Inbox& inbox) noexcept;
  void end_if_over(Transfer& transfer, Inbox& inbox) noexcept;

  const std::span<const std::unique_ptr<Fabric>> devices_;
  Frames& frames_;
  const std::size_t short_bytes_end_;
  std::vector<std::unique_ptr<Registrations>> registrations_;  // by device
  const std::size_t piece_bytes_, stripe_bytes_;
  std::vector<Channel*> stuck_;
  std::vector<Opened> opened_;  // for writing, by number
  std::vector<std::uint32_t> free_numbers_;
};

}  // namespace dunlin::transport::ofi
