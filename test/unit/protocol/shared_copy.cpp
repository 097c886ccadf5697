// Copies of one rank that several threads advance: for ThreadSanitizer.  And what one round copies: which
// side, how many chunks, after how many rounds without news (decision 0013).
#include "protocol/shared_copy.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/big_lock.hpp"
#include "protocol/limits.hpp"
#include "protocol/peers.hpp"
#include "transport/shm/transport.hpp"

namespace dunlin::protocol {
namespace {

/// A peer's memory that lies where it says.
struct SameMemory final : peer::PeerMemory {
  const char* name() const noexcept override { return "same"; }
  bool can_map() const noexcept override { return true; }
  bool can_copy_anywhere() const noexcept override { return false; }
  peer::Mapping map(std::uint64_t at, std::size_t) noexcept override {
    return {reinterpret_cast<std::byte*>(at), 0, &open_windows};
  }
  bool is_still_valid(const peer::Mapping&) const noexcept override { return true; }
  bool try_read(std::span<const peer::Piece>, std::span<const peer::RemotePiece>,
                std::uint64_t) noexcept override {
    return false;
  }
  bool try_write(std::span<const peer::RemotePiece>, std::span<const peer::Piece>,
                 std::uint64_t) noexcept override {
    return false;
  }
  const std::atomic<std::uint32_t> open_windows = 0;
};

TEST(SharedCopies, AreJoinedByOneThreadWhileAnotherCopies) {
  constexpr int kPeer = 11;
  constexpr std::uint32_t kCopies = 20;
  constexpr std::size_t kBytes = 4 << 20;
  const int fd = memfd_create("dunlin-test", MFD_CLOEXEC);
  const std::array<int, 2> ranks = {10, kPeer};
  const std::unique_ptr<transport::shm::Transport> receiver =
      std::move(*transport::shm::Transport::open({fd, 4096, 0, ranks}));
  const std::unique_ptr<transport::shm::Transport> sender =
      std::move(*transport::shm::Transport::open({fd, 4096, 1, ranks}));
  Peer peer;
  peer.index = kPeer;
  peer.channel = peer.shm = receiver->connect(kPeer);
  peer.memory = std::make_unique<SameMemory>();
  std::byte* const transfers = receiver->shared_lines(kPeer);

  const std::vector<std::byte> sent(kBytes, std::byte{7});
  std::vector<std::byte> received(kBytes);
  std::deque<ReceiveRequest> requests(kCopies);
  SharedCopies copies;
  std::thread program([&] {
    auto* const lines = reinterpret_cast<transport::shm::Transfer*>(transfers);
    for (std::uint32_t i = 0; i < kCopies; ++i) {
      // Behind the one whose second half is being copied.
      while (i > 0 && lines[i - 1].progress(CopySide::receiver).chunks == 0) std::this_thread::yield();
      const BigLock::Guard guard;
      const RemoteBuffer theirs{reinterpret_cast<std::uint64_t>(sent.data()), kBytes};
      lines[i].begin(1);
      copies.join(requests[i], peer, {received.data(), kBytes}, kBytes, kBytes, Chunks::kHalves, transfers,
                  std::uint64_t{1} << 32 | i, peer.layouts.map(*peer.memory, theirs), {}, false);
    }
  });
  for (std::uint32_t finished = 0; finished < kCopies;) {
    const BigLock::Guard guard;
    const SharedCopies::Round round = copies.advance(true);
    if (!round.finished) continue;
    copies.close(*round.finished);
    ++finished;
  }
  program.join();
  EXPECT_EQ(received, sent);
  close(fd);
}

constexpr std::size_t kHalf = 128 << 10;
constexpr int kFirst = 10, kSecond = 11;  // ranks of the job

/// Two ranks in one thread, each with its own copies and what it knows of the other.
struct SharedCopyRounds : testing::Test {
  struct Rank {
    std::unique_ptr<transport::shm::Transport> shm;
    std::byte* transfers = nullptr;  // its own
    Peer peer;
    SharedCopies copies;
    std::vector<SharedCopy*> under_way;

