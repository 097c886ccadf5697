// A peer's heap control page, mapped here; and how a descriptor of a peer is taken.
//
// Used by shared_heap_provider.cpp (regions, generation) and cma.cpp (count of readers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "memory/heap_layout.hpp"

namespace dunlin::memory {

struct PublishedAddress;

class PeerControl {
 public:
  ~PeerControl();
  PeerControl(const PeerControl&) = delete;

  /// nullptr when the peer has no shared heap or its descriptor cannot be taken; `why` tells.
  static std::shared_ptr<PeerControl> attach(const PublishedAddress& peer, const char** why) noexcept;

  HeapControl& page() const noexcept { return *page_; }
  /// Whether bits of pages up to the end of a heap of `bytes` lie inside the mapping.
  bool can_describe(std::size_t bytes) const noexcept { return HeapControl::bytes_for(bytes) <= bytes_; }

 private:
  PeerControl(HeapControl* page, std::size_t bytes) noexcept : page_(page), bytes_(bytes) {}
  HeapControl* page_;
  std::size_t bytes_;
};

/// A descriptor of our own for the file behind descriptor `number` of process `pid`: by /proc, else by pidfd.
/// -1 and errno when the kernel permits neither.  The caller checks that it is the file it expects.
int take_peer_descriptor(std::uint32_t pid, std::int32_t number) noexcept;

}  // namespace dunlin::memory
