// A peer's heap control page, mapped here; and how a descriptor of a peer is taken.
//
// Used by shared_heap_provider.cpp (regions, generation) and cma.cpp (count of readers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "heap/layout.hpp"

namespace dunlin::peer {

struct PublishedAddress;

class PeerControl {
 public:
  ~PeerControl();
  PeerControl(const PeerControl&) = delete;

  /// nullptr when the peer has no shared heap or its descriptor cannot be taken; `why` tells.
  static std::shared_ptr<PeerControl> attach(const PublishedAddress& peer, const char** why) noexcept;

  /// A descriptor of our own for the file behind the peer's descriptor `number`: by /proc, by pidfd, or from
  /// its thread. -1 and errno when none is permitted.  The caller checks that it is the file it expects.
  int take_descriptor(std::int32_t number) const noexcept;

  heap::Control& page() const noexcept { return *page_; }
  /// Whether bits of pages up to the end of a heap of `bytes` lie inside the mapping.
  bool can_describe(std::size_t bytes) const noexcept { return heap::Control::bytes_for(bytes) <= bytes_; }

 private:
  explicit PeerControl(const PublishedAddress& peer) noexcept;
  std::uint32_t pid_;
  std::uint64_t served_key_;  // 0: no thread serves
  heap::Control* page_ = nullptr;
  std::size_t bytes_ = 0;
};

/// For `publish`: where others cannot open this process's descriptors, starts the thread that gives them the
/// heap's. Whether it serves.
bool serve_heap_descriptors() noexcept;

}  // namespace dunlin::peer
