// What the threads of a rank wait for, where mpirun sees it: a part of the launch page for each rank.
//
// Written by progress/long_wait.cpp when a wait has taken long, read by launcher/deadlock.cpp, which looks at
// `changes` and `rounds`, and by launcher/wait_table.cpp (docs/decisions/0018-deadlock.md).
//
// A rank that waits in a loop of MPI_Test has no wait to note.  What it tests in vain it writes here while
// mpirun asks for it, which is when people ask mpirun who waits for whom.
//
// Thread safety: one writer, the rank, under its base/big_lock.hpp; readers in another process, one of which
// asks.  Invariants:
//  1. `changes` is odd while records are being written, and grows with every change of them.
//  2. `rounds` grows after each round of polls in which nothing moved, while a wait of the thread that polls
//     is noted.
//  3. While `unseen` is not 0 rounds that find nothing prove nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "object/wait_reason.hpp"

namespace dunlin::boot {

struct WaitRecord {
  std::int64_t since_ns = 0;        // of the monotonic clock; 0: unknown
  std::uint64_t address = 0;        // what the call returns to, as debuggers count in `file`; 0: unknown
  std::uint64_t outer_address = 0;  // in `program`: what its caller returns to; 0: the program itself called
  char call[48] = "";               // "MPI_Recv"
  char file[256] = "";              // the program or library that called; an absolute path
  char program[256] = "";           // an absolute path
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
  /// Work goes on where no round of polls looks, from one call to the other.  The other may come from any
  /// thread, after what rounds see of the work's end.
  void begin_unseen() noexcept;
  void end_unseen() noexcept;

  /// By mpirun: from now on the rank notes what it tests in vain.
  void ask_for_tests() noexcept;
  void stop_asking() noexcept;
  // By the rank.  Relaxed, here and there: a question is no data, and its answer may begin a test later.
  bool is_asked_for_tests() const noexcept { return question_.load(std::memory_order_relaxed) != 0; }
  /// Whether what it tests has been noted since the question.
  bool has_noted_test() const noexcept {
    return answered_.load(std::memory_order_relaxed) == question_.load(std::memory_order_relaxed);
  }
  void note_test(const WaitRecord& record) noexcept;
  void count_test() noexcept;
  void forget_test() noexcept;

  /// A consistent view.
  struct Counts {
    std::uint32_t changes = 0;
    std::uint32_t rounds = 0;
    std::int32_t waiting = 0;  // threads
    std::int32_t process = 0;  // as the rank knows itself
    bool has_threads = false;  // others may call MPI meanwhile (MPI_THREAD_MULTIPLE)
    std::int32_t unseen = 0;   // pieces of work that go on where no round looks
    std::uint32_t tests = 0;   // in vain since mpirun asked, of what the last record says; 0: there is none
  };
  static constexpr int kRecordsMax = kRecords + 1;
  /// Copies the records that are up to `records` (room for kRecordsMax; null: not wanted) and their number to
  /// `count`.  False where the rank was writing all the time.
  bool try_read(Counts& counts, WaitRecord* records, int& count) const noexcept;

 private:
  static constexpr std::uint32_t kUnanswered = UINT32_MAX;
  void begin_change() noexcept;
  void end_change() noexcept;
  void write(int place, const WaitRecord& record) noexcept;

  std::atomic<std::uint32_t> changes_{0};
  std::atomic<std::uint32_t> rounds_{0};
  std::atomic<std::int32_t> waiting_{0};
  std::atomic<std::int32_t> process_{0};
  std::atomic<bool> has_threads_{false};
  std::atomic<std::int32_t> unseen_{0};
  std::atomic<std::uint32_t> question_{0};  // by mpirun: its number; 0: none is open
  std::uint32_t last_question_ = 0;         // by mpirun, which alone reads it
  std::atomic<std::uint32_t> answered_{kUnanswered};
  std::atomic<std::uint32_t> tests_{0};
  std::atomic<bool> is_used_[kRecords]{};
  std::atomic<std::uint64_t> records_[kRecordsMax]
                                     [sizeof(WaitRecord) / sizeof(std::uint64_t)]{};  // the test's last
};

enum class DeadlockAction : std::uint8_t { end, report, ignore };
/// DUNLIN_DEADLOCK.
DeadlockAction deadlock_action() noexcept;

}  // namespace dunlin::boot
