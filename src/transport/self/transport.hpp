// Messages of a process to itself: a send is delivered before it returns.
//
// Made by runtime/ for the engine's own peer index; protocol/ sends through it like through any channel.
// A send made while a delivery is going on (a control message sent from inside Inbox::arrived) answers
// `full` and is tried again by the protocol, so that deliveries never nest.
// Thread safety: all calls under base/big_lock.hpp.
#pragma once

#include "transport/transport.hpp"

namespace dunlin::transport::self {

class Channel final : public transport::Channel {
 public:
  Channel(int me, Inbox& inbox) noexcept : me_(me), inbox_(inbox) {}
  Sent try_send(const Envelope& envelope, std::span<const std::byte> head,
                const Source& data) noexcept override;
  std::size_t bytes_max() const noexcept override { return std::size_t{1} << 20; }

 private:
  const int me_;
  Inbox& inbox_;
  bool is_delivering_ = false;
};

class Transport final : public transport::Transport {
 public:
  /// `me` is this process's peer index; `inbox` is where its engine takes messages and must outlive this.
  Transport(int me, Inbox& inbox) noexcept : me_(me), channel_(me, inbox) {}
  const char* name() const noexcept override { return "self"; }
  transport::Channel* connect(int peer) noexcept override { return peer == me_ ? &channel_ : nullptr; }
  int poll(Inbox&) noexcept override { return 0; }

  bool must_be_polled() const noexcept override { return false; }

 private:
  const int me_;
  Channel channel_;
};

}  // namespace dunlin::transport::self
