// The memory of simulated ranks, as their peers on the same simulated node reach it.
//
// All ranks live in one process, so mapping is the identity.  The seed decides what ranks can do with each
// other's memory, which buffers of the program are shared, when a map or a copy declines, and when a rank
// forks: from then on none of its older buffers is shared, what was mapped before is no longer valid, and the
// mapping that met the fork leads to other bytes, so that whoever trusts it delivers nonsense.  A test may
// let a rank die in the midst of a copy.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "peer/peer_memory.hpp"
#include "transport/sim/network.hpp"

namespace dunlin::test {

/// What may happen to copies between the ranks of a node; percentages.
struct MemoryWeather {
  bool maps = false;      // some memory can be mapped
  bool reads = false;     // any memory can be read and written by copies
  unsigned shared = 100;  // of the program's buffers: can be mapped
  unsigned decline = 0;   // of attempts that could succeed
  unsigned late = 0;      // of questions whether a rank has told how it is reached: not yet
  unsigned fork = 0;      // of maps of the program's buffers: their owner forks
  bool freezes = false;   // what is mapped then keeps its bytes, as in a frozen heap; else it is nonsense
  unsigned bare = 0;      // of ranks: none of their buffers is shared
};

/// Of one rank.
class RankMemory final : public peer::Memories {
 public:
  RankMemory(transport::sim::Network& network, std::vector<std::unique_ptr<RankMemory>>& all,
             const MemoryWeather& weather) noexcept
      : network_(network), all_(all), weather_(weather), is_bare_(network.chance(weather.bare)) {}

  /// A buffer of the program comes and goes.  What is not announced is the library's own memory, which is
  /// shared.
  void add_buffer(const void* at, std::size_t bytes);
  void remove_buffer(const void* at);

  bool has_published(int) noexcept override { return !network_.chance(weather_.late); }
  std::unique_ptr<peer::PeerMemory> connect(int peer) noexcept override;
  bool is_shared(const void* at, std::size_t bytes) noexcept override;

  /// This rank ends in its next copy by loads and stores, before it can say that it has copied; it stays on
  /// its stack (fibers.hpp), from where `revive` lets it go on when the test has seen enough.
  void die_in_a_copy() noexcept { is_to_die_ = true; }
  bool is_dead() const noexcept { return is_dead_; }
  void revive() noexcept { is_to_die_ = is_dead_ = false; }
  void has_copied() noexcept {
    while (is_to_die_) {
      is_dead_ = true;
      network_.give_way();
    }
  }

  // For peers.
  peer::Mapping map(std::uint64_t at, std::size_t bytes) noexcept;
  peer::Held hold(std::uint64_t at, std::size_t bytes) noexcept {
    if (!is_shared(reinterpret_cast<void*>(at), bytes)) return {};
    return {{reinterpret_cast<std::byte*>(at), 0, &open_windows_}, nullptr, 0, nullptr};
  }
  bool is_still_valid(const peer::Mapping& mapping) noexcept {
    ++copies_;
    return mapping.generation == generation_;
  }
  /// By plain loads and stores, so far: each ends with a question.
  std::uint64_t copies() const noexcept { return copies_; }
  /// Ranges of this memory that peers have attached so far, each with a cache as that of peer/xpmem.cpp.
  std::uint64_t attached() const noexcept { return attached_; }
  void note_attached() noexcept { ++attached_; }
  bool can_copy(const peer::Piece& to) noexcept;
  /// Bytes that have been read from it and written to it by copies, as the kernel's.
  std::uint64_t bytes_by_kernel() const noexcept { return bytes_by_kernel_; }
  void note_by_kernel(std::size_t bytes) noexcept { bytes_by_kernel_ += bytes; }
  const MemoryWeather& weather() const noexcept { return weather_; }

 private:
  struct Buffer {
    std::size_t bytes;
    bool is_shared;
  };
  Buffer* find(const void* at) noexcept;
  std::byte* fork(const std::byte* mapped, std::size_t bytes) noexcept;

  transport::sim::Network& network_;
  std::vector<std::unique_ptr<RankMemory>>& all_;
  const MemoryWeather weather_;
  const bool is_bare_;
  std::atomic<std::uint64_t> generation_ = 2;  // rises by 2 with each fork
  const std::atomic<std::uint32_t> open_windows_ = 0;
  std::uint64_t copies_ = 0, attached_ = 0, bytes_by_kernel_ = 0;
  bool is_to_die_ = false, is_dead_ = false;
  std::map<std::uintptr_t, Buffer> buffers_;   // of the program, by address
  std::vector<std::vector<std::byte>> stale_;  // what mappings that met a fork lead to
};

}  // namespace dunlin::test
