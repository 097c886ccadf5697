// Moving large contiguous bytes well: which instructions copy a block of a given size.
//
// Called by protocol/ (rendezvous), transport/shm (copy-in/copy-out), coll/shared and the ways of peer/.
// Kernels are chosen once, at the first use, by what the processor can do (kernels_x86_64.cpp,
// or kernels_portable.cpp elsewhere); thresholds are settings.  docs/memory.md, "Copying well".
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dunlin::copy {

/// What is known about the bytes beside their number.
enum class Hint : std::uint8_t {
  cached,     // the result will be read soon: ordinary stores
  off_cache,  // source and result are not in the cache, and will not be read soon: stores around the cache
  to_peer,    // the result lies in another core's cache: whole lines, not waited for one by one
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

/// One large copy shared by the two processes that wait for it.  The state lies in memory of both, zeroed
/// before the transfer; one side takes chunks from the front, the other from the back, until none is left.
/// Thread safety: shared between processes.
/// Invariant: every chunk is claimed once; `copied` counts chunks whose bytes are visible to whoever reads
/// it.
struct SharedCopy {
  std::atomic<std::uint32_t> claimed;  // chunks taken; may exceed the number of chunks
  std::atomic<std::uint32_t> copied;   // chunks done

  enum class Side : std::uint8_t { front, back };

  /// Copies chunks until all are claimed; returns how many this caller copied, which it then has to `count`.
  /// Both sides pass the same `bytes` and `chunk_bytes`.  Cost: one atomic read-modify-write a chunk.
  std::uint32_t copy_chunks(std::byte* to, const std::byte* from, std::size_t bytes, std::size_t chunk_bytes,
                            Side side, Hint hint) noexcept;
  /// Publishes copied chunks.
  void count(std::uint32_t chunks) noexcept;
  /// Whether every byte has arrived.
  bool is_done(std::size_t bytes, std::size_t chunk_bytes) const noexcept;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Copies of this size and more are worth sharing.
std::size_t shared_bytes_min() noexcept;

/// Chunk of a shared copy of `bytes`, by measurement (findings in docs/memory.md); 0: not worth sharing.
std::size_t shared_chunk_bytes(std::size_t bytes) noexcept;

/// To be called before a chunk is stored through a mapping of a peer's memory.  Where that lies in small
/// pages that were never met here, a fault by a load maps 16 of them, writable, and a fault by a store only
/// one: 1 MiB takes 70 us by one load in each 64 KiB and 250 without (AMD Zen 5, virtual machine).  Where
/// they were met, the first store would fetch this line too.
void load_before_stores(const std::byte* to, std::size_t bytes) noexcept;

}  // namespace dunlin::copy
