// Non-contiguous buffers in a rendezvous: the sender publishes its type's layout, the receiver who can map or
// read the sender's memory copies from that layout into its own in one pass.
//
// Called by protocol.cpp (offer) and receive.cpp (pull).  A layout is encoded once per type and decoded once
// per peer and type.  Described in docs/datatypes.md. Thread safety: under base/big_lock.hpp, as all of
// protocol/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "datatype/data.hpp"
#include "datatype/datatype.hpp"
#include "peer/peer_memory.hpp"

namespace dunlin::protocol {

struct Offer;

/// Where peers read it; the words of datatype/wire.hpp follow.
struct PublishedLayout {
  std::uint64_t serial;  // of the type: names the layout for ever
  std::uint64_t bytes;   // of the words
};

/// Whether data that is small enough to go eagerly is still better offered: each of its blocks costs a
/// cache miss at either end; of an offered message every block is touched once, and both ranks take part.
/// Column of a matrix of 1024 doubles a row, half round trip: 8 KiB in 10.4 us eagerly and 6.6 offered,
/// 16 KiB in 10.0 and 6.8 (2 VCPUs of an AMD EPYC 9005, near; offered and far 6.8 and 7.1).
bool is_scattered(const Source& data) noexcept;

/// The address of the layout of `data` for an offer; 0 when the data is contiguous or the layout is too long
/// to be worth it.
std::uint64_t published_layout(const Source& data) noexcept;

/// The decoded types of one peer.
class PeerLayouts {
 public:
  /// Copies `bytes` bytes of the offered data, which is not contiguous, into `to`; false when its memory or
  /// layout cannot be reached, and then nothing counts as received.
  bool try_pull(peer::PeerMemory& memory, const Offer& offer, const Target& to, std::size_t bytes) noexcept;

 private:
  const Datatype* find(peer::PeerMemory& memory, const Offer& offer) noexcept;
  std::unordered_map<std::uint64_t, Ref<Datatype>> types_;  // by serial
};

}  // namespace dunlin::protocol
