// See wait_board.hpp.
#include "boot/wait_board.hpp"

#include <unistd.h>

#include <cstring>
#include <type_traits>

#include "base/assert.hpp"
#include "base/variable.hpp"

namespace dunlin::boot {
namespace {

// Of mpirun; here so that ranks know it, too, when they look for misspelt settings.
WordVariable on_deadlock{
    "DEADLOCK", "end", "end|report|ignore",
    "what mpirun does when no rank can go on: end the job (code 123), print who waits for "
    "whom, or nothing"};

constexpr std::size_t kWords = sizeof(WaitRecord) / sizeof(std::uint64_t);
static_assert(sizeof(WaitRecord) % sizeof(std::uint64_t) == 0 && std::is_trivially_copyable_v<WaitRecord>);

}  // namespace

void RankWaits::begin_change() noexcept {
  changes_.store(changes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // one writer
}

void RankWaits::end_change() noexcept {
  // W1 (pairs with R1): who sees this count sees the records that belong to it.
  changes_.store(changes_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

int RankWaits::note(const WaitRecord& record, bool has_threads) noexcept {
  // Relaxed loads here and in forget: by the one writer.
  int place = 0;
  while (place < kRecords && is_used_[place].load(std::memory_order_relaxed)) ++place;
  begin_change();
  // W0 (pairs with R0 in try_read), here and in forget: who sees what is stored below sees the odd count,
  // too; without it a reader could take half of an old record and half of a new one for one.
  waiting_.store(waiting_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  has_threads_.store(has_threads, std::memory_order_release);
  process_.store(getpid(), std::memory_order_release);
  if (place < kRecords) {
    write(place, record);
    is_used_[place].store(true, std::memory_order_release);
  }
  end_change();
  return place < kRecords ? place : kNoPlace;
}

void RankWaits::forget(int place) noexcept {
  DUNLIN_ASSERT(place == kNoPlace || is_used_[place].load(std::memory_order_relaxed));
  begin_change();
  waiting_.store(waiting_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
  if (place != kNoPlace) is_used_[place].store(false, std::memory_order_release);
  end_change();
}

void RankWaits::write(int place, const WaitRecord& record) noexcept {
  std::uint64_t words[kWords];
  std::memcpy(words, &record, sizeof record);
  for (std::size_t i = 0; i < kWords; ++i) records_[place][i].store(words[i], std::memory_order_release);
}

void RankWaits::ask_for_tests() noexcept {
  question_.store(++last_question_, std::memory_order_relaxed);  // people do not ask 2^32 times
}

void RankWaits::stop_asking() noexcept { question_.store(0, std::memory_order_relaxed); }

void RankWaits::note_test(const WaitRecord& record) noexcept {
  begin_change();
  write(kRecords, record);
  tests_.store(1, std::memory_order_release);  // as W0, like the next
  answered_.store(question_.load(std::memory_order_relaxed), std::memory_order_release);
  end_change();
}

void RankWaits::count_test() noexcept {
  tests_.store(tests_.load(std::memory_order_relaxed) + 1,
               std::memory_order_relaxed);  // one writer; a number
}

void RankWaits::forget_test() noexcept {
  begin_change();
  answered_.store(kUnanswered, std::memory_order_release);
  end_change();
}

void RankWaits::count_round() noexcept {
  // W2 (pairs with R2): the round's loads and stores come before it, so that who sees the count knows that
  // the round is over.
  rounds_.store(rounds_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

// Relaxed: whoever waits for the work notes that later, which publishes it.
void RankWaits::begin_unseen() noexcept { unseen_.fetch_add(1, std::memory_order_relaxed); }

void RankWaits::end_unseen() noexcept {
  // W3 (pairs with R3): who sees that the work is over knows that the next round sees it, too.
  unseen_.fetch_sub(1, std::memory_order_release);
}

bool RankWaits::try_read(Counts& counts, WaitRecord* records, int& count) const noexcept {
  for (int tries = 0; tries < 100; ++tries) {
    // R1 (pairs with W1): the records that belong to this count, or later ones.
    counts.changes = changes_.load(std::memory_order_acquire);
    if (counts.changes % 2 != 0) continue;
    // R2 (pairs with W2): what the rank did in these rounds has been done.
    counts.rounds = rounds_.load(std::memory_order_acquire);
    // R0 (pairs with W0): had any word below been written meanwhile, the count would differ at the end.
    counts.waiting = waiting_.load(std::memory_order_acquire);
    counts.has_threads = has_threads_.load(std::memory_order_acquire);
    counts.process = process_.load(std::memory_order_acquire);
    counts.unseen = unseen_.load(std::memory_order_acquire);  // R3
    const bool is_answered = answered_.load(std::memory_order_acquire) == last_question_;
    counts.tests = is_answered ? tests_.load(std::memory_order_acquire) : 0;
    count = 0;
    for (int place = 0; records && place < kRecordsMax; ++place) {
      const bool is_up =
          place < kRecords ? is_used_[place].load(std::memory_order_acquire) : counts.tests > 0;
      if (!is_up) continue;
      std::uint64_t words[kWords];
      for (std::size_t i = 0; i < kWords; ++i) words[i] = records_[place][i].load(std::memory_order_acquire);
      std::memcpy(&records[count++], words, sizeof words);
    }
    if (changes_.load(std::memory_order_relaxed) == counts.changes) return true;  // after all loads above
  }
  return false;
}

DeadlockAction deadlock_action() noexcept { return DeadlockAction(on_deadlock.index()); }

}  // namespace dunlin::boot
