// First bytes of a node's shared segment: what mpirun tells the ranks of a node and what they tell it
// without a message.  Written by mpirun (or by node rank 0 under another launcher) before any rank maps it,
// then by the ranks: boot/own_launcher.cpp does so at init, abort and finalize.  Read by mpirun when a rank
// ends: was MPI initialised, was it finalised, who aborted and why.  docs/launcher.md draws it.
//
// Thread safety: shared between processes.  Invariants:
//  1. The constant part never changes after the first rank started.
//  2. state[i] is written by node rank i only, or by mpirun on its behalf for a rank that speaks PMI; it
//     goes back only when a process restarts.
//  3. The abort fields are written once, by the rank that moved abort_rank away from kNobody.
//  4. mpirun believes nothing in it: a program that writes where it should not can reach all of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "boot/wait_board.hpp"
#include "os/topology.hpp"

namespace dunlin::boot {

enum class RankState : std::uint8_t {
  started = 0,      // has not called MPI_Init (or is no MPI program)
  initialized = 1,  // between init and finalize: its exit is a failure
  finalized = 2,
};

struct LaunchPage {
  static constexpr std::uint64_t kMagic = 0x344c4e55444e4c44;  // changes with the layout
  static constexpr std::int32_t kNobody = -1;
  static constexpr std::size_t kMessageBytes = 400;

  std::uint64_t magic;        // constant
  std::uint32_t node_size;    // ranks of this node; constant
  std::uint32_t cpus_usable;  // CPUs that this node's ranks may keep busy (mask, quota); 0 unknown; constant
  os::NearRanks near;         // as ranks are bound; constant
  std::atomic<std::int32_t> abort_rank;   // world rank whose abort is reported; kNobody until then
  std::int32_t abort_code;                // written by abort_rank
  std::atomic<std::uint32_t> abort_told;  // 1 when code and message are complete
  std::atomic<std::uint32_t> attached;    // ranks that hold the segment, where node rank 0 had to hand it out
  char abort_message[kMessageBytes];      // NUL-terminated; continues "rank N "

  /// One byte per node rank, right behind this struct.
  std::atomic<std::uint8_t>* states() noexcept {
    return reinterpret_cast<std::atomic<std::uint8_t>*>(this + 1);
  }
  RankState state(int node_rank) noexcept;
  /// Behind the states of all ranks.
  RankWaits& waits(int node_rank, int ranks) noexcept;
  void set_state(int node_rank, RankState state) noexcept;
  /// Moves `started` to `initialized`; false when the state was another one (a program that a rank started,
  /// or that runs after it in the same place).
  bool try_begin(int node_rank) noexcept;

  /// Records the first abort of the node; later ones are ignored.
  void record_abort(int world_rank, int code, const char* message) noexcept;
  /// True when an abort is recorded completely.
  bool is_aborted() const noexcept { return abort_told.load(std::memory_order_acquire) == 1; }  // R1, see W1
};
static_assert(std::atomic<std::int32_t>::is_always_lock_free);
static_assert(std::atomic<std::uint8_t>::is_always_lock_free && sizeof(std::atomic<std::uint8_t>) == 1);
static_assert(sizeof(LaunchPage) == 40 + LaunchPage::kMessageBytes);

/// Bytes at the start of a node segment that belong to the launch page: a multiple of 4096.
std::size_t launch_page_bytes(int node_size) noexcept;

/// Makes a memfd (close-on-exec) with a filled-in launch page; -1 and errno on failure.
int make_node_segment(int node_size, int cpus_usable, os::NearRanks near = {}) noexcept;

/// Maps the launch page of a node segment; null when the descriptor is no segment of `node_size` ranks.
LaunchPage* map_launch_page(int fd, int node_size) noexcept;
void unmap_launch_page(LaunchPage* page, int node_size) noexcept;

}  // namespace dunlin::boot
