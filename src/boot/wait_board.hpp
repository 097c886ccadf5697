// What the threads of a rank wait for, where mpirun sees it: a part of the launch page for each rank.
//
// Written by progress/long_wait.cpp when a wait has taken long, read by launcher/deadlock.cpp, which looks at
// `changes` and `rounds`, and by launcher/wait_table.cpp (docs/decisions/0018-deadlock.md).
//
// Thread safety: one writer, the rank, under its base/big_lock.hpp; readers in another process.  Invariants:
//  1. `changes` is odd while records are being written, and grows with every change of them.
//  2. `rounds` grows after each round of polls in which nothing moved, while a wait of the thread that polls
//     is noted.
#pragma once

#include <atomic>
#include <cstdint>

#include "object/wait_reason.hpp"

namespace dunlin::boot {

struct WaitRecord {
  std::int64_t since_ns = 0;  // of the monotonic clock
  std::uint64_t address = 0;  // what the call returns to, as debuggers count in `file`; 0: unknown
  char call[48] = "";         // "MPI_Recv"
  char file[256] = "";        // the program or library that called
  WaitReason reason;
};

class RankWaits {
 public:
  static constexpr int kRecords = 8;
  static constexpr int kNoPlace = -1;

  /// Puts a record up; answers its place, or kNoPlace where so many threads wait already (they count).
  int note(const WaitRecord& record, bool has_threads) noexcept;
  /// Takes it down.
  void forget(int place) noexcept;
  void count_round() noexcept;

  /// A consistent view.
  struct Counts {
    std::uint32_t changes = 0;
    std::uint32_t rounds = 0;
    std::int32_t waiting = 0;  // threads
    std::int32_t process = 0;  // as the rank knows itself
    bool has_threads = false;  // others may call MPI meanwhile (MPI_THREAD_MULTIPLE)
  };
  /// Copies the records that are up to `records` (room for kRecords; null: not wanted) and their number to
  /// `count`.  False where the rank was writing all the time.
  bool try_read(Counts& counts, WaitRecord* records, int& count) const noexcept;

 private:
  void begin_change() noexcept;
  void end_change() noexcept;

  std::atomic<std::uint32_t> changes_{0};
  std::atomic<std::uint32_t> rounds_{0};
  std::atomic<std::int32_t> waiting_{0};
  std::atomic<std::int32_t> process_{0};
  std::atomic<bool> has_threads_{false};
  std::atomic<bool> is_used_[kRecords]{};
  std::atomic<std::uint64_t> records_[kRecords][sizeof(WaitRecord) / sizeof(std::uint64_t)]{};
};

enum class DeadlockAction : std::uint8_t { end, report, ignore };
/// DUNLIN_DEADLOCK.
DeadlockAction deadlock_action() noexcept;

}  // namespace dunlin::boot
