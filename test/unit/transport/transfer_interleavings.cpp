// Every order of accesses to a transfer, store buffers included: each chunk is copied once, by who claimed
// it, and a slot that is used again is not disturbed by whoever is late.
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "test/unit/transport/interleave.hpp"
#include "transport/shm/transfer.hpp"

namespace dunlin::test {
namespace {

using transport::shm::BasicTransfer;
using transport::shm::ClaimedChunks;
using transport::shm::CopyProgress;
using transport::shm::CopySide;

constexpr std::uint32_t kChunks = 2, kUses = 2;

/// As it should not be: a claim looks at the word and stores it, and others come between.
struct ModelOfTornClaims {
  template <class T>
  class Atomic : public Model::Atomic<T> {
   public:
    template <class Success, class Failure>
    bool compare_exchange_strong(T& expected, T wanted, Success order, Failure) noexcept {
      const T old = this->load(order);
      if (old == expected) this->store(wanted, order);
      return std::exchange(expected, old) == old;
    }
  };
};

/// As a relaxed store of the count allows: it is seen before the chunk's bytes are.
enum class Counts { behind_the_bytes, before_the_bytes };

template <class Machine, Counts kCounts>
struct Scene {
  BasicTransfer<Machine> transfer;
  Model::Atomic<std::uint64_t> offered;           // the use that the sender has offered
  std::uint32_t copies[kUses + 1][kChunks] = {};  // how often each chunk was copied
  // Times that a side believed all copied that was not, or that a chunk was copied twice.  Noted at once: a
  // run is left before its end where an earlier one has been.
  static inline std::uint64_t faults = 0;

  void copy(std::uint32_t use, const ClaimedChunks& chunks) {
    for (std::uint32_t i = 0; i < chunks.count; ++i) ++copies[use][chunks.first + i];
  }
  /// One side of one use, once both know it.
  void take_part(CopySide side, std::uint32_t use, bool is_writable) {
    const CopySide peer = side == CopySide::sender ? CopySide::receiver : CopySide::sender;
    std::uint32_t copied = 0;
    for (ClaimedChunks chunks; (chunks = transfer.try_claim(side, use, kChunks, 1)).count > 0;) {
      if (kCounts == Counts::behind_the_bytes) copy(use, chunks);
      copied += chunks.count;
      transfer.count(side, {.use = use, .chunks = std::uint16_t(copied), .is_writable = is_writable});
      if (kCounts == Counts::before_the_bytes) {
        Interleaver::step();
        copy(use, chunks);
      }
    }
    Interleaver::poll_until([&] {
      const CopyProgress now = transfer.progress(peer);
      if (now.use != use) {
        faults += side != CopySide::receiver || now.use != use + 1;
        return side == CopySide::receiver;
      }
      return now.chunks + copied >= kChunks;
    });
    for (std::uint32_t each : copies[use]) faults += each != 1;
  }
  static Scene* renew() {
    alignas(Scene) static unsigned char memory[sizeof(Scene)];
    std::memset(memory, 0, sizeof memory);
    return ::new (memory) Scene;
  }
};

template <class Machine, Counts kCounts>
Interleaver::Program use_by_use() {
  auto* const scene = Scene<Machine, kCounts>::renew();
  Interleaver::Program program;
  program.threads = {
      [scene] {
        for (std::uint32_t use = 1; use <= kUses; ++use) {
          scene->transfer.begin(use);
          scene->offered.store(use, std::memory_order_release);
          Interleaver::poll_until([&] {
            const CopyProgress receiver = scene->transfer.progress(CopySide::receiver);
            return receiver.use == use && scene->transfer.buffer().address == use;
          });
          scene->take_part(CopySide::sender, use, false);
        }
      },
      [scene] {
        for (std::uint32_t use = 1; use <= kUses; ++use) {
          Interleaver::poll_until([&] { return scene->offered.load(std::memory_order_acquire) >= use; });
          scene->transfer.meet({.use = use, .is_writable = true}, {.address = use, .bytes = 8, .layout = 0});
          scene->take_part(CopySide::receiver, use, true);
        }
      }};
  return program;
}

template <class Machine, Counts kCounts>
Interleaver::Outcome explore_uses(std::uint64_t runs_max) {
  Scene<Machine, kCounts>::faults = 0;
  return Interleaver::explore(&use_by_use<Machine, kCounts>, runs_max);
}

TEST(TransferInterleavings, EveryChunkIsCopiedOnceInEachUse) {
  const auto outcome = explore_uses<Model, Counts::behind_the_bytes>(2'000'000);
  EXPECT_TRUE(outcome.is_complete) << outcome.runs;
  EXPECT_EQ(outcome.deadlocks, 0u);
  EXPECT_GT(outcome.states, 100u);
  EXPECT_EQ((Scene<Model, Counts::behind_the_bytes>::faults), 0u);
}

// What the test above would find.
TEST(TransferInterleavings, ClaimsThatAreNotAtomicAreFound) {
  (void)explore_uses<ModelOfTornClaims, Counts::behind_the_bytes>(10'000);
  EXPECT_GT((Scene<ModelOfTornClaims, Counts::behind_the_bytes>::faults), 0u);
}

TEST(TransferInterleavings, ACountThatIsSeenBeforeTheBytesIsFound) {
  (void)explore_uses<Model, Counts::before_the_bytes>(10'000);
  EXPECT_GT((Scene<Model, Counts::before_the_bytes>::faults), 0u);
}

TEST(Transfer, ClaimsComeFromBothEnds) {
  transport::shm::Transfer transfer{};
  transfer.begin(7);
  EXPECT_TRUE(transfer.has_free(7, 5));
  EXPECT_EQ(transfer.try_claim(CopySide::receiver, 7, 5, 1).first, 0u);
  EXPECT_EQ(transfer.try_claim(CopySide::sender, 7, 5, 1).first, 4u);
  EXPECT_EQ(transfer.try_claim(CopySide::sender, 7, 5, 2).first, 2u);
  const ClaimedChunks last = transfer.try_claim(CopySide::receiver, 7, 5, 5);
  EXPECT_EQ(last.first, 1u);
  EXPECT_EQ(last.count, 1u);
  EXPECT_FALSE(transfer.has_free(7, 5));
  EXPECT_EQ(transfer.try_claim(CopySide::receiver, 7, 5, 1).count, 0u);
}

TEST(Transfer, WhoIsLateClaimsNothingOfTheNextUse) {
  transport::shm::Transfer transfer{};
  transfer.begin(1);
  transfer.begin(2);
  EXPECT_FALSE(transfer.has_free(1, 2));
  EXPECT_EQ(transfer.try_claim(CopySide::receiver, 1, 2, 2).count, 0u);
  EXPECT_EQ(transfer.try_claim(CopySide::sender, 2, 2, 2).count, 2u);
}

TEST(Transfer, MostChunks) {
  transport::shm::Transfer transfer{};
  transfer.begin(1);
  constexpr std::uint32_t kMost = transport::shm::Transfer::kChunksMax;
  EXPECT_EQ(transfer.try_claim(CopySide::receiver, 1, kMost, kMost).count, kMost);
  EXPECT_EQ(transfer.try_claim(CopySide::sender, 1, kMost, 1).count, 0u);
  transfer.count(CopySide::receiver, {.use = 1, .chunks = std::uint16_t(kMost), .is_spoilt = true});
  const CopyProgress progress = transfer.progress(CopySide::receiver);
  EXPECT_EQ(progress.chunks, kMost);
  EXPECT_TRUE(progress.is_spoilt);
  EXPECT_FALSE(progress.is_writable);
}

}  // namespace
}  // namespace dunlin::test
