// Processes of one bench program: forked before the shared heap is opened, so that each opens its own; they
// meet on a shared page.
#pragma once

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "peer/peer_memory.hpp"

namespace bench {

constexpr int kProcessesMax = 64;

inline double now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) * 1e6 + double(now.tv_nsec) * 1e-3;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

/// The page that all processes share.
struct Board {
  std::atomic<std::uint32_t> arrived;
  std::atomic<std::uint32_t> turn;
  alignas(64) double result[kProcessesMax];
  double begin[kProcessesMax];
  double end[kProcessesMax];
  std::uint64_t address[kProcessesMax];  // of a buffer of each process
  std::byte published[kProcessesMax][dunlin::peer::kPublishedBytesMax];
  std::size_t published_bytes;
};

/// What one process sees.
class Process {
 public:
  Process(Board& board, int rank, int count) : board_(board), rank_(rank), count_(count) {
    cpu_set_t set;
    CPU_ZERO(&set);
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    CPU_SET(std::size_t(rank % int(cpus)), &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  int rank() const { return rank_; }
  int count() const { return count_; }
  Board& board() { return board_; }

  void barrier() {
    const std::uint32_t turn = board_.turn.load();
    if (board_.arrived.fetch_add(1) + 1 == std::uint32_t(count_)) {
      board_.arrived.store(0);
      board_.turn.fetch_add(1);
      return;
    }
    while (board_.turn.load() == turn) sched_yield();
  }
  /// Publishes this process's address and buffer; afterwards `connect` reaches every other.
  void publish(const void* buffer) {
    const auto address = dunlin::peer::published_address();
    std::memcpy(board_.published[rank_], address.data(), address.size());
    board_.published_bytes = address.size();
    board_.address[rank_] = reinterpret_cast<std::uint64_t>(buffer);
    barrier();
  }
  std::unique_ptr<dunlin::peer::PeerMemory> connect(int peer) {
    return dunlin::peer::connect({board_.published[peer], board_.published_bytes});
  }
  /// From the first begin to the last end that the processes wrote to the board.
  double span_us() {
    const double* begin = board_.begin;
    const double* end = board_.end;
    return *std::max_element(end, end + count_) - *std::min_element(begin, begin + count_);
  }

 private:
  Board& board_;
  int rank_;
  int count_;
};

/// Runs `body(Process&)` in `count` processes; the exit status of the program.
template <class F>
int run(int count, F body) {
  void* page = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 1;
  auto* board = new (page) Board{};
  std::fflush(nullptr);
  for (int rank = 0; rank < count; ++rank) {
    if (fork() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Process process(*board, rank, count);
    body(process);
    std::fflush(nullptr);
    _exit(0);
  }
  int worst = 0;
  for (int rank = 0; rank < count; ++rank) {
    int status = 0;
    wait(&status);
    worst = std::max(worst, status);
  }
  munmap(page, sizeof(Board));
  return worst ? 1 : 0;
}

}  // namespace bench
