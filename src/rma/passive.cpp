// Epochs in which the target takes no part (MPI 5.0, 12.5.3 and 12.5.4): locks in shared memory, flushes.
//
// Who waits for a lock sleeps, and looks every two milliseconds after what others want of it.
// Cost: a lock that is free and its unlock, one atomic instruction each; lock_all, one for each rank; a
// flush, one fence.
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/big_lock.hpp"
#include "base/log.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "progress/engine.hpp"
#include "rma/functions.hpp"
#include "rma/window.hpp"

namespace dunlin::rma {
namespace {

constexpr int kPolls = 200;                           // before sleeping, where ranks have cores of their own
constexpr std::int64_t kSleepNs = 2'000'000;          // then others may want something of this process
constexpr std::int64_t kSuspicionNs = 1'000'000'000;  // then the holder may be dead

/// Ends the job with a sentence where a rank is dead that may hold the lock.
void look_for_the_dead(const Window& window, int target) noexcept {
  if (!window.sees_processes) return;
  const auto holder = window.segment.block(target).lock.holder.load(std::memory_order_relaxed);  // a hint
  for (int rank = 0; rank < window.size; ++rank) {
    const pid_t process =
        window.segment.block(rank).process.load(std::memory_order_relaxed);  // never changes
    if (kill(process, 0) == 0 || errno != ESRCH) continue;
    if (holder && int(holder) - 1 != rank) continue;
    log::die("rank %d has ended while it held or awaited the lock of rank %d's window%s%s", rank, target,
             *window.name ? " " : "", window.name);
  }
}

struct Awaited {
  const Window& window;
  int target;
};

/// The lock of whose memory, and who has it: one rank if it is exclusive.
void explain(const void* awaited, WaitReason& reason) noexcept {
  const auto& [window, target] = *static_cast<const Awaited*>(awaited);
  window.explain(reason);
  const auto holder = window.segment.block(target).lock.holder.load(std::memory_order_relaxed);  // a hint
  if (holder) reason.peer = window.comm->target_members[holder - 1];
  std::snprintf(reason.what, sizeof reason.what, "the lock of rank %d's memory%s", target,
                holder ? "" : ", which others share");
}

/// Until it is our turn.  Each round looks at everything that others can do for it, as those of
/// Engine::wait_until do (docs/decisions/0018-deadlock.md).
void await_turn(Window& window, int target, std::uint32_t ticket, bool is_shared) noexcept {
  FairLock& lock = window.segment.block(target).lock;
  const Awaited awaited{window, target};
  progress::LongWait long_wait(&explain, &awaited);
  progress::Engine& engine = *window.comm->engine;
  const int polls_max = engine.is_oversubscribed() ? 1 : kPolls;
  std::int64_t suspicious_ns = os::now_ns() + kSuspicionNs;
  for (int polls = 0; !lock.may_enter(ticket, is_shared); ++polls) {
    const bool has_moved = engine.poll();
    long_wait.polled(has_moved);
    if (has_moved) {
      polls = 0;  // more may follow
      continue;
    }
    if (polls < polls_max) {
      os::pause();
      continue;
    }
    window.comm->messaging->rendezvous.lose_patience();
    const int levels = BigLock::is_needed() ? BigLock::release_all() : 0;
    lock.sleep(ticket, is_shared, kSleepNs);
    BigLock::reacquire(levels);
    long_wait.slept();
    if (os::now_ns() < suspicious_ns) continue;
    look_for_the_dead(window, target);
    suspicious_ns = os::now_ns() + kSuspicionNs;
  }
}

void acquire(Window& window, int target, Part::Hold hold) noexcept {
  Part& part = window.part(target);
  part.hold = hold;
  if (hold != Part::Hold::unchecked) {
    FairLock& lock = window.segment.block(target).lock;
    const bool is_shared = hold == Part::Hold::shared;
    const std::uint32_t ticket = lock.draw();
    if (!lock.may_enter(ticket, is_shared)) await_turn(window, target, ticket, is_shared);
    lock.enter(ticket, is_shared);
    if (!is_shared) lock.holder.store(std::uint32_t(window.comm->rank) + 1, std::memory_order_relaxed);
  }
  window.open(part);
}

void release(Window& window, int target) noexcept {
  Part& part = window.part(target);
  window.close(part);
  const Part::Hold hold = std::exchange(part.hold, Part::Hold::none);
  if (hold == Part::Hold::unchecked) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return;
  }
  FairLock& lock = window.segment.block(target).lock;
  if (hold == Part::Hold::exclusive) lock.holder.store(0, std::memory_order_relaxed);
  lock.leave(hold == Part::Hold::shared);
}

/// What MPI_Win_flush and its kin are allowed in.
Err check_passive(const Window& window, int rank) noexcept {
  const bool is_held =
      window.epoch == Epoch::lock_all ||
      (window.epoch == Epoch::lock && (rank < 0 || window.part(rank).hold != Part::Hold::none));
  return is_held ? Err::ok : fail(Err::rma_sync, "no epoch of MPI_Win_lock or MPI_Win_lock_all is open");
}

}  // namespace

