// Which memory a rank has attached to a dynamic window (MPI_Win_attach), where all ranks of the window see
// it: an access to anything else is an error before it does harm.
//
// Lies in the window's segment; written by its rank (rma/inquiry.cpp), read by origins (rma/operation.cpp)
// and by the rank itself.  Cost: a look, a search through what is sorted; attaching moves what lies behind.
// Scale: room for 65,534 attachments a rank, of which only pages in use cost memory.
//
// Thread safety: one writer, a rank under its base/big_lock.hpp; any number of readers in other processes.
// Invariant: `version` is odd while the writer changes entries; a reader who finds it changed looks again.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dunlin::rma {

class Attachments {
 public:
  static constexpr std::uint32_t kMost = 65534;
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
  };

  /// Writer.  False: it overlaps one that is there.  There must be room, and `range` must have bytes.
  bool try_add(Range range) noexcept {
    const std::uint32_t place = first_behind(range.begin);
    if (place > 0 && end(place - 1) > range.begin) return false;
    if (place < count() && range.begin + range.bytes > begin(place)) return false;
    change([&] {
      for (std::uint32_t i = count(); i > place; --i) set(i, get(i - 1));
      set(place, range);
      count_.store(count() + 1, std::memory_order_relaxed);
    });
    return true;
  }
  /// Writer.  False: none begins there.
  bool try_remove(std::uint64_t begins_at) noexcept {
    const std::uint32_t place = first_behind(begins_at) - 1;
    if (place >= count() || begin(place) != begins_at) return false;
    change([&] {
      count_.store(count() - 1, std::memory_order_relaxed);
      for (std::uint32_t i = place; i < count(); ++i) set(i, get(i + 1));
    });
    return true;
  }
  bool is_full() const noexcept { return count() == kMost; }
  /// Writer: whether `is_so(range)` of any.
  template <class Predicate>
  bool has(const Predicate& is_so) const noexcept {
    for (std::uint32_t i = 0; i < count(); ++i)
      if (is_so(get(i))) return true;
    return false;
  }

  /// Another number after any change.
  [[gnu::always_inline]] std::uint32_t version() const noexcept {
    return version_.load(std::memory_order_acquire);  // pairs with V2
  }

  /// The attached memory around these bytes, neighbours that touch each other joined as far as the bytes
  /// reach; of no bytes where some of them are not attached.
  Range find(std::uint64_t at, std::uint64_t bytes) const noexcept {
    for (;;) {
      // V1 (pairs with V2): the entries of this version, or of a later one.
      const std::uint32_t before = version_.load(std::memory_order_acquire);
      const Range found = before % 2 ? Range{} : look(at, bytes);
      // V3 (pairs with V2): whoever has read an entry of a later version sees that it is one.
      std::atomic_thread_fence(std::memory_order_acquire);
      if (before % 2 == 0 && version_.load(std::memory_order_relaxed) == before) return found;
      sched_yield();
    }
  }

 private:
  // All words are relaxed: the version orders them.
  struct Entry {
    std::atomic<std::uint64_t> begin, bytes;
  };
  std::uint32_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  std::uint64_t begin(std::uint32_t i) const noexcept {
    return entries_[i].begin.load(std::memory_order_relaxed);
  }
  std::uint64_t end(std::uint32_t i) const noexcept {
    return begin(i) + entries_[i].bytes.load(std::memory_order_relaxed);
  }
  Range get(std::uint32_t i) const noexcept { return {begin(i), end(i) - begin(i)}; }
  void set(std::uint32_t i, Range range) noexcept {
    entries_[i].begin.store(range.begin, std::memory_order_relaxed);
    entries_[i].bytes.store(range.bytes, std::memory_order_relaxed);
  }
  /// The first entry that begins behind `at`.
  std::uint32_t first_behind(std::uint64_t at) const noexcept {
    std::uint32_t low = 0, high = count() < kMost ? count() : kMost;
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (begin(middle) <= at)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
  Range look(std::uint64_t at, std::uint64_t bytes) const noexcept {
    const std::uint32_t behind = first_behind(at);
    if (behind == 0 || end(behind - 1) <= at) return {};
    Range found = get(behind - 1);
    for (std::uint32_t i = behind; found.bytes - (at - found.begin) < bytes; ++i) {
      if (i >= count() || begin(i) != found.begin + found.bytes) return {};
      found.bytes = end(i) - found.begin;
    }
    return found;
  }
  template <class Change>
  void change(const Change& entries) noexcept {
    version_.fetch_add(1, std::memory_order_relaxed);
    // V2 (pairs with V1 and V3): the odd number before the entries, these before the even one.
    std::atomic_thread_fence(std::memory_order_release);
    entries();
    version_.fetch_add(1, std::memory_order_release);
  }

  std::atomic<std::uint32_t> version_;
  std::atomic<std::uint32_t> count_;
  [[maybe_unused]] std::uint64_t unused_ = 0;
  Entry entries_[kMost];
};
static_assert(sizeof(Attachments) < std::size_t{1} << 20);

}  // namespace dunlin::rma
