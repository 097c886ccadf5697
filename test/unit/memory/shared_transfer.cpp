// A message that two sides copy, between two threads that play the two processes: the peer's memory is our
// own.
#include "memory/shared_transfer.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace dunlin::memory {
namespace {

/// Maps everything to itself; may turn invalid, as a peer that forks does.
class OwnMemory final : public PeerMemory {
 public:
  const char* name() const noexcept override { return "own"; }
  bool can_map() const noexcept override { return true; }
  bool can_copy_anywhere() const noexcept override { return true; }
  Mapping map(std::uint64_t at, std::size_t) noexcept override {
    const std::uint64_t before = generation;
    if (forks_after_map) generation += 2;
    return {declines ? nullptr : reinterpret_cast<std::byte*>(at), before};
  }
  bool is_still_valid(const Mapping& mapping) const noexcept override {
    return mapping.generation == generation;
  }
  bool try_read(std::span<const Piece>, std::span<const RemotePiece>, std::uint64_t) noexcept override {
    return false;
  }
  bool try_write(std::span<const RemotePiece>, std::span<const Piece>, std::uint64_t) noexcept override {
    return false;
  }
  bool declines = false;
  bool forks_after_map = false;
  std::uint64_t generation = 2;
};

class SharedTransferTest : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = (std::size_t{1} << 20) + 12345;
  void SetUp() override {
    from_ = static_cast<std::byte*>(allocate(kBytes));
    to_ = static_cast<std::byte*>(allocate(kBytes));
    if (!is_shared(from_, kBytes)) GTEST_SKIP() << "no shared heap here";
    for (std::size_t i = 0; i < kBytes; ++i) from_[i] = std::byte(i * 7 + (i >> 10));
    std::memset(to_, 0, kBytes);
    transfer_ = open_transfer(from_, kBytes);
    ASSERT_NE(transfer_, nullptr);
  }
  void TearDown() override {
    if (transfer_) close_transfer(transfer_);
    release(from_);
    release(to_);
  }
  bool receive(PeerMemory& sender) {
    return try_receive_shared(sender, reinterpret_cast<std::uint64_t>(transfer_),
                              reinterpret_cast<std::uint64_t>(from_), to_, kBytes);
  }
  bool has_arrived() const { return std::memcmp(from_, to_, kBytes) == 0; }
  OwnMemory sender_, receiver_;
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

TEST_F(SharedTransferTest, BothSidesCopy) {
  for (int round = 0; round < 200; ++round) {
    std::memset(to_, 0, kBytes);
    close_transfer(transfer_);
    transfer_ = open_transfer(from_, kBytes);
    std::atomic<bool> stop = false;
    std::thread sender([&] {
      while (!stop) help_transfer(*transfer_, receiver_, from_);
    });
    ASSERT_TRUE(receive(sender_));
    ASSERT_TRUE(has_arrived()) << round;
    stop = true;
    sender.join();
  }
}

TEST_F(SharedTransferTest, ForkOfTheReceiverSpoilsTheSendersShare) {
  transfer_->bytes = kBytes;
  transfer_->chunk_bytes = std::uint32_t(shared_copy_chunk_bytes(kBytes));
  transfer_->to = reinterpret_cast<std::uint64_t>(to_);
  OwnMemory forking;
  forking.forks_after_map = true;
  EXPECT_TRUE(help_transfer(*transfer_, forking, from_));
  EXPECT_FALSE(receive(sender_)) << "the receiver must take another way";
}

TEST_F(SharedTransferTest, ForkOfTheSenderIsNoticed) {
  OwnMemory changing;
  changing.forks_after_map = true;
  EXPECT_FALSE(receive(changing));
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

TEST_F(SharedTransferTest, PrivateDestinationIsCopiedByTheReceiverAlone) {
  std::vector<std::byte> to(kBytes);  // the test runs without the preloaded allocator
  EXPECT_TRUE(try_receive_shared(sender_, reinterpret_cast<std::uint64_t>(transfer_),
                                 reinterpret_cast<std::uint64_t>(from_), to.data(), kBytes));
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
}  // namespace dunlin::memory