Err win_lock(int lock_type, int rank, int assertions, Win& win) noexcept {
  Window& window = window_of(win);
  if (lock_type != MPI_LOCK_SHARED && lock_type != MPI_LOCK_EXCLUSIVE)
    return fail(Err::locktype, "argument lock_type is %d; it must be MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE",
                lock_type);
  if (window.epoch == Epoch::start || window.epoch == Epoch::lock_all)
    return fail(Err::rma_sync, "another epoch is open already");
  if (rank == MPI_PROC_NULL) return Err::ok;
  if (window.part(rank).hold != Part::Hold::none)
    return fail(Err::rma_sync, "rank %d is locked already by this process", rank);
  if (window.epoch == Epoch::fence) window.close_all();  // it ends without another fence
  window.epoch = Epoch::lock;
  ++window.locks_held;
  acquire(window, rank,
          assertions & MPI_MODE_NOCHECK  ? Part::Hold::unchecked
          : lock_type == MPI_LOCK_SHARED ? Part::Hold::shared
                                         : Part::Hold::exclusive);
  return Err::ok;
}

Err win_lock_all(int assertions, Win& win) noexcept {
  Window& window = window_of(win);
  if (window.epoch != Epoch::none && window.epoch != Epoch::fence)
    return fail(Err::rma_sync, "another epoch is open already");
  window.epoch = Epoch::lock_all;
  const bool is_unchecked = assertions & MPI_MODE_NOCHECK;
  for (int rank = 0; rank < window.size; ++rank)
    acquire(window, rank, is_unchecked ? Part::Hold::unchecked : Part::Hold::shared);
  return Err::ok;
}

Err win_unlock(int rank, Win& win) noexcept {
  Window& window = window_of(win);
  if (rank == MPI_PROC_NULL) return Err::ok;
  if (window.epoch != Epoch::lock || window.part(rank).hold == Part::Hold::none)
    return fail(Err::rma_sync, "rank %d is not locked by MPI_Win_lock of this process", rank);
  const Err error = window.complete(window.part(rank));
  release(window, rank);
  if (--window.locks_held == 0) window.epoch = Epoch::none;
  window.poll_now_and_then();
  return error;
}

Err win_unlock_all(Win& win) noexcept {
  Window& window = window_of(win);
  if (window.epoch != Epoch::lock_all) return fail(Err::rma_sync, "MPI_Win_lock_all was not called before");
  const Err error = window.complete_all();
  for (int rank = 0; rank < window.size; ++rank) release(window, rank);
  window.epoch = Epoch::none;
  window.poll_now_and_then();
  return error;
}

Err win_flush(int rank, Win& win) noexcept {
  Window& window = window_of(win);
  if (rank == MPI_PROC_NULL) return Err::ok;
  if (const Err e = check_passive(window, rank); e != Err::ok) return e;
  // Who is told by a third memory that this is done must find it done.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // Nobody else changes what is locked exclusively, and giving the core away would only keep the others
  // waiting.
  if (window.part(rank).hold != Part::Hold::exclusive) window.poll_now_and_then();
  return window.complete(window.part(rank));
}

Err win_flush_all(Win& win) noexcept {
  Window& window = window_of(win);
  if (const Err e = check_passive(window, -1); e != Err::ok) return e;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  window.poll_now_and_then();
  return window.complete_all();
}

// What is complete at the target is complete here; nothing is known of the other half alone.
Err win_flush_local(int rank, Win& win) noexcept { return win_flush(rank, win); }
Err win_flush_local_all(Win& win) noexcept { return win_flush_all(win); }

// MPI 5.0, 12.7: the processor's own caches are coherent, what is left is the order.
Err win_sync(Win& win) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  window_of(win).poll_now_and_then();
  return Err::ok;
}

}  // namespace dunlin::rma
