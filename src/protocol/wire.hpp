// What protocol/ puts into payloads: the offer of a rendezvous and the control messages between two peers.
//
// A cookie is the address of a request in the process that made it; the other side only sends it back.
// Both structs fit the first line of a shared-memory ring (40 bytes).
#pragma once

#include <cstdint>
#include <type_traits>

namespace dunlin::protocol {

/// Payload of a rendezvous envelope.
struct Offer {
  std::uint64_t cookie;   // the sender's SendRequest
  std::uint64_t bytes;    // of the message, packed
  std::uint64_t address;  // of the data, or of the buffer of `layout`; 0 without layout: only by the channel
  std::uint64_t exposed;  // peer::expose's cookie, 0 when none is needed
  std::uint64_t shared;   // the sender's SharedTransfer, so that both sides may copy; 0: none.
                          // With kHasLayout it is the PublishedLayout (layouts.hpp) of a buffer with gaps.
                          // With kAsks the message might as well have been pushed: the sender wants a Verdict
  static constexpr std::uint64_t kHasLayout = 1, kAsks = 2;
  std::uint64_t transfer() const noexcept { return shared & kHasLayout ? 0 : shared & ~kAsks; }
  std::uint64_t layout() const noexcept { return shared & kHasLayout ? shared & ~kHasLayout : 0; }
  bool asks() const noexcept { return shared & kAsks; }
};

/// Payload of a message that its sender writes into the buffer of the waiting receive (placing.cpp).
struct Placed {
  std::uint64_t bytes;   // of the message
  std::uint64_t placed;  // of them that are there
};

enum class ControlKind : std::uint32_t {
  matched,    // a: sender's cookie.  The synchronous message has met its receive
  done,       // a: sender's cookie, b: Verdict on the way it came.  The receiver has read all it wants
  want_data,  // a: sender's cookie, b: receiver's cookie, c: bytes wanted.  Send it through the channel
  chunk,      // a: receiver's cookie, b: offset in the packed message.  The data follows in the same payload
  piece,      // the next bytes of the oldest message that comes in pieces follow in the same payload
  placed,     // a: so many bytes of the oldest message that comes in pieces lie in its buffer now
  hold,       // offer instead of pushing: too much of yours is unexpected here
  resume,     // push again
  cancel,     // a: sender's cookie.  Forget the unmatched message
  cancelled,  // a: sender's cookie, b: 1 when it was forgotten, 0 when it had been matched
};

/// Of the receiver of an offer that asks.
enum class Verdict : std::uint64_t { none, push_instead, go_on };

struct Control {
  ControlKind kind;
  std::uint32_t reserved = 0;
  std::uint64_t a = 0, b = 0, c = 0;
};

static_assert(sizeof(Offer) == 40 && std::is_trivially_copyable_v<Offer>);
static_assert(sizeof(Control) == 32 && std::is_trivially_copyable_v<Control>);

}  // namespace dunlin::protocol
