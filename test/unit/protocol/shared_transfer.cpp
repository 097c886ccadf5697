// A message that two sides copy, between two threads that play the two processes: the peer's memory is our
// own.
#include "protocol/shared_transfer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/variable.hpp"
#include "heap/heap.hpp"

namespace dunlin::protocol {
namespace {

/// Maps everything to itself; may turn invalid, as a peer that forks does.
class OwnMemory final : public peer::PeerMemory {
 public:
  const char* name() const noexcept override { return "own"; }
  bool can_map() const noexcept override { return true; }
  bool can_copy_anywhere() const noexcept override { return true; }
  peer::Mapping map(std::uint64_t at, std::size_t) noexcept override {
    const std::uint64_t before = generation;
    if (forks_after_map) generation += 2;
    if (on_map) std::exchange(on_map, nullptr)();
    return {declines ? nullptr : reinterpret_cast<std::byte*>(at), before};
  }
  bool is_still_valid(const peer::Mapping& mapping) const noexcept override {
    return mapping.generation == generation;
  }
  bool try_read(std::span<const peer::Piece>, std::span<const peer::RemotePiece>,
                std::uint64_t) noexcept override {
    return false;
  }
  bool try_write(std::span<const peer::RemotePiece>, std::span<const peer::Piece>,
                 std::uint64_t) noexcept override {
    return false;
  }
  bool declines = false;
  bool forks_after_map = false;
  std::function<void()> on_map;  // called by the next `map`: what happens while its caller is preempted there
  std::atomic<std::uint64_t> generation = 2;
};

class SharedTransferTest : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = (std::size_t{1} << 20) + 12345;
  static void set_limits(const char* near_ns, const char* slow_ns) {
    setenv("DUNLIN_COPY_NEAR_LINES_NS", near_ns, 1);
    setenv("DUNLIN_COPY_SLOW_LINES_NS", slow_ns, 1);
    Variable::read_all_again();
  }
  void SetUp() override {
    set_limits("0", "0");  // whatever the machine does
    from_ = static_cast<std::byte*>(heap::allocate(kBytes));
    to_ = static_cast<std::byte*>(heap::allocate(kBytes));
    if (!heap::is_shared(from_, kBytes)) GTEST_SKIP() << "no shared heap here";
    for (std::size_t i = 0; i < kBytes; ++i) from_[i] = std::byte(i * 7 + (i >> 10));
    std::memset(to_, 0, kBytes);
    transfer_ = open_transfer(from_, kBytes);
    ASSERT_NE(transfer_, nullptr);
  }
  void TearDown() override {
    if (transfer_) close_transfer(transfer_);
    heap::release(from_);
    heap::release(to_);
    unsetenv("DUNLIN_COPY_NEAR_LINES_NS");
    unsetenv("DUNLIN_COPY_SLOW_LINES_NS");
    Variable::read_all_again();
  }
  SharedReceive receive_any(peer::PeerMemory& sender, std::byte* to) {
    return try_receive_shared(
        sender, reinterpret_cast<std::uint64_t>(transfer_), reinterpret_cast<std::uint64_t>(from_), to,
        kBytes, history_, hints_,
        {[](void* self) noexcept { static_cast<SharedTransferTest*>(self)->wait(); }, this});
  }
  void wait() noexcept {
    ++idle_polls_;
    if (meanwhile_) meanwhile_();
  }
  bool receive(peer::PeerMemory& sender) { return receive_any(sender, to_) == SharedReceive::arrived; }
  /// Many transfers whose sender waits and helps meanwhile.
  void receive_beside_the_sender() {
    for (int round = 0; round < 200; ++round) {
      renew();
      std::atomic<bool> stop = false;
      std::thread sender([&] {
        while (!stop) help_transfer(*transfer_, receiver_, from_);
      });
      EXPECT_TRUE(receive(sender_));
      EXPECT_TRUE(has_arrived()) << round;
      stop = true;
      sender.join();
    }
  }
  /// A transfer as at the start of the test, for another round.
  void renew() {
    close_transfer(transfer_);
    transfer_ = open_transfer(from_, kBytes);
    std::memset(to_, 0, kBytes);
  }
  bool has_arrived() const { return std::memcmp(from_, to_, kBytes) == 0; }
  OwnMemory sender_, receiver_;
  SourceHistory history_;
  ReceiveHints hints_;
  int idle_polls_ = 0;
  std::function<void()> meanwhile_;
  std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
  SharedTransfer* transfer_ = nullptr;
};

TEST_F(SharedTransferTest, ReceiverAloneFinishes) {
  EXPECT_FALSE(help_transfer(*transfer_, receiver_, from_)) << "not matched yet";
  EXPECT_TRUE(receive(sender_));
  EXPECT_TRUE(has_arrived());
  EXPECT_FALSE(help_transfer(*transfer_, receiver_, from_)) << "nothing left";
}

TEST_F(SharedTransferTest, BothSidesCopy) { receive_beside_the_sender(); }

TEST_F(SharedTransferTest, ASenderThatCopiesForItselfIsLeftAlone) {
  setenv("DUNLIN_COPY_SHARE_BYTES_MIN", "1M", 1);
  Variable::read_all_again();
  hints_.is_sender_busy = true;
  EXPECT_TRUE(receive(sender_));
  EXPECT_TRUE(has_arrived());
  EXPECT_FALSE(has_begun(*transfer_));
  sender_.forks_after_map = true;
  EXPECT_EQ(receive_any(sender_, to_), SharedReceive::declined);
  unsetenv("DUNLIN_COPY_SHARE_BYTES_MIN");
}

TEST_F(SharedTransferTest, ForkOfTheReceiverSpoilsTheSendersShare) {
  transfer_->bytes = kBytes;
  transfer_->chunk_bytes = std::uint32_t(copy::shared_chunk_bytes(kBytes));
  transfer_->to = reinterpret_cast<std::uint64_t>(to_);
  OwnMemory forking;
  forking.forks_after_map = true;
  EXPECT_TRUE(help_transfer(*transfer_, forking, from_));
  EXPECT_EQ(receive_any(sender_, to_), SharedReceive::declined) << "the receiver must take another way";
}

TEST_F(SharedTransferTest, ForkOfTheSenderIsNoticed) {
  OwnMemory changing;
  changing.forks_after_map = true;
  EXPECT_EQ(receive_any(changing, to_), SharedReceive::through_channel);
}

TEST_F(SharedTransferTest, UnmappedMemoryIsDeclined) {
  sender_.declines = true;
  EXPECT_FALSE(receive(sender_));
  sender_.declines = false;
  receiver_.declines = true;
  std::thread helper([&] {
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(help_transfer(*transfer_, receiver_, from_));
  });
  EXPECT_TRUE(receive(sender_)) << "a sender that cannot help does not matter";
  EXPECT_TRUE(has_arrived());
  helper.join();
}

// What a sender that loses its core in the middle of helping can still do.

TEST_F(SharedTransferTest, AHelperThatComesLateWritesNothing) {
  transfer_->bytes = kBytes;
  transfer_->chunk_bytes = std::uint32_t(copy::shared_chunk_bytes(kBytes));
  transfer_->to = reinterpret_cast<std::uint64_t>(to_);
  receiver_.on_map = [&] {  // the helper has seen the transfer begin and claimed nothing yet
    ASSERT_TRUE(receive(sender_));
    std::memset(to_, 0x77, kBytes);  // the program goes on
  };
  EXPECT_FALSE(help_transfer(*transfer_, receiver_, from_));
  for (std::size_t i = 0; i < kBytes; ++i) ASSERT_EQ(to_[i], std::byte{0x77}) << i;
}

TEST_F(SharedTransferTest, TheReceiverWaitsForEveryClaimedChunk) {
  transfer_->copy.claimed = 1;  // the helper claimed the last chunk, and was stopped before it copied
  std::atomic<bool> is_over = false;
  std::thread receiver([&] {
    EXPECT_EQ(receive_any(sender_, to_), SharedReceive::arrived);
    is_over = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(is_over);
  const std::size_t chunk = copy::shared_chunk_bytes(kBytes);
  const std::size_t last = (kBytes - 1) / chunk * chunk;
  std::memcpy(to_ + last, from_ + last, kBytes - last);
  transfer_->copy.count(1);
  receiver.join();
  EXPECT_TRUE(has_arrived());
}

TEST_F(SharedTransferTest, AfterAForkInTheMiddleOnlyTheChannelIsSafe) {
  transfer_->copy.claimed = 1;
  std::thread receiver([&] { EXPECT_EQ(receive_any(sender_, to_), SharedReceive::through_channel); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  sender_.generation += 2;  // its count will never be seen, its last write may come at any time
  receiver.join();
}

// Buffers that are written anew by a near or a distant core, played by limits that any or no reading exceeds.

class FreshDataTest : public SharedTransferTest {
 protected:
  void SetUp() override {
    setenv("DUNLIN_COPY_PUSH_NEAR_BYTES_MAX", "4M", 1);
    SharedTransferTest::SetUp();
    set_limits("1", "0");
  }
  void TearDown() override {
    unsetenv("DUNLIN_COPY_PUSH_NEAR_BYTES_MAX");
    SharedTransferTest::TearDown();
  }
  /// Receives until the receiver has learnt what it can about the buffer.
  void learn() {
    for (int round = 0; round < 8; ++round) {
      ASSERT_TRUE(receive(sender_));
      renew();
    }
    idle_polls_ = 0;
  }
};

TEST_F(FreshDataTest, AreLeftToASenderThatWaits) {
  learn();
  bool has_pushed = false;
  const auto push = [&] { has_pushed |= help_transfer(*transfer_, receiver_, from_); };
  meanwhile_ = push;  // the sender comes as soon as the receiver waits
  EXPECT_TRUE(receive(sender_));
  EXPECT_TRUE(has_pushed);
  EXPECT_TRUE(has_arrived());
  EXPECT_EQ(transfer_->way, ShareWay::sender);
  EXPECT_EQ(idle_polls_, 1) << "one help was enough: the receiver took nothing";
}

TEST_F(FreshDataTest, MayBeTakenByBothWhenTheSenderComesLate) {
  learn();
  receive_beside_the_sender();
}

TEST_F(FreshDataTest, AreTakenByTheReceiverWhenTheSenderDoesNotCome) {
  learn();
  EXPECT_TRUE(receive(sender_));
  EXPECT_TRUE(has_arrived());
  EXPECT_GT(idle_polls_, 0) << "it waited a little, and did other work meanwhile";
}

TEST_F(FreshDataTest, AreForgottenWhenTheirLinesComeFast) {
  learn();
  set_limits("1000000000", "0");
  ASSERT_TRUE(receive(sender_));
  EXPECT_EQ(transfer_->way, ShareWay::sender);
  int rounds = 0;
  for (; transfer_->way == ShareWay::sender && rounds < 40; ++rounds) {
    renew();
    ASSERT_TRUE(receive(sender_));
  }
  EXPECT_EQ(transfer_->way, ShareWay::both);
  EXPECT_LE(rounds, 20) << "it looks again now and then";
}

TEST_F(FreshDataTest, OfADistantSenderAreBetterSentThroughTheChannel) {
  set_limits("1", "1");
  for (int round = 0; receive(sender_); ++round) {
    ASSERT_LT(round, 10);
    renew();
  }
  renew();
  EXPECT_EQ(receive_any(sender_, to_), SharedReceive::through_channel);
  EXPECT_EQ(transfer_->to.load(), 0u) << "the sender is not to copy";
}

TEST_F(FreshDataTest, AreKnownAtOnceWhereTheSenderAsks) {
  SourceHistory history;
  const auto look = [&] { history.learn(1, kBytes, from_, true); };
  look();
  EXPECT_EQ(history.freshness(), Freshness::old) << "a new buffer's lines say nothing";
  for (int i = 0; i < 2; ++i) look();
  EXPECT_EQ(history.freshness(), Freshness::fresh);
  look();
  EXPECT_EQ(history.freshness(), Freshness::unknown) << "the lines are here now: the next look tells";
  look();
  EXPECT_EQ(history.freshness(), Freshness::fresh);
  set_limits("1000000000", "0");
  look();
  look();
  EXPECT_EQ(history.freshness(), Freshness::old);
}

TEST_F(FreshDataTest, ABufferNeverSeenThatComesSlowlyGoesAroundTheCaches) {
  set_limits("1", "1");
  EXPECT_TRUE(receive(sender_));
  EXPECT_EQ(transfer_->way, ShareWay::streaming);
  EXPECT_TRUE(has_arrived());
  renew();
  set_limits("0", "0");
  history_ = {};
  EXPECT_TRUE(receive(sender_));
  EXPECT_EQ(transfer_->way, ShareWay::both) << "0 switches all of this off";
}

TEST_F(SharedTransferTest, PrivateDestinationIsCopiedByTheReceiverAlone) {
  std::vector<std::byte> to(kBytes);  // the test runs without the preloaded allocator
  EXPECT_EQ(receive_any(sender_, to.data()), SharedReceive::arrived);
  EXPECT_EQ(std::memcmp(from_, to.data(), kBytes), 0);
}

TEST_F(SharedTransferTest, SmallOrPrivateMessagesAreNotShared) {
  EXPECT_EQ(open_transfer(from_, 100), nullptr);
  char on_stack[100000] = {};
  EXPECT_EQ(open_transfer(on_stack, sizeof on_stack), nullptr);
}

TEST_F(SharedTransferTest, TransfersAreReused) {
  for (int i = 0; i < 5000; ++i) {
    SharedTransfer* each = open_transfer(from_, kBytes);
    ASSERT_NE(each, nullptr);
    EXPECT_EQ(each->to.load(), 0u);
    each->to = 5;
    close_transfer(each);
  }
}

}  // namespace
}  // namespace dunlin::protocol
