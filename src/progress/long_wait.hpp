// A wait that takes long: it is noted on the launch page, from where mpirun finds deadlocks and prints who
// waits for whom (docs/decisions/0018-deadlock.md), and reported by this process where a setting asks for it.
//
// Part of `Engine`'s waits, and of the one for a window's lock.  Costs nothing before the waiting thread
// sleeps: which call it is in, and from where it was called, is read from its stack then.
//
// The same is noted of a loop of MPI_Test, which waits without saying so, while mpirun asks for it.
// Thread safety: used under base/big_lock.hpp.
#pragma once

#include <cstdint>

#include "boot/wait_board.hpp"

namespace dunlin::progress {

/// A sentence about a wait that was noted.  In a handler of signals, too.
void tell(const boot::WaitRecord& record) noexcept;

class LongWait {
 public:
  using Explain = void (*)(const void* argument, WaitReason& reason) noexcept;

  /// Where this process writes notes; null: nowhere.
  static void set_board(boot::RankWaits* board) noexcept { board_ = board; }

  /// Work goes on where no round of polls looks, such as an access to a file by a thread, from one call to
  /// the other, which may come from any thread: no deadlock meanwhile.
  static void begin_unseen() noexcept {
    if (board_) board_->begin_unseen();
  }
  static void end_unseen() noexcept {
    if (board_) board_->end_unseen();
  }

  LongWait(Explain explain, const void* argument) noexcept : explain_(explain), argument_(argument) {}
  ~LongWait() { moved(); }
  LongWait(const LongWait&) = delete;
  LongWait& operator=(const LongWait&) = delete;

  /// After every round of the thread that polls.
  void polled(bool has_moved) noexcept {
    if (is_noted_) [[unlikely]]
      has_moved ? moved() : board_->count_round();
  }
  /// Something moved in this process: maybe for this wait.
  void moved() noexcept {
    quiet_since_ns_ = 0;
    if (is_noted_) [[unlikely]]
      forget();
  }
  /// The thread has slept, or is about to.
  void slept() noexcept;
  /// What it waits for now.
  WaitReason reason() const noexcept;

  /// Whether mpirun asks what is tested in vain: then `tested` after each test that did not find what it
  /// looks for, with whether its round of polls moved anything.
  static bool is_asked_for_tests() noexcept { return board_ && board_->is_asked_for_tests(); }
  static void tested(bool has_moved, Explain explain, const void* argument) noexcept;

 private:
  void note() noexcept;
  void forget() noexcept;
  void report() noexcept;

  static inline boot::RankWaits* board_ = nullptr;
  const Explain explain_;
  const void* const argument_;
  std::int64_t since_ns_ = 0;        // of the first sleep; 0: none yet
  std::int64_t quiet_since_ns_ = 0;  // of the first sleep since something moved; 0: none yet
  int place_ = 0;                    // on the board
  bool is_noted_ = false;
  bool has_reported_ = false;
  bool has_reported_hold_ = false;  // by the peer
};

}  // namespace dunlin::progress
