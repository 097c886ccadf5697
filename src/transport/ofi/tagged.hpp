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

/// Who is where, and known to be lost.
class Peers {
 public:
  /// nullptr: cannot be reached.
  virtual Channel* channel_of(int peer) noexcept = 0;

 protected:
  ~Peers() = default;
};

class Tagged final : public transport::Tagged {
 public:
  Tagged(Fabric& fabric, Peers& peers, const std::uint64_t& secret) noexcept
      : fabric_(fabric), peers_(peers), secret_(secret) {}

  unsigned bits() const noexcept override;
  std::uint64_t bytes_max() const noexcept override { return fabric_.message_bytes_max(); }
  std::size_t receives_max() const noexcept override { return fabric_.receives_max(); }
  std::uint32_t messages_held_max() const noexcept override { return kMessagesMost; }
  std::uint64_t bytes_held_max() const noexcept override { return kBytesHeldMost; }
  bool is_lost(int peer) noexcept override;
  Sent try_send(Operation& operation, int peer, std::uint64_t bits, std::uint32_t note,
                std::span<const std::byte> data) noexcept override;
  bool try_receive(Operation& operation, std::span<std::byte> room, const Pattern& wanted) noexcept override;
  void cancel(Operation& operation) noexcept override;
  bool try_look(Operation& operation, const Pattern& wanted, bool is_taken, Arrival& found) noexcept override;
  bool try_receive_taken(Operation& operation, std::span<std::byte> room) noexcept override;

  /// A message has left, and a long one has come.
  void sent(Operation& operation, Inbox& inbox) const noexcept;
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
};

}  // namespace dunlin::transport::ofi
