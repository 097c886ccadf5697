// See wait_signal.hpp.
#include "progress/wait_signal.hpp"

#include <signal.h>

#include <cerrno>

#include "base/log.hpp"
#include "progress/long_wait.hpp"

namespace dunlin::progress {
namespace {

boot::RankWaits board;

/// Reads what the interrupted thread, too, may just be writing: then it waits for nothing yet.
void answer(int) noexcept {
  const int error = errno;
  boot::RankWaits::Counts counts;
  boot::WaitRecord records[boot::RankWaits::kRecordsMax];
  int count = 0;
  if (!board.try_read(counts, records, count)) count = 0;
  for (int i = 0; i < count; ++i) tell(records[i]);
  if (count == 0) log::warn("does not wait in MPI, or for less than half a second");
  errno = error;
}

}  // namespace

boot::RankWaits& answer_signal() noexcept {
  struct sigaction now, mine{};
  mine.sa_handler = answer;
  mine.sa_flags = SA_RESTART;
  if (::sigaction(SIGUSR1, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
    ::sigaction(SIGUSR1, &mine, nullptr);
  return board;
}

}  // namespace dunlin::progress
