// What protocol/ puts into payloads: the offer of a rendezvous and the control messages between two peers.
//
// A cookie is the address of a request in the process that made it; the other side only sends it back.
// Both structs fit the first line of a shared-memory ring (40 bytes).
#pragma once

#include <cstdint>
#include <type_traits>

#include "protocol/choose.hpp"

namespace dunlin::protocol {

/// Payload of a rendezvous envelope.
struct Offer {
  std::uint64_t cookie = 0;           // the sender's SendRequest
  std::uint64_t bytes : 48 = 0;       // of the message, packed
  std::uint64_t way : 4 = 0;          // Way
  std::uint64_t is_readable : 1 = 0;  // the receiver may map the sender's buffer, or the network may move it
  std::uint64_t chunking : 8 = 0;     // shared copy: see Chunks
  std::uint64_t address = 0;          // of the data, or of the buffer of `layout`
  std::uint64_t layout = 0;  // the PublishedLayout (layouts.hpp) of a buffer with gaps; 0: contiguous
  std::uint64_t handle = 0;  // shared copy: use << 32 | index of the transfer; else peer::expose's cookie

  std::uint32_t transfer_use() const noexcept { return std::uint32_t(handle >> 32); }
  std::uint32_t transfer_index() const noexcept { return std::uint32_t(handle); }
};

enum class ControlKind : std::uint32_t {
  matched,     // a: sender's cookie.  The synchronous message has met its receive
  done,        // a: sender's cookie.  The receiver has read all it wants
  want_data,   // a: sender's cookie, b: receiver's cookie, c: bytes wanted.  Send it through the channel
  chunk,       // a: receiver's cookie, b: offset in the packed message.  The data follows in the same payload
  hold,        // offer instead of pushing: too much of yours is unexpected here
  resume,      // push again
  cancel,      // a: sender's cookie.  Forget the unmatched message
  cancelled,   // a: sender's cookie, b: 1 when it was forgotten, 0 when it had been matched
  more,        // number: of this question.  The network holds as many of ours as it may: take some out
  released,    // a: so many of yours more were taken; number: the question that this answers, 0: none
  write_here,  // a: sender's cookie, b, c, number: the receiver's buffer, which the network is to write
  one_sided,   // rma/messages.cpp, by a handler.  a: the target's window, b: bytes, c: rank of the origin
  count_,
};

struct Control {
  ControlKind kind;
  std::uint32_t number = 0;
  std::uint64_t a = 0, b = 0, c = 0;
};

static_assert(sizeof(Offer) == 40 && std::is_trivially_copyable_v<Offer>);
static_assert(sizeof(Control) == 32 && std::is_trivially_copyable_v<Control>);

}  // namespace dunlin::protocol
