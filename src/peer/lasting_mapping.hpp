// Memory of a peer that stays within reach beyond one transfer: its owner tells once where it lies and keeps
// it there (heap::Kept), each peer maps it once.
//
// Called by rma/ (windows).  The owner makes an Exposed and sends its `exposure()` by any message; a peer
// makes a LastingMapping of it and asks `at()`.
//
// Thread safety: one thread at a time for one object; different objects are independent.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "peer/peer_memory.hpp"

namespace dunlin::peer {

/// Where exposed memory lies; what one process tells another.
struct Exposure {
  std::uint64_t at = 0;      // address in the owner
  std::uint64_t bytes = 0;   // 0: nothing is exposed
  std::uint64_t cookie = 0;  // for try_read and try_write
};

/// The owner's side: these bytes may be reached by peers until this object goes.
class Exposed {
 public:
  Exposed() = default;
  Exposed(void* at, std::size_t bytes) noexcept : exposure_{reinterpret_cast<std::uintptr_t>(at), bytes, 0} {
    const Piece piece{static_cast<std::byte*>(at), bytes};
    if (bytes) exposure_.cookie = expose({&piece, 1}, true);
  }
  Exposed(Exposed&& other) noexcept : exposure_(std::exchange(other.exposure_, {})) {}
  Exposed& operator=(Exposed&& other) noexcept {
    std::swap(exposure_, other.exposure_);
    return *this;
  }
  ~Exposed() { unexpose(exposure_.cookie); }

  const Exposure& exposure() const noexcept { return exposure_; }

 private:
  Exposure exposure_;
};

/// A peer's side.  `memory` must outlive it.
class LastingMapping {
 public:
  LastingMapping() = default;
  LastingMapping(PeerMemory& memory, const Exposure& exposure) noexcept
      : memory_(&memory), exposure_(exposure) {
    if (exposure_.bytes) renew();
  }
  LastingMapping(LastingMapping&& other) noexcept { swap(other); }
  LastingMapping& operator=(LastingMapping&& other) noexcept {
    swap(other);
    return *this;
  }
  ~LastingMapping() {
    if (memory_) memory_->let_go(held_);
  }

  /// Where the first exposed byte lies here, for plain loads and stores; nullptr: it cannot be mapped
  /// (`memory.try_read` and `try_write` may reach it), or not now: asked again, it may be mapped.
  std::byte* at() noexcept {
    // Acquire: pairs with G2 of arena_fork.cpp, the regions of a generation are complete before its number.
    if (!held_.mapping && held_.present->load(std::memory_order_acquire) != held_.generation) renew();
    return held_.mapping.at;
  }

 private:
  void swap(LastingMapping& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(exposure_, other.exposure_);
    std::swap(held_, other.held_);
  }
  void renew() noexcept {
    held_ = memory_->hold(exposure_.at, exposure_.bytes);
    if (!held_.present) held_.present = &kNever, held_.generation = 0;
  }

  static constexpr std::atomic<std::uint64_t> kNever = 0;  // the generation of what does not change

  PeerMemory* memory_ = nullptr;
  Exposure exposure_;
  Held held_{{}, &kNever, 0, nullptr};
};

}  // namespace dunlin::peer
