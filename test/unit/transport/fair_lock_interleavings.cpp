// rma/locks.hpp, the lock of MPI_Win_lock, in every order of its accesses; here, because the interleaver is.
// Who waits sleeps as ranks do (attention.hpp), without a time-out: a wake-up that is missing is a deadlock.
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>

#include "rma/locks.hpp"
#include "test/unit/transport/interleave.hpp"
#include "transport/shm/attention.hpp"

namespace dunlin::rma {
namespace {

using test::Interleaver;
using test::Model;

struct Ranks {
  BasicFairLock<Model, 1> lock;  // may be passed once
  transport::shm::BasicAttention<Model> attention[2];
  // Of who is inside; in words of the model, as what stands elsewhere is no part of a state.
  Model::Atomic<std::uint64_t> readers, writers;

  auto wake() {
    return [this](int rank) {
      for (int each = 0; each < 2; ++each)
        if ((rank < 0 || rank == each) && attention[each].is_wanted()) attention[each].attend(false, [] {});
    };
  }
  void acquire(int rank, bool is_shared) {
    if (lock.try_enter(is_shared, rank)) return;
    const std::uint32_t ticket = lock.draw();
    lock.announce(ticket, rank);
    await(ticket, rank, is_shared);
  }
  void await(std::uint32_t ticket, int rank, bool is_shared) {
    while (!lock.try_enter_in_turn(ticket, is_shared, rank, wake())) {
      attention[rank].announce();
      const bool has_entered = lock.try_enter_in_turn(ticket, is_shared, rank, wake());
      if (!has_entered) attention[rank].sleep(0);
      attention[rank].withdraw();
      if (has_entered) return;
    }
  }
  void turn(int rank, bool is_shared) {
    constexpr auto kRelaxed = std::memory_order_relaxed;
    acquire(rank, is_shared);
    (is_shared ? readers : writers).fetch_add(1, kRelaxed);
    EXPECT_LE(writers.load(kRelaxed) + (readers.load(kRelaxed) > 0), 1u);
    (is_shared ? readers : writers).fetch_sub(1, kRelaxed);
    lock.leave(is_shared, wake());
  }
  /// Inside as a reader until both are.
  void meet() {
    readers.fetch_add(1, std::memory_order_relaxed);
    Interleaver::poll_until([this] { return readers.load(std::memory_order_relaxed) == 2; });
    lock.leave(true, wake());
  }
};

/// One turn of a guest, whose process looks now and then; `looks` times, then never again.
void guest_turn(Ranks& ranks, int looks) {
  constexpr int kRank = 1;
  if (ranks.lock.try_enter(false, kRank)) return ranks.lock.leave(false, ranks.wake());
  std::optional<std::uint32_t> ticket;
  for (; looks > 0; --looks) {
    if (ticket && !ranks.lock.step_back(*ticket)) ticket.reset();
    if (!ticket) {
      ticket = ranks.lock.draw();
      ranks.lock.announce(*ticket, kRank);
    }
    if (ranks.lock.try_enter_in_turn(*ticket, false, kRank, ranks.wake()))
      return ranks.lock.leave(false, ranks.wake());
    const bool has_passed = ranks.lock.try_enter(false, kRank);
    ranks.lock.step_aside(*ticket, ranks.wake());
    if (has_passed) return ranks.lock.leave(false, ranks.wake());
  }
}

/// Two ranks with so many turns each; 'w' and 'r' say how.
void explore(const char* first, const char* second) {
  const char* const turns[] = {first, second};
  const auto outcome = Interleaver::explore([&] {
    static std::optional<Ranks> place;
    Ranks* const ranks = &place.emplace();
    Interleaver::Program program;
    for (int rank = 0; rank < 2; ++rank)
      program.threads.push_back([ranks, rank, each = turns[rank]] {
        for (const char* turn = each; *turn; ++turn) ranks->turn(rank, *turn == 'r');
      });
    program.check = [ranks] { EXPECT_TRUE(ranks->lock.try_enter(false, 0)); };
    return program;
  });
  EXPECT_TRUE(outcome.is_complete) << outcome.runs;
  EXPECT_EQ(outcome.deadlocks, 0u);
  EXPECT_GT(outcome.runs, 100u);
  std::printf("  %llu runs, %llu states\n", static_cast<unsigned long long>(outcome.runs),
              static_cast<unsigned long long>(outcome.states));
}

/// A rank with two turns beside a guest that looks so often: nobody waits for a guest that does not look.
void explore_guest(const char* turns, int looks) {
  const auto outcome = Interleaver::explore([&] {
    static std::optional<Ranks> place;
    Ranks* const ranks = &place.emplace();
    Interleaver::Program program;
    program.threads.push_back([ranks, turns] {
      for (const char* turn = turns; *turn; ++turn) ranks->turn(0, *turn == 'r');
    });
    program.threads.push_back([ranks, looks] { guest_turn(*ranks, looks); });
    // The guest may still stand in the queue.
    program.check = [ranks] { ranks->turn(0, false), ranks->turn(0, false), ranks->turn(0, false); };
    return program;
  });
  EXPECT_TRUE(outcome.is_complete) << outcome.runs;
  EXPECT_EQ(outcome.deadlocks, 0u);
  EXPECT_GT(outcome.runs, 100u);
  std::printf("  %llu runs, %llu states\n", static_cast<unsigned long long>(outcome.runs),
              static_cast<unsigned long long>(outcome.states));
}

/// The first in the queue is a reader, the lock is free, and nobody may pass any more: another reader comes.
TEST(FairLockInterleavings, TwoReadersWhoMeet) {
  const auto outcome = Interleaver::explore([] {
    static std::optional<Ranks> place;
    Ranks* const ranks = &place.emplace();
    EXPECT_TRUE(ranks->lock.try_enter(false, 0));
    const std::uint32_t first = ranks->lock.draw();
    ranks->lock.announce(first, 0);
    ranks->lock.leave(false, ranks->wake());
    EXPECT_TRUE(ranks->lock.try_enter(false, 1));  // passes it
    ranks->lock.leave(false, ranks->wake());
    Interleaver::Program program;
    program.threads.push_back([ranks, first] { ranks->await(first, 0, true), ranks->meet(); });
    program.threads.push_back([ranks] { ranks->acquire(1, true), ranks->meet(); });
    program.check = [ranks] { EXPECT_TRUE(ranks->lock.try_enter(false, 0)); };
    return program;
  });
  EXPECT_TRUE(outcome.is_complete) << outcome.runs;
  EXPECT_EQ(outcome.deadlocks, 0u);
  EXPECT_GT(outcome.runs, 100u);
}

TEST(FairLockInterleavings, AGuestThatLooksOnce) { explore_guest("ww", 1); }
TEST(FairLockInterleavings, AGuestThatLooksTwice) { explore_guest("w", 2); }
TEST(FairLockInterleavings, TwoWriters) { explore("w", "w"); }
TEST(FairLockInterleavings, WriterAndReader) { explore("w", "r"); }
TEST(FairLockInterleavings, AWriterTwice) { explore("ww", "w"); }

}  // namespace
}  // namespace dunlin::rma