    void close(SharedCopy* copy) {
      copies.close(*copy);
      std::erase(under_way, copy);
    }
    ~Rank() {
      for (SharedCopy* each : under_way) copies.close(*each);
    }
  };
  /// A message, and how both sides hold it.
  struct Message {
    explicit Message(std::size_t bytes) : sent(bytes, std::byte{7}), received(bytes) {}
    std::vector<std::byte> sent, received;
    SendRequest send;
    ReceiveRequest receive;
    SharedCopy* offer = nullptr;
    SharedCopy* joined = nullptr;

    /// Which halves, or chunks of that size, have been copied: "x.x." for the first and the third.
    std::string copied() const {
      std::string chunks;
      for (std::size_t at = 0; at < received.size(); at += kHalf) {
        const auto begin = received.begin() + std::ptrdiff_t(at), end = begin + std::ptrdiff_t(kHalf);
        const auto done = std::count(begin, end, std::byte{7});
        chunks += done == 0 ? '.' : std::size_t(done) == kHalf ? 'x' : '?';
      }
      return chunks;
    }
  };

  SharedCopyRounds() : fd(memfd_create("dunlin-test", MFD_CLOEXEC)) {
    first.shm = std::move(*transport::shm::Transport::open({fd, 4096, 0, ranks}));
    second.shm = std::move(*transport::shm::Transport::open({fd, 4096, 1, ranks}));
    introduce(first, kFirst, kSecond);
    introduce(second, kSecond, kFirst);
  }
  ~SharedCopyRounds() override { close(fd); }

  static void introduce(Rank& rank, int me, int other) {
    rank.transfers = rank.shm->shared_lines(me);
    rank.peer.index = other;
    rank.peer.channel = rank.peer.shm = rank.shm->connect(other);
    rank.peer.memory = std::make_unique<SameMemory>();
  }
  static void offer(Rank& from, Message& message) {
    const std::size_t bytes = message.sent.size();
    message.offer = from.copies.open(message.send, from.peer, {message.sent.data(), bytes},
                                     Chunks::cut(bytes), from.transfers);
    ASSERT_TRUE(message.offer);
    from.under_way.push_back(message.offer);
  }
  static void join(Rank& from, Rank& to, Message& message) {
    const std::size_t bytes = message.sent.size();
    const auto source = reinterpret_cast<std::uint64_t>(message.sent.data());
    const auto target = reinterpret_cast<std::uint64_t>(message.received.data());
    message.joined = &to.copies.join(
        message.receive, to.peer, {message.received.data(), bytes}, bytes, bytes, Chunks::cut(bytes),
        from.transfers, std::uint64_t{message.offer->use()} << 32 | message.offer->index(),
        to.peer.layouts.map(*to.peer.memory, {source, bytes}), {target, bytes, 0}, true);
    to.under_way.push_back(message.joined);
  }
  static void meet(Rank& from, Rank& to, Message& message) {
    offer(from, message);
    join(from, to, message);
  }

