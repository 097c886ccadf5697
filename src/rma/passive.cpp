// Epochs in which the target takes no part (MPI 5.0, 12.5.3 and 12.5.4): locks in shared memory, flushes.
//
// Who waits for a lock waits as everywhere (progress/engine.hpp): it does what others want of it, sleeps, and
// is woken by messages and by whoever lets it in.  The lock of a rank on another node is taken by that rank
// for us (messages.hpp).
// Cost: a lock that is free and its unlock, one atomic instruction each, or to another node a message and its
// answer; lock_all, that for each rank, one after the other; a flush, one fence.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/log.hpp"
#include "os/clock.hpp"
#include "progress/engine.hpp"
#include "protocol/messaging.hpp"
#include "rma/functions.hpp"
#include "rma/operation.hpp"
#include "rma/window.hpp"

namespace dunlin::rma {
namespace {

/// How often a rank that waits looks whether another has died.
constexpr std::int64_t kLookNs = 1'000'000'000;

/// Ends the job with a sentence where a rank is dead that may hold the lock.
void look_for_the_dead(const Window& window, int target) noexcept {
  if (!window.sees_processes) return;
  const auto holder = window.part(target).block->lock.holder();  // a hint
  for (int rank = 0; rank < window.size; ++rank) {
    if (!window.part(rank).block) continue;  // its node's launcher ends the job
    const pid_t process = window.part(rank).block->process.load(std::memory_order_relaxed);  // never changes
    if (kill(process, 0) == 0 || errno != ESRCH) continue;
    if (holder && int(holder) - 1 != rank) continue;
    log::end_job("rank %d has ended while it held or awaited the lock of rank %d's window%s%s", rank, target,
                 *window.name ? " " : "", window.name);
  }
}

/// A place in the queue before a lock.
struct Turn {
  const Window& window;
  const int target;
  const std::uint32_t ticket;
  const bool is_shared;
  mutable std::int64_t looked_ns = os::now_ns();  // for the dead
  mutable bool has_entered = false;

  FairLock& lock() const noexcept { return window.part(target).block->lock; }

