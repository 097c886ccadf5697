// See deadlock.hpp.
#include "launcher/deadlock.hpp"

#include "launcher/threads.hpp"

namespace dunlin::launcher {
namespace {

/// In each stage every rank ends so many rounds: the first may have begun before, and the next may only have
/// opened a ring or met a partner, which the one after it uses.
constexpr std::uint32_t kRounds = 4;

}  // namespace

/// A rank that has ended can do nothing for the others any more.  One that has left MPI may come back: a
/// session may be its first or its next.
DeadlockWatch::Answer DeadlockWatch::is_waiting(int rank, Seen& seen) const {
  const pid_t pid = pids_[std::size_t(rank)];
  if (pid < 0) return Answer::out_of_it;
  if (page_.state(rank) != boot::RankState::initialized) return Answer::no;
  boot::RankWaits::Counts counts;
  int records = 0;
  if (!page_.waits(rank, int(pids_.size())).try_read(counts, nullptr, records) || counts.waiting == 0)
    return Answer::no;
  if (counts.unseen > 0) return Answer::no;
  seen.changes = counts.changes;
  seen.rounds = counts.rounds;
  if (!counts.has_threads) return Answer::yes;
  if (counts.process != pid) return Answer::no;  // a shell between us: whose threads are whose is not known
  auto threads = sleeping_threads(pid, counts.waiting);
  if (!threads) return Answer::no;
  seen.threads = std::move(*threads);
  return Answer::yes;
}

bool DeadlockWatch::look() {
  std::vector<Seen> now;
  for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
    Seen seen;
    switch (is_waiting(int(rank), seen)) {
      case Answer::yes:
        now.push_back(std::move(seen));
        break;
      case Answer::no:
        stage_ = Stage::apart;
        return false;
      case Answer::out_of_it:
        break;
    }
  }
  bool is_same = !now.empty() && now.size() == seen_.size(), has_looked = true;
  for (std::size_t i = 0; is_same && i < now.size(); ++i) {
    is_same = now[i].changes == seen_[i].changes && now[i].threads == seen_[i].threads;
    has_looked = has_looked && now[i].rounds - seen_[i].rounds >= kRounds;
  }
  if (stage_ == Stage::apart || !is_same) {
    stage_ = now.empty() ? Stage::apart : Stage::first;
    seen_ = std::move(now);
    return false;
  }
  if (!has_looked || stage_ == Stage::told) return false;
  stage_ = stage_ == Stage::first ? Stage::second : Stage::told;
  seen_ = std::move(now);
  return stage_ == Stage::told;
}

}  // namespace dunlin::launcher
