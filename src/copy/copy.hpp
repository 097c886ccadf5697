// Moving large contiguous bytes well: which instructions copy a block of a given size.
//
// Called by protocol/ (rendezvous), transport/shm (copy-in/copy-out), coll/shared and the ways of peer/.
// Kernels are chosen once, at the first use, by what the processor can do (kernels_x86_64.cpp,
// or kernels_portable.cpp elsewhere); thresholds are settings.  docs/memory.md, "Copying well".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dunlin::copy {

/// What is known about the bytes beside their number.
enum class Hint : std::uint8_t {
  cached,     // the result will be read soon: ordinary stores
  off_cache,  // source and result are not in the cache, and will not be read soon: stores around the cache
};

/// Copies disjoint ranges.
void bytes(std::byte* to, const std::byte* from, std::size_t bytes, Hint hint = Hint::cached) noexcept;

/// The hint for one block of a transfer of `bytes` in all: around the cache when it exceeds its share of the
/// cache.
Hint hint_for(std::size_t bytes) noexcept;

/// Transfers of this size and more go around the cache.
std::size_t stream_bytes_min() noexcept;

/// Name of the kernels in use ("avx512", "avx2", "baseline", "portable").
const char* kernels_in_use() noexcept;

/// Whether the reader of a transfer of `bytes` had better take over the lines that it has read and that their
/// owner will write again: where the processor gains by it and source and target fit the cache that the two
/// do not share, the second-level one, or of far ranks the last one.  DUNLIN_TAKE_LINES; docs/memory.md,
/// "Taking lines over".
bool takes_over(std::size_t bytes, bool is_far = false) noexcept;

/// Makes the lines of a range this core's own: a byte of each is stored back as it is.  Nobody may write the
/// range meanwhile.
void take_over(const std::byte* lines, std::size_t bytes) noexcept;

/// Lines that this core writes next, as it seems, and that another one has read: a wait that finds nothing to
/// do takes them back, so that the stores find them at hand.  Empty where DUNLIN_TAKE_LINES does not say
/// `writers`, and where they do not fit half the second-level cache.
class LinesToTakeBack {
 public:
  LinesToTakeBack() = default;
  explicit LinesToTakeBack(std::span<const std::byte> lines) noexcept;
  bool is_empty() const noexcept { return left_.empty(); }
  /// Asks for a few, and waits for none.  No byte is touched: others may write the range, or unmap it.
  void take_some() noexcept;

 private:
  std::span<const std::byte> left_;
};

/// To be called before a chunk is stored through a mapping of a peer's memory.  Where that lies in small
/// pages that were never met here, a fault by a load maps 16 of them, writable, and a fault by a store only
/// one: 1 MiB takes 70 us by one load in each 64 KiB and 250 without (AMD Zen 5, virtual machine).  Where
/// they were met, the first store would fetch this line too.
void load_before_stores(const std::byte* to, std::size_t bytes) noexcept;

}  // namespace dunlin::copy