  static bool has_come(const void* self) noexcept {
    const auto& turn = *static_cast<const Turn*>(self);
    const Window& window = turn.window;
    if (turn.has_entered) return true;
    turn.has_entered = turn.lock().try_enter_in_turn(turn.ticket, turn.is_shared, window.comm->rank,
                                                     [&](int rank) noexcept { window.wake(rank); });
    if (turn.has_entered) return true;
    if (const std::int64_t now = os::now_ns(); now - turn.looked_ns >= kLookNs) {
      turn.looked_ns = now;
      look_for_the_dead(window, turn.target);
    }
    return false;
  }
  /// The lock of whose memory, and who has it: one rank if it is exclusive.
  static void explain(const void* self, WaitReason& reason) noexcept {
    const auto& turn = *static_cast<const Turn*>(self);
    turn.window.explain(reason);
    const auto holder = turn.lock().holder();  // a hint
    if (holder) reason.peer = turn.window.comm->target_members[holder - 1];
    std::snprintf(reason.what, sizeof reason.what, "the lock of rank %d's memory%s", turn.target,
                  holder ? "" : ", which others share");
  }
};

/// Behind so many others this process sleeps at once where ranks share CPUs.  Sooner, a queue of two whose
/// holder works by messages takes 2.5 times as long (2 CPUs of an AMD EPYC, Zen 1): a sleeper is woken in 20
/// us.
constexpr std::uint32_t kQueueShort = 2;

/// Where this process waits for a lock.
[[gnu::noinline]] void await(const Turn& turn) noexcept {
  FairLock& lock = turn.lock();
  lock.announce(turn.ticket, turn.window.comm->rank);
  progress::Engine& engine = *turn.window.comm->engine;
  if (lock.before(turn.ticket) >= kQueueShort)
    engine.wait_for_turn(&Turn::has_come, &turn, &Turn::explain);
  else
    engine.wait_until(&Turn::has_come, &turn, &Turn::explain);
}

void take(Window& window, int target, bool is_shared) noexcept {
  const Part& part = window.part(target);
  if (!part.block) return window.outgoing.ask_for_lock(target, is_shared);
  FairLock& lock = part.block->lock;
  if (!lock.try_enter(is_shared, window.comm->rank)) await({window, target, lock.draw(), is_shared});
}

/// Who takes several locks in one order everywhere must not come to wait in a circle: those on other nodes
/// that this thread has asked for, in whatever window, and that nobody has waited for, are held before the
/// next one is asked for.
void await_locks(const progress::Engine& engine) noexcept {
  while (Outgoing::any_lock_is_awaited()) {
    const auto& all = all_windows();
    const auto window = std::find_if(all.begin(), all.end(), [&](const Window* each) noexcept {
      return each->comm->engine == &engine && each->outgoing.lock_awaited_here() >= 0;
    });
    if (window == all.end()) return;  // they are other threads'
    (*window)->await((*window)->outgoing.lock_awaited_here());
  }
}

void acquire(Window& window, int target, Part::Hold hold) noexcept {
  Part& part = window.part(target);
  part.hold = hold;
  if (hold != Part::Hold::unchecked) take(window, target, hold == Part::Hold::shared);
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
  if (!part.block) return window.outgoing.give_lock_back(target);
  part.block->lock.leave(hold == Part::Hold::shared, [&](int rank) noexcept { window.wake(rank); });
}

/// What MPI_Win_flush and its kin are allowed in.
Err check_passive(const Window& window, int rank) noexcept {
  const bool is_held =
      window.epoch == Epoch::lock_all || (rank < 0 && window.is_nobody_locked) ||
      (window.epoch == Epoch::lock && (rank < 0 || window.part(rank).hold != Part::Hold::none));
  return is_held ? Err::ok : fail(Err::rma_sync, "no epoch of MPI_Win_lock or MPI_Win_lock_all is open");
}

}  // namespace

Err win_lock(int lock_type, int rank, int assertions, Win& win) noexcept {
  if (const Err e = check_assertions(assertions); e != Err::ok) return e;
  Window& window = window_of(win);
  if (lock_type != MPI_LOCK_SHARED && lock_type != MPI_LOCK_EXCLUSIVE)
    return fail(Err::locktype, "argument lock_type is %d; it must be MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE",
                lock_type);
  if (window.epoch == Epoch::start || window.epoch == Epoch::lock_all)
    return fail(Err::rma_sync, "another epoch is open already");
  if (rank == MPI_PROC_NULL) {
    window.is_nobody_locked = true;
    return Err::ok;
  }
  if (window.part(rank).hold != Part::Hold::none)
    return fail(Err::rma_sync, "rank %d is locked already by this process", rank);
  if (window.epoch == Epoch::fence) window.close_all();  // it ends without another fence
  await_locks(*window.comm->engine);
  window.epoch = Epoch::lock;
  ++window.locks_held;
  acquire(window, rank,
          assertions & MPI_MODE_NOCHECK  ? Part::Hold::unchecked
          : lock_type == MPI_LOCK_SHARED ? Part::Hold::shared
                                         : Part::Hold::exclusive);
  return Err::ok;
}

Err win_lock_all(int assertions, Win& win) noexcept {
  if (const Err e = check_assertions(assertions); e != Err::ok) return e;
  Window& window = window_of(win);
  if (window.epoch != Epoch::none && window.epoch != Epoch::fence)
    return fail(Err::rma_sync, "another epoch is open already");
  window.epoch = Epoch::lock_all;
  const bool is_unchecked = assertions & MPI_MODE_NOCHECK;
  for (int rank = 0; rank < window.size; ++rank) {
    await_locks(*window.comm->engine);
    acquire(window, rank, is_unchecked ? Part::Hold::unchecked : Part::Hold::shared);
  }
  window.gather_facts();
  return Err::ok;
}

Err win_unlock(int rank, Win& win) noexcept {
  Window& window = window_of(win);
  if (rank == MPI_PROC_NULL) {
    window.is_nobody_locked = false;
    return Err::ok;
  }
  if (window.epoch != Epoch::lock || window.part(rank).hold == Part::Hold::none)
    return fail(Err::rma_sync, "rank %d is not locked by MPI_Win_lock of this process", rank);
  const Err error = window.complete(rank);
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
  window.gather_facts();
  window.poll_now_and_then();
  return error;
}

Err win_flush(int rank, Win& win) noexcept {
  Window& window = window_of(win);
  if (rank == MPI_PROC_NULL) return Err::ok;
  if (const Err e = check_passive(window, rank); e != Err::ok) return e;
  // Who is told by a third memory that this is done must find it done.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // Nobody else changes what is locked exclusively, and giving the CPU away would only keep the others
  // waiting.
  if (window.part(rank).hold != Part::Hold::exclusive) window.poll_now_and_then();
  return window.complete(rank);
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
