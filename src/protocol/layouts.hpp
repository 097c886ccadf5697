// Buffers of peers: contiguous, or with gaps by a published layout.
//
// A rank publishes the layout of a type once; offers and receives name it by its address.  The
// other side decodes it once per peer and type, and then copies between both layouts in one pass, without
// packing. Called by shared_copy.cpp, rendezvous.cpp and receiver.cpp.  Described in docs/datatypes.md.
// Thread safety: under base/big_lock.hpp, as all of protocol/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "datatype/data.hpp"
#include "datatype/datatype.hpp"
#include "peer/peer_memory.hpp"

namespace dunlin::protocol {

/// Where peers read it; the words of datatype/wire.hpp follow.
struct PublishedLayout {
  std::uint64_t serial;  // of the type: names the layout for ever
  std::uint64_t bytes;   // of the words
};

/// A buffer in the addresses of the peer that owns it.
struct RemoteBuffer {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;   // packed
  std::uint64_t layout = 0;  // its PublishedLayout; 0: contiguous
};

/// The same, reached by plain loads and stores.
struct MappedBuffer {
  peer::Mapping mapping;  // false: it cannot be reached so
  std::byte* address = nullptr;
  Ref<Datatype> type;  // empty: contiguous
  std::size_t bytes = 0;

  explicit operator bool() const noexcept { return bool(mapping); }
  Source source() const noexcept { return {address, bytes, type.get(), count()}; }
  Target target() const noexcept { return {address, bytes, type.get(), count()}; }

 private:
  std::int64_t count() const noexcept {
    return type ? (std::int64_t(bytes) + type->size() - 1) / type->size() : 0;
  }
};

/// The address of the type's layout, for peers; 0 when it is too long to be worth it.
std::uint64_t published_layout(const Datatype& type) noexcept;

/// All bytes of a buffer from its first to its last, gaps included.
std::span<const std::byte> extent_of(const std::byte* address, std::size_t bytes, const Datatype* type,
                                     std::int64_t count) noexcept;

/// The decoded types of one peer.
class PeerLayouts {
 public:
  MappedBuffer map(peer::PeerMemory& memory, const RemoteBuffer& buffer) noexcept;

 private:
  Ref<Datatype> find(peer::PeerMemory& memory, std::uint64_t layout) noexcept;
  std::unordered_map<std::uint64_t, Ref<Datatype>> types_;  // by serial
};

}  // namespace dunlin::protocol
