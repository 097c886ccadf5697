// The one lock of the process for MPI_THREAD_MULTIPLE, taken by the C bindings around every call.
//
// A program that asked for less than MPI_THREAD_MULTIPLE pays one predictable branch.  Recursive, because
// callbacks of the program (attribute copy functions, error handlers) may call MPI.  A wait gives it up
// between polls (`Pause`). Scale: one lock per process; lanes per communicator are the plan for threads that
// never meet.
#pragma once

#include <pthread.h>

namespace dunlin {

class BigLock {
 public:
  static bool is_needed() noexcept { return needed_; }
  /// Whether calls may come from several threads at once.  True until MPI_Init_thread grants less.
  static void set_needed(bool needed) noexcept { set(threads_ = needed, own_threads_); }
  static bool has_threads() noexcept { return threads_; }
  /// One more thread of the library's own comes inside, or one less: the helper (progress/helper.hpp), or
  /// that of a fence (runtime/instance.cpp).
  static void add_own_thread() noexcept { set(threads_, ++own_threads_); }
  static void remove_own_thread() noexcept { set(threads_, --own_threads_); }
  /// In a child of fork, which has only the thread that forked.
  static void forget_threads() noexcept { set(threads_ = false, own_threads_ = 0); }
  /// What is done when the lock comes to be needed, or null: rma/ closes shortcuts that take no lock.
  static void set_when_needed(void (*task)() noexcept) noexcept { when_needed_ = task; }
  static void acquire() noexcept;
  static void release() noexcept;
  /// Gives up all levels held by this thread and answers how many; `reacquire` takes them again.
  static int release_all() noexcept;
  /// What a call does last under the lock, or null: progress/engine.cpp looks after threads that wait.
  static void set_before_release(void (*task)() noexcept) noexcept { before_release_ = task; }
  static void reacquire(int levels) noexcept;

  /// Held for the length of one MPI call.
  class Guard {
   public:
    Guard() noexcept : held_(needed_) {
      if (held_) [[unlikely]]
        acquire();
    }
    ~Guard() {
      if (held_) [[unlikely]]
        release();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    const bool held_;
  };

 private:
  static void set(bool threads, int own_threads) noexcept {
    const bool is_needed = threads || own_threads > 0;
    if (is_needed == needed_) return;  // other threads of the program may look at it
    needed_ = is_needed;
    if (is_needed && when_needed_) when_needed_();
  }
  static inline bool needed_ = true;
  static inline bool threads_ = true;
  static inline int own_threads_ = 0;
  static inline void (*when_needed_)() noexcept = nullptr;
  static inline void (*before_release_)() noexcept = nullptr;  // changed under the lock
};

}  // namespace dunlin
