// Small integers that stand for pointers: the handles of Fortran.  Used by object/object.cpp.
//
// Places are taken from a stack of free ones, which lies in these places themselves, or else from the end.
// The memory of places that were never used is address space only.
//
// Thread safety: all functions may be called by several threads at once; none waits.  Who looks up a place
// knows that it is not removed meanwhile.
// Invariants:
// 1. A place holds a pointer, whose lowest bit is 0, or the next free place, whose lowest bit is 1.
// 2. Each change of `top_` counts its upper half up, so that a thread which was away notices that a place was
//    taken and given back meanwhile.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/assert.hpp"

namespace dunlin {

/// The machine is a type so that test/unit/base runs the same text in all interleavings.
struct StandardMachine {
  template <class T>
  using Atomic = std::atomic<T>;
};

template <std::uint32_t places, class Machine = StandardMachine>
class PointerTable {
 public:
  /// The place of a pointer from now on; `places` when all are taken.
  std::uint32_t put(void* pointer) noexcept {
    const auto word = reinterpret_cast<std::uint64_t>(pointer);
    DUNLIN_ASSERT(word != 0 && (word & kFreeMark) == 0);
    const std::uint32_t place = take_place();
    // P1 (pairs with G1): who gets the place from this thread sees the object.
    if (place < places) words_[place].store(word, std::memory_order_release);
    return place;
  }

  /// nullptr where no pointer is.
  void* get(std::uint32_t place) const noexcept {
    if (place >= places) return nullptr;
    const std::uint64_t word = words_[place].load(std::memory_order_acquire);  // G1 (pairs with P1)
    return word & kFreeMark ? nullptr : reinterpret_cast<void*>(word);
  }

  void remove(std::uint32_t place) noexcept {
    DUNLIN_ASSERT(get(place) != nullptr);
    std::uint64_t top = top_.load(std::memory_order_relaxed);
    do
      words_[place].store((top & kPlaceMask) << 1 | kFreeMark, std::memory_order_relaxed);
    // R1 (pairs with T1): who takes the place sees what is the next one.
    while (!top_.compare_exchange_strong(top, changed(top, place + 1), std::memory_order_release,
                                         std::memory_order_relaxed));
  }

 private:
  static constexpr std::uint64_t kFreeMark = 1;
  static constexpr std::uint64_t kPlaceMask = 0xffff'ffff;  // of `top_`: the place plus 1, or 0 for none
  static std::uint64_t changed(std::uint64_t top, std::uint64_t place) noexcept {
    return ((top >> 32) + 1) << 32 | place;
  }

  std::uint32_t take_place() noexcept {
    std::uint64_t top = top_.load(std::memory_order_acquire);  // T1 (pairs with R1)
    while (const std::uint64_t place = top & kPlaceMask) {
      // What is read here means nothing when another thread has taken the place: then the exchange fails.
      const std::uint64_t next = words_[place - 1].load(std::memory_order_relaxed) >> 1 & kPlaceMask;
      if (top_.compare_exchange_strong(top, changed(top, next), std::memory_order_acquire,
                                       std::memory_order_acquire))
        return std::uint32_t(place - 1);
    }
    std::uint32_t used = used_.load(std::memory_order_relaxed);
    while (used < places && !used_.compare_exchange_strong(used, used + 1, std::memory_order_relaxed,
                                                           std::memory_order_relaxed)) {
    }
    return used;
  }

  typename Machine::template Atomic<std::uint64_t> words_[places] = {};
  typename Machine::template Atomic<std::uint64_t> top_{};
  typename Machine::template Atomic<std::uint32_t> used_{};  // places below were taken once
};

}  // namespace dunlin
