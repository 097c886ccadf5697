// Which way a message takes: one decision, a pure function of facts.
//
// Called by the sender when the message is at the head of its peer's queue, and by the receiver of an offer,
// who knows more: a way that declines there is chosen again with that capability off.  It reads no clock, no
// cache and no counter; what is learnt about a pair (KernelTrial) comes in as a fact.
// test/unit/protocol/choose.cpp is the whole table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dunlin::protocol {

enum class Way : std::uint8_t {
  channel,      // whole, with its envelope
  to_self,      // offered to oneself, copied once at the match
  shared_copy,  // offered; the side that maps the other's buffer copies, or both do (shared_copy.hpp)
  remote_read,  // offered; the kernel (CMA, KNEM) or the network (RDMA) copies at the receiver's request
  pieces,       // offered; through the channel when the receiver asks
};

struct Facts {
  std::size_t bytes = 0;
  std::size_t eager_bytes = 0;   // largest message that goes whole
  std::size_t shared_bytes = 0;  // smallest message that is worth a shared copy
  bool is_to_self = false;
  bool must_be_offered = false;   // the receiver holds too much, or is the one who chooses
  bool maps = false;              // plain loads and stores reach one of the two buffers
  bool reads = false;             // the kernel reads the sender's buffer, or a network moves it
  bool is_kernel_slower = false;  // than two copies through the channel, between these two ranks
};

constexpr Way choose(const Facts& facts) noexcept {
  const bool may_be_shared = facts.maps && facts.bytes >= facts.shared_bytes;
  const bool is_short = facts.bytes <= facts.eager_bytes && !may_be_shared;
  if (is_short && !facts.must_be_offered) return Way::channel;
  if (facts.is_to_self) return Way::to_self;
  if (facts.maps) return Way::shared_copy;
  if (facts.reads && !facts.is_kernel_slower) return Way::remote_read;
  return Way::pieces;
}

}  // namespace dunlin::protocol
