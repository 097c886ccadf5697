// Matching by the provider: libfabric's tagged messages (FI_TAGGED), of any length, from the sender's buffer.
//
// Part of ofi::Transport where the job matches in the network; shares its endpoint and its completions. Short
// messages without a receive are kept by the provider; of long ones most providers keep the first words, and
// fetch the rest when a receive has matched (docs/network.md).  A word comes with each message: the caller's
// note, and half of the job's secret.  Document: Portals matching (row M3 of docs/sources.md).
// Thread safety: base/big_lock.hpp.
#pragma once

#include <rdma/fi_eq.h>

#include <cstdint>
#include <vector>

#include "transport/ofi/fabric.hpp"
#include "transport/tagged.hpp"
#include "transport/transport.hpp"

namespace dunlin::transport::ofi {

class Channel;

/// As many as rxm takes.
inline constexpr std::size_t kReceivesMost = 2048;

/// Who is where, and known to be lost.
class Peers {
 public:
  /// nullptr: cannot be reached.
  virtual Channel* channel_of(int peer) noexcept = 0;

 protected:
  ~Peers() = default;
};

/// Where the part of a message lands that is longer than its receive.  Plain TCP gives the connection up
/// where there is no room for it (libfabric 1.17).  Address space alone, until a program makes that mistake.
class Overflow {
 public:
  explicit Overflow(bool is_wanted) noexcept;
  ~Overflow();
  Overflow(const Overflow&) = delete;
  /// Empty where there is none.
  std::span<std::byte> room() const noexcept { return room_; }

 private:
  std::span<std::byte> room_;
};

class Tagged final : public transport::Tagged {
 public:
  Tagged(Fabric& fabric, Peers& peers, const std::uint64_t& secret, bool matches) noexcept
      : fabric_(fabric),
        peers_(peers),
        secret_(secret),
        overflow_(matches && fabric.is_plain_tcp()) {}

  unsigned bits() const noexcept override;
  std::uint64_t bytes_max() const noexcept override { return fabric_.message_bytes_max(); }
  /// Plain TCP queues any number, whatever it says, and looks through them one by one.
  std::size_t receives_max() const noexcept override {
    return holds_up() ? kReceivesMost : fabric_.receives_max();
  }
  std::uint32_t messages_held_max() const noexcept override { return kMessagesMost; }
  std::uint64_t bytes_held_max() const noexcept override { return holds_up() ? UINT64_MAX : kBytesHeldMost; }
  bool holds_up() const noexcept override { return fabric_.is_plain_tcp(); }
  bool is_last_look() const noexcept override { return is_last_look_; }
  void announce_last_look(bool is_last) noexcept { is_last_look_ = is_last; }
  bool is_lost(int peer) noexcept override;
  Sent try_send(Operation& operation, int peer, std::uint64_t bits, std::uint32_t note,
                std::span<const std::byte> data) noexcept override;
  bool try_receive(Operation& operation, std::span<std::byte> room, const Pattern& wanted) noexcept override;
  void cancel(Operation& operation) noexcept override;
  bool try_look(Operation& operation, const Pattern& wanted, bool is_taken, Arrival& found) noexcept override;
  bool try_receive_taken(Operation& operation, std::span<std::byte> room) noexcept override;

  /// A receive has its message.
  void received(const fi_cq_tagged_entry& entry, Inbox& inbox) const noexcept;
  void failed(const fi_cq_err_entry& error, Inbox& inbox) const noexcept;

  /// What a look has found among the completions that is not its own: to be handled by the next poll, before
  /// others.  `err` is 0 where it is none.
  std::vector<fi_cq_err_entry> passed_by;

 private:
  Arrival arrival_of(std::uint64_t bits, std::uint64_t bytes, std::uint64_t word) const noexcept;
  std::uint64_t word_of(std::uint32_t note) const noexcept;

  Fabric& fabric_;
  Peers& peers_;
  const std::uint64_t& secret_;
  const Overflow overflow_;
  bool is_last_look_ = false;
};

}  // namespace dunlin::transport::ofi
