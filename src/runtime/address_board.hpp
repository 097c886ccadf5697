// Where the ranks of a node leave how their memory can be reached: one slot each, in the node segment behind
// the launch page.
//
// A rank writes its slot once at init.  A peer reads it when it first has a large message from or for that
// rank, which may be before: then it finds nothing, and asks again with its next one.  Scale: 256 bytes per
// rank of the node.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/err.hpp"
#include "peer/peer_memory.hpp"

namespace dunlin::runtime {

class AddressBoard {
 public:
  AddressBoard() = default;
  AddressBoard(const AddressBoard&) = delete;
  AddressBoard& operator=(const AddressBoard&) = delete;
  ~AddressBoard();

  /// Bytes of the board, a multiple of the page size.
  static std::size_t bytes(int node_size) noexcept;

  Err open(int fd, std::size_t offset, int node_size) noexcept;
  void write(int node_rank, std::span<const std::byte> address) noexcept;
  /// Empty while the rank has written nothing.
  std::span<const std::byte> read(int node_rank) const noexcept;

 private:
  struct Slot {
    std::atomic<std::uint64_t> bytes;  // 0: nothing written
    std::byte address[peer::kPublishedBytesMax];
    std::byte padding[256 - 8 - peer::kPublishedBytesMax];
  };
  static_assert(sizeof(Slot) == 256);

  Slot* slots_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace dunlin::runtime
