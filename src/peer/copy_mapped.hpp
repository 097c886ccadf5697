// Copying between our pieces and pieces of a peer that maps; the ways that map (shared_heap_provider.cpp,
// xpmem.cpp) read and write by it.
#pragma once

#include <cstdint>
#include <span>

#include "peer/peer_memory.hpp"

namespace dunlin::peer {

enum class Direction : std::uint8_t { from_peer, to_peer };

/// Copies piece by piece, in order.  False: a piece does not map, or the peer forked meanwhile.
bool try_copy_mapped(PeerMemory& peer, std::span<const Piece> local, std::span<const RemotePiece> remote,
                     Direction direction) noexcept;

}  // namespace dunlin::peer
