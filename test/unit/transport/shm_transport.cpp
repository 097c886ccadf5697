// The transport of shared memory beside its messages: transfers, and waking without a message.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "os/clock.hpp"
#include "test/simulate/settings.hpp"
#include "transport/shm/transport.hpp"

namespace dunlin::transport::shm {
namespace {

using test::Settings;

/// The ranks of one node, all in this process.
template <int kRanks>
struct ShmNode {
  explicit ShmNode(int ranks_per_cpu = 1) : fd(memfd_create("dunlin-test", MFD_CLOEXEC)) {
    for (int rank = 0; rank < kRanks; ++rank) {
      peers[std::size_t(rank)] = 10 + rank;
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      ranks[std::size_t(rank)] = std::move(*Transport::open({fd, 4096, rank, peers, ranks_per_cpu}));
    }
  }
  ~ShmNode() { close(fd); }
  Transport& operator[](int rank) { return *ranks[std::size_t(rank)]; }
  std::int64_t bytes() const {  // that the kernel has given
    struct stat status {};
    fstat(fd, &status);
    return status.st_blocks * 512;
  }

  const int fd;
  std::array<int, kRanks> peers;
  std::array<std::unique_ptr<Transport>, kRanks> ranks;
};

struct CountingInbox final : Inbox {
  void arrived(int, const Envelope& envelope, const Payload& payload) noexcept override {
    std::byte byte{};
    if (envelope.bytes > 0) payload.copy_to(&byte, 0, 1);
    bytes_right += byte == std::byte(envelope.tag);
  }
  int bytes_right = 0;
};

/// Whose mark differs in any bit.
TEST(ShmTransport, RefusesASegmentOfAnotherVersion) {
  for (int bit = 56; bit < 64; ++bit) {
    ShmNode<1> node;
    std::uint64_t word = 0;
    ASSERT_EQ(pread(node.fd, &word, sizeof word, 4096), ssize_t(sizeof word));
    word ^= std::uint64_t{1} << bit;
    ASSERT_EQ(pwrite(node.fd, &word, sizeof word, 4096), ssize_t(sizeof word));
    EXPECT_FALSE(Transport::open({node.fd, 4096, 0, node.peers})) << bit;
  }
}

TEST(ShmTransfers, LieInEveryRanksRegionAndAreZero) {
  constexpr std::size_t kBytes = kTransfers * sizeof(Transfer);
  ShmNode<3> node;
  EXPECT_LT(node.bytes(), std::int64_t(kBytes)) << "untouched transfers take memory";
  for (int owner = 0; owner < 3; ++owner) {
    std::byte* const own = node[owner].shared_lines(node.peers[std::size_t(owner)]);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(own) % 4096, 0u);
    EXPECT_TRUE(std::all_of(own, own + kBytes, [](std::byte each) { return each == std::byte{0}; }));
  }
  for (int owner = 0; owner < 3; ++owner) {
    std::byte* const own = node[owner].shared_lines(node.peers[std::size_t(owner)]);
    std::fill(own, own + kBytes, std::byte(owner + 1));
  }
  for (int owner = 0; owner < 3; ++owner) {
    for (int rank = 0; rank < 3; ++rank) {
      const std::byte* const seen = node[rank].shared_lines(node.peers[std::size_t(owner)]);
      const auto is_right = [&](std::byte each) { return each == std::byte(owner + 1); };
      EXPECT_TRUE(std::all_of(seen, seen + kBytes, is_right)) << rank << " looks at rank " << owner;
    }
  }
}

/// Messages by cells, lines and bulk beside transfers that are full of ones.
TEST(ShmTransfers, ShareNoByteWithMessages) {
  ShmNode<2> node;
  for (const int peer : node.peers) {
    std::byte* const lines = node[0].shared_lines(peer);
    std::fill(lines, lines + kTransfers * sizeof(Transfer), std::byte{0xff});
  }
  CountingInbox inbox;
  const std::array<std::byte, 1024> data{std::byte{7}};
  constexpr int kMessages = 600;  // more than a lap
  for (int message = 0; message < kMessages; ++message) {
    const Envelope envelope{1, 0, 7, std::uint32_t(message % 2 ? data.size() : 8), MessageKind::eager};
    while (node[0].connect(11)->try_send(envelope, {}, {data.data(), envelope.bytes}) != Sent::yes) {
      node[1].poll(inbox);
    }
  }
  while (node[1].poll(inbox) > 0) {
  }
  EXPECT_EQ(inbox.bytes_right, kMessages);
  for (const int peer : node.peers) {
    const std::byte* const lines = node[1].shared_lines(peer);
    EXPECT_TRUE(std::all_of(lines, lines + kTransfers * sizeof(Transfer),
                            [](std::byte each) { return each == std::byte{0xff}; }));
  }
}

/// With doorbells: a message is found however many a named receive took before.
TEST(ShmDoorbells, NeverLookLikeOldOnes) {
  constexpr int kRanks = 20;
  constexpr int kLines = 1 << 16;
  ShmNode<kRanks> node;
  CountingInbox inbox;
  const std::array<std::byte, 64> data{std::byte{7}};  // as long as what a short copy may load
  const auto send = [&](int from) {
    const Envelope envelope{1, from, 7, 1, MessageKind::eager};
    return node[from].connect(10)->try_send(envelope, {}, {data.data(), 1}) == Sent::yes;
  };
  for (int message = 0; message < 8; ++message) {
    for (int from = 1; from < kRanks; ++from) {
      ASSERT_TRUE(send(from));
      while (node[0].poll(inbox) > 0) {
      }
    }
  }
  ASSERT_EQ(inbox.bytes_right, 8 * (kRanks - 1));
  RingReader& reader = *node[0].reader_of(11);
  std::byte taken{};
  for (int line = 0; line < kLines - 1; ++line) {
    ASSERT_TRUE(send(1));
    std::int64_t bytes = reader.try_take(1, 1, 7, &taken, 1);
    if (bytes < 0) bytes = reader.try_take_any(1, 1, 7, &taken, 1);
    ASSERT_EQ(bytes, 1);
  }
  ASSERT_TRUE(send(1));
  EXPECT_EQ(node[0].poll(inbox), 1);
}

/// A message that came in parts ends its round, and what lies behind it is found by the next one, also where
/// only rung doorbells are looked at.
template <int kRanks>
void send_long_ones_and_a_short_one() {
  ShmNode<kRanks> node;
  CountingInbox inbox;
  const std::vector<std::byte> data(4096, std::byte{7});
  const auto send = [&](int from, std::size_t bytes) {
    const Envelope envelope{1, from, 7, std::uint32_t(bytes), MessageKind::eager};
    return node[from].connect(10)->try_send(envelope, {}, {data.data(), bytes}) == Sent::yes;
  };
  int sent = 0;
  for (int message = 0; message < 8; ++message)  // by the inbox, until all pairs have rings
    for (int from = 1; from < kRanks; ++from, ++sent) {
      ASSERT_TRUE(send(from, 8));
      while (node[0].poll(inbox) > 0) {
      }
    }
  ASSERT_EQ(inbox.bytes_right, sent);
  for (const std::size_t bytes : {8u, 4096u, 4096u, 8u, 8u}) ASSERT_TRUE(send(1, bytes));
  for (const int found : {2, 1, 2, 0}) EXPECT_EQ(node[0].poll(inbox), found);
  EXPECT_EQ(inbox.bytes_right, sent + 5);
}
TEST(ShmRounds, EndBehindALongMessage) { send_long_ones_and_a_short_one<2>(); }
TEST(ShmRounds, EndBehindALongMessageWithDoorbells) { send_long_ones_and_a_short_one<20>(); }

/// A pair that has little to say uses few pages of its bulk ring, lap after lap.  Where very many ranks share
/// a CPU, so does every pair.
TEST(ShmBulk, LapsAreShort) {
  const Settings settings({{"SHM_BULK_BYTES", 1 << 20}});
  for (const bool are_many : {false, true}) {
    SCOPED_TRACE(are_many);
    ShmNode<2> node(are_many ? 1 << 10 : 1);
    CountingInbox inbox;
    const std::vector<std::byte> data(4096, std::byte{7});
    const Envelope envelope{1, 0, 7, std::uint32_t(data.size()), MessageKind::eager};
    const auto exchange = [&](int messages) {
      for (int message = 0; message < messages; ++message) {
        ASSERT_EQ(node[0].connect(11)->try_send(envelope, {}, {data.data(), data.size()}), Sent::yes);
        while (node[1].poll(inbox) > 0) {
        }
      }
    };
    exchange(1);
    const std::int64_t before = node.bytes();
    exchange(40);
    EXPECT_LE(node.bytes() - before, 96 << 10);
    exchange(400);
    const std::int64_t more = node.bytes() - before;
    EXPECT_EQ(more >= 200 << 10, !are_many) << more;
    EXPECT_EQ(inbox.bytes_right, 441);
  }
}

/// What does not map is pushed whole up to an eighth of bulk beside its cookie, lap after lap; a piece is
/// half as long.
TEST(ShmBulk, TakesAnEighthOfItWhole) {
  for (const int bulk : {1 << 10, 256 << 10}) {
    const Settings settings({{"SHM_BULK_BYTES", bulk}});
    ShmNode<2> node;
    CountingInbox inbox;
    Channel& channel = *node[0].connect(11);
    const std::array<std::byte, 8> cookie{std::byte{7}};
    const std::vector<std::byte> data(channel.bytes_max() - cookie.size(), std::byte{7});
    if (bulk == 256 << 10) {
      EXPECT_GE(data.size(), std::size_t{32 << 10});
      EXPECT_EQ(channel.piece_bytes_max(), std::size_t{16 << 10});
    }
    const Envelope envelope{1, 0, 7, std::uint32_t(channel.bytes_max()), MessageKind::eager};
    for (int message = 0; message < 100; ++message) {
      ASSERT_EQ(channel.try_send(envelope, cookie, {data.data(), data.size()}), Sent::yes) << message;
      ASSERT_EQ(node[1].poll(inbox), 1);
    }
    EXPECT_EQ(inbox.bytes_right, 100);
  }
}

/// Who sleeps until a word changes is woken by who changes it, without a message.
TEST(ShmWake, EndsASleep) {
  constexpr std::int64_t kFarTooLongNs = 5'000'000'000;
  constexpr int kRounds = 200;
  ShmNode<2> node;
  Channel& channel = *node[0].connect(11);
  std::atomic<int> word{0}, seen{0};
  bool is_late = false;
  std::thread sleeper([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (word.load(std::memory_order_acquire) != round) {
        node[1].announce_sleep();
        const std::int64_t start = os::now_ns();
        if (word.load(std::memory_order_acquire) != round) node[1].sleep(kFarTooLongNs);
        is_late |= os::now_ns() - start >= kFarTooLongNs;
        node[1].withdraw_sleep();
      }
      seen.store(round, std::memory_order_release);
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    word.store(round, std::memory_order_release);
    channel.wake();
    while (seen.load(std::memory_order_acquire) != round) std::this_thread::yield();
  }
  sleeper.join();
  EXPECT_FALSE(is_late);
}

/// A ring that is found full only by the last poll before a sleep has room before its reader knows who waits.
TEST(ShmWake, NobodySleepsForRoomThatHeHasNotAskedFor) {
  constexpr std::int64_t kFarTooLongNs = 2'000'000'000, kShortNs = 5'000'000;
  ShmNode<2> node;
  CountingInbox inbox;
  Channel& channel = *node[0].connect(11);
  const std::byte data{7};
  const auto fill = [&] {
    while (channel.try_send({1, 0, 7, 1, MessageKind::eager}, {}, {&data, 1}) == Sent::yes) {
    }
  };
  const auto sleep = [&](std::int64_t timeout_ns) {
    const std::int64_t start = os::now_ns();
    node[0].sleep(timeout_ns);
    node[0].withdraw_sleep();
    return os::now_ns() - start;
  };
  node[0].announce_sleep();
  fill();
  while (node[1].poll(inbox) > 0) {
  }
  EXPECT_LT(sleep(kFarTooLongNs), kFarTooLongNs);
  fill();
  node[0].announce_sleep();
  fill();
  EXPECT_GE(sleep(kShortNs), kShortNs) << "room was asked for: it is woken for it";
}

}  // namespace
}  // namespace dunlin::transport::shm
