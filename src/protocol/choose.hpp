// Which way a message takes: one decision, a pure function of facts.
//
// Called by the sender when the message is at the head of its peer's queue, and by the receiver of an offer,
// who knows more: a way that declines there is chosen again with that capability off.  It reads no clock, no
// cache and no counter; what is learnt about a pair (KernelTrial, Distance) comes in as a fact.  A send that
// is certainly short asks only whether it is (certain_bytes_max).  test/unit/protocol/choose.cpp is the whole
// table.
#pragma once

#include <algorithm>
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
  bool has_gaps = false;
  bool is_far = false;            // a pair with CPUs of its own for which stores around the caches pay
  bool may_map = false;           // plain loads and stores reach what the two ranks share
  bool is_mappable = false;       // this buffer is there for sure; else perhaps the other one
  bool reads = false;             // the kernel reads the sender's buffer, or a network moves it
  bool is_kernel_slower = false;  // than two copies through the channel, between these two ranks
};

constexpr Way choose(const Facts& facts) noexcept {
  const bool fits = facts.bytes <= facts.eager_bytes;
  // Far ranks do not share what their caches hold: the channel stores around them, without the receiver.
  const bool goes_around = facts.is_far && fits && !facts.has_gaps && !facts.must_be_offered;
  // That perhaps the other buffer maps is good enough only where no way is sure.
  const bool maps = facts.may_map && !goes_around && (facts.is_mappable || !(facts.reads || fits));
  const bool is_short = fits && !(maps && facts.bytes >= facts.shared_bytes);
  if (is_short && !facts.must_be_offered) return Way::channel;
  if (facts.is_to_self) return Way::to_self;
  if (maps) return Way::shared_copy;
  if (facts.reads && !facts.is_kernel_slower) return Way::remote_read;
  return Way::pieces;
}

/// Up to here `choose` says channel, whatever the other facts are; -1: to nothing.
constexpr std::int64_t certain_bytes_max(std::int64_t eager_bytes, std::int64_t shared_bytes,
                                         bool must_be_offered) noexcept {
  return must_be_offered ? -1 : std::min(eager_bytes, shared_bytes - 1);
}

}  // namespace dunlin::protocol
