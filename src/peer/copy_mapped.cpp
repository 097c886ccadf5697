#include "peer/copy_mapped.hpp"

#include "base/assert.hpp"
#include "copy/copy.hpp"

namespace dunlin::peer {

bool try_copy_mapped(PeerMemory& peer, std::span<const Piece> local, std::span<const RemotePiece> remote,
                     Direction direction) noexcept {
  std::size_t total = 0;
  for (const RemotePiece& each : remote) total += each.bytes;
  const copy::Hint hint = copy::hint_for(total);
  std::size_t here = 0;       // index into local
  std::size_t here_done = 0;  // bytes of local[here] that were copied
  Mapping last;
  for (const RemotePiece& piece : remote) {
    if (piece.bytes == 0) continue;
    const Mapping mapping = peer.map(piece.at, piece.bytes);
    if (!mapping) return false;
    for (std::size_t done = 0; done < piece.bytes;) {
      while (here < local.size() && here_done == local[here].bytes) ++here, here_done = 0;
      DUNLIN_ASSERT(here < local.size());  // the totals are equal
      const std::size_t part = std::min(piece.bytes - done, local[here].bytes - here_done);
      std::byte* ours = local[here].at + here_done;
      if (direction == Direction::from_peer) {
        copy::bytes(ours, mapping.at + done, part, hint);
      } else {
        copy::load_before_stores(mapping.at + done, part);
        copy::bytes(mapping.at + done, ours, part, hint);
      }
      done += part;
      here_done += part;
    }
    if (last && last.generation != mapping.generation) return false;
    last = mapping;
  }
  return !last || peer.is_still_valid(last);
}

}  // namespace dunlin::peer
