// The whole transport between real processes: random traffic, every wait a sleep, tiny and normal rings.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include "base/variable.hpp"
#include "os/clock.hpp"
#include "transport/shm/transport.hpp"

namespace dunlin::transport::shm {
namespace {

/// Checks order and content of what arrives, by sender.
class CheckingInbox final : public Inbox {
 public:
  explicit CheckingInbox(int senders) : next(std::size_t(senders)) {}
  void arrived(int peer, const Envelope& envelope, const Payload& payload) noexcept override {
    std::vector<std::byte> data(envelope.bytes);
    payload.copy_to(data.data(), 0, data.size());
    std::uint64_t& number = next[std::size_t(peer)];
    has_failed |= envelope.context != number || envelope.source != peer;
    for (std::size_t at = 0; at < data.size(); ++at) has_failed |= data[at] != std::byte(number + at);
    ++number;
    ++messages;
  }
  std::vector<std::uint64_t> next;
  std::uint64_t messages = 0;
  bool has_failed = false;
};

class Process {
 public:
  Process(int fd, int me, int size)
      : me_(me), peers_(std::size_t(size)), inbox_(size), sent_(std::size_t(size)) {
    for (int peer = 0; peer < size; ++peer) peers_[std::size_t(peer)] = peer;
    auto opened = Transport::open({fd, 4096, me, peers_});
    if (!opened) _exit(10);
    transport_ = std::move(*opened);
  }

  /// Sends `messages` to random peers, sleeping whenever there is nothing to do.  0 when all went well.
  int exchange(int messages, std::uint32_t seed) {
    std::mt19937 random(seed + std::uint32_t(me_));
    const int size = int(peers_.size());
    for (int message = 0; message < messages; ++message) {
      // Everybody sends the same number to everybody, so that each knows what to wait for.
      const int to = (me_ + 1 + message % (size - 1)) % size;
      send(to, random() % 8 ? random() % 64 : random() % 3000);
      if (random() % 4 == 0) transport_->poll(inbox_);
    }
    return finish(std::uint64_t(messages));
  }

  /// Rank 0 sends `messages` to rank 1.
  int flood(int messages) {
    for (int message = 0; me_ == 0 && message < messages; ++message) send(1, 8);
    return finish(me_ == 0 ? 0 : std::uint64_t(messages));
  }

  /// The messages of `barriers` dissemination barriers.
  int pass_barriers(int barriers) {
    const int size = int(peers_.size());
    std::uint64_t messages = 0;
    for (int barrier = 0; barrier < barriers; ++barrier) {
      for (int distance = 1; distance < size; distance *= 2) {
        send((me_ + distance) % size, 8);
        ++messages;
      }
    }
    return finish(messages);
  }

 private:
  int finish(std::uint64_t messages) {
    while (inbox_.messages < messages) sleep();
    return inbox_.has_failed ? 1 : is_late_ ? 2 : 0;
  }
  void send(int to, std::size_t bytes) {
    transport::Channel& channel = *transport_->connect(to);
    bytes = std::min(bytes, channel.bytes_max());
    std::uint64_t& number = sent_[std::size_t(to)];
    std::vector<std::byte> data(bytes);
    for (std::size_t at = 0; at < bytes; ++at) data[at] = std::byte(number + at);
    const Envelope envelope{number, me_, 0, std::uint32_t(bytes), MessageKind::eager};
    const auto try_send = [&] { return channel.try_send(envelope, {}, {data.data(), bytes}) == Sent::yes; };
    while (!try_send()) {
      if (sleep_unless(try_send)) break;
    }
    ++number;
  }
  void sleep() {
    sleep_unless([] { return false; });
  }
  /// Sleeps until a message is there, or room; not if there is one already or `try_last()` succeeds, as which
  /// it answers.
  template <class Try>
  bool sleep_unless(Try&& try_last) {
    constexpr std::int64_t kFarTooLongNs = 5'000'000'000;
    if (transport_->poll(inbox_) > 0) return false;
    transport_->announce_sleep();
    bool is_done = false;
    if (transport_->poll(inbox_) == 0 && !(is_done = try_last())) {
      const auto start = os::now_ns();
      transport_->sleep(kFarTooLongNs);
      is_late_ |= os::now_ns() - start >= kFarTooLongNs;
    }
    transport_->withdraw_sleep();
    return is_done;
  }

  const int me_;
  std::vector<int> peers_;
  CheckingInbox inbox_;
  std::vector<std::uint64_t> sent_;
  std::unique_ptr<Transport> transport_;
  bool is_late_ = false;
};

/// Runs `body(fd, rank)` in `size` processes and expects 0 from each.
template <class Body>
void run_processes(int fd, int size, const std::map<std::string, std::string>& settings, Body&& body) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(120);
      for (const auto& [name, value] : settings) setenv(("DUNLIN_" + name).c_str(), value.c_str(), 1);
      Variable::read_all_again();
      _exit(body(fd, rank));
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

void exchange(int size, int messages, const std::map<std::string, std::string>& settings) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const int fd = memfd_create("dunlin-test", MFD_CLOEXEC);
  run_processes(fd, size, settings,
                [&](int fd, int rank) { return Process(fd, rank, size).exchange(messages, seed); });
  close(fd);
}

TEST(ShmProcesses, TwoRanks) { exchange(2, 20'000, {}); }
TEST(ShmProcesses, TwoRanksTinyRings) {
  exchange(2, 10'000, {{"SHM_RING_LINES", "4"}, {"SHM_BULK_BYTES", "1024"}, {"SHM_CELL_BYTES", "64"}});
}
TEST(ShmProcesses, FiveRanksTinyRings) {
  exchange(5, 4'000, {{"SHM_RING_LINES", "4"}, {"SHM_BULK_BYTES", "1024"}, {"SHM_CELLS", "2"}});
}
/// One sends, the other sleeps and wakes: who waits for room sleeps until it is there.
TEST(ShmProcesses, FullRingsWakeTheirWriter) {
  const int fd = memfd_create("dunlin-test", MFD_CLOEXEC);
  run_processes(fd, 2, {{"SHM_RING_LINES", "16"}},
                [](int fd, int rank) { return Process(fd, rank, 2).flood(20'000); });
  close(fd);
}
TEST(ShmProcesses, InboxOnly) {
  exchange(4, 2'000, {{"SHM_INBOX_MESSAGES", "1000000"}, {"SHM_CELL_BYTES", "4096"}});
}
TEST(ShmProcesses, MoreRanksThanRingsPolled) { exchange(20, 1'900, {{"SHM_RING_LINES", "64"}}); }

TEST(ShmProcesses, BarriersOf64RanksCostLittleMemory) {
  constexpr int kRanks = 64;
  constexpr std::int64_t kKbMax = 96;  // of the segment, for each rank; 37 when this was written
  const int fd = memfd_create("dunlin-test", MFD_CLOEXEC);
  run_processes(fd, kRanks, {}, [](int fd, int rank) { return Process(fd, rank, kRanks).pass_barriers(20); });
  struct stat status;
  ASSERT_EQ(fstat(fd, &status), 0);
  const std::int64_t kb = status.st_blocks / 2 / kRanks;
  EXPECT_GT(kb, 0);
  EXPECT_LE(kb, kKbMax);
  RecordProperty("kb_per_rank", int(kb));
  close(fd);
}

}  // namespace
}  // namespace dunlin::transport::shm