  const int fd;
  const std::array<int, 2> ranks = {kFirst, kSecond};
  Rank first, second;
};

TEST_F(SharedCopyRounds, OneRoundOfAReceiverCopiesOneChunkFromTheFront) {
  for (const std::size_t chunks : {2, 4}) {
    Message message(chunks * kHalf);
    meet(first, second, message);
    for (std::size_t i = 1; i <= chunks; ++i) {
      const SharedCopies::Round round = second.copies.advance(true);
      EXPECT_TRUE(round.has_moved);
      EXPECT_EQ(round.finished, i == chunks ? message.joined : nullptr);
      EXPECT_EQ(message.copied(), std::string(i, 'x') + std::string(chunks - i, '.'));
    }
    second.close(message.joined);
    EXPECT_EQ(first.copies.advance(true).finished, message.offer);
    first.close(message.offer);
  }
}

TEST_F(SharedCopyRounds, AReceiverWhoseOwnSendIsNotTakenCopiesBothHalves) {
  Message own(2 * kHalf), message(2 * kHalf), longer(4 * kHalf);
  offer(second, own);
  meet(first, second, message);
  EXPECT_EQ(second.copies.advance(true).finished, message.joined);
  EXPECT_EQ(message.copied(), "xx");
  second.close(message.joined);
  // Not of more chunks: a round would take too long.
  meet(first, second, longer);
  EXPECT_TRUE(second.copies.advance(true).has_moved);
  EXPECT_EQ(longer.copied(), "x...");
}

TEST_F(SharedCopyRounds, AReceiverWhoseOwnSendIsTakenLeavesAHalf) {
  Message own(2 * kHalf), message(2 * kHalf);
  meet(second, first, own);
  EXPECT_TRUE(first.copies.advance(true).has_moved);
  EXPECT_EQ(first.copies.advance(true).finished, own.joined);
  meet(first, second, message);
  EXPECT_FALSE(second.copies.advance(true).finished == message.joined);
  EXPECT_EQ(message.copied(), "x.");
}

TEST_F(SharedCopyRounds, AWaitWithoutReceivesHelpsAtOnceFromTheBack) {
  Message message(4 * kHalf), half(2 * kHalf);
  meet(first, second, message);
  EXPECT_TRUE(first.copies.advance(false).has_moved);
  EXPECT_EQ(message.copied(), "...x");
  EXPECT_TRUE(first.copies.advance(false).has_moved);
  EXPECT_EQ(message.copied(), "..xx");
  EXPECT_TRUE(second.copies.advance(true).has_moved);
  EXPECT_EQ(message.copied(), "x.xx");
  EXPECT_EQ(second.copies.advance(true).finished, message.joined);
  EXPECT_EQ(first.copies.advance(false).finished, message.offer);
  // Nor takes a helper a whole message, whatever else it sends.
  first.close(message.offer);
  Message own(2 * kHalf);
  meet(first, second, half);
  offer(first, own);
  EXPECT_TRUE(first.copies.advance(false).has_moved);
  EXPECT_EQ(half.copied(), ".x");
}

TEST_F(SharedCopyRounds, AWaitWithReceivesHelpsAfterSomeRoundsWithoutNews) {
  const int polls = int(help_polls.get());
  ASSERT_GT(polls, 1);
  Message message(4 * kHalf), received(2 * kHalf);
  meet(first, second, message);
  for (int i = 1; i < polls; ++i) EXPECT_FALSE(first.copies.advance(true).has_moved);
  // News: the rounds are counted anew.
  meet(second, first, received);
  EXPECT_TRUE(first.copies.advance(true).has_moved);
  EXPECT_EQ(first.copies.advance(true).finished, received.joined);
  first.close(received.joined);
  for (int i = 0; i < polls; ++i) EXPECT_FALSE(first.copies.advance(true).has_moved);
  EXPECT_EQ(message.copied(), "....");
  EXPECT_TRUE(first.copies.advance(true).has_moved);
  EXPECT_EQ(message.copied(), "...x");
  EXPECT_TRUE(first.copies.advance(true).has_moved);  // what has begun to help goes on
  EXPECT_EQ(message.copied(), "..xx");
}

TEST_F(SharedCopyRounds, WhoIsAboutToSleepHelpsFirst) {
  Message message(4 * kHalf);
  meet(first, second, message);
  EXPECT_FALSE(first.copies.advance(true).has_moved);
  first.copies.lose_patience();
  EXPECT_TRUE(first.copies.advance(true).has_moved);
  EXPECT_EQ(message.copied(), "...x");
}

}  // namespace
}  // namespace dunlin::protocol
