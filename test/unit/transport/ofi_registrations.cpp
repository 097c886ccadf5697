// Which buffers stay registered with the network, and when that is forgotten.
#include "transport/ofi/registrations.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/variable.hpp"
#include "heap/heap.hpp"

namespace dunlin::transport::ofi {
namespace {

constexpr std::size_t kBytes = 256 << 10;

class OfiRegistrations : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("DUNLIN_OFI_PROVIDER", "tcp", 1);
    Variable::read_all_again();
    auto fabrics = Fabric::open_all(2, false, "");
    unsetenv("DUNLIN_OFI_PROVIDER");
    Variable::read_all_again();
    if (!fabrics) GTEST_SKIP() << error_detail(fabrics.error());
    fabric_ = std::move(fabrics->front());
    registrations_ = std::make_unique<Registrations>(*fabric_);
    block_ = static_cast<std::byte*>(heap::allocate(kBytes));
    ASSERT_TRUE(heap::is_shared(block_, kBytes)) << heap::face().why_not();
  }
  void TearDown() override {
    if (block_) heap::release(block_);
  }

  /// How many registrations a transfer has made.
  std::uint64_t transfer(const std::byte* at, std::size_t bytes) {
    const std::uint64_t before = fabric_->counters.registrations;
    const Registrations::Hold hold = registrations_->try_hold(at, bytes, true);
    EXPECT_TRUE(hold);
    EXPECT_NE(hold.region().key(), 0u);
    return fabric_->counters.registrations - before;
  }
  /// The heap gives a large block's pages back to the system.
  static void give_pages_back() {
    constexpr std::size_t kMore = std::size_t{300} << 20;  // than it keeps
    const std::uint64_t before = heap::face().counters().punched_bytes;
    heap::release(heap::allocate(kMore));
    ASSERT_GT(heap::face().counters().punched_bytes, before);
  }

  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<Registrations> registrations_;
  std::byte* block_ = nullptr;
};

TEST_F(OfiRegistrations, MemoryOfTheHeapStaysRegistered) {
  EXPECT_EQ(transfer(block_, kBytes), 1u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(transfer(block_, kBytes), 0u);
  EXPECT_EQ(transfer(block_ + 5000, 20'000), 0u);
}

TEST_F(OfiRegistrations, APartIsNamedByItsOwnAddress) {
  const Registrations::Hold whole = registrations_->try_hold(block_, kBytes, true);
  const Registrations::Hold part = registrations_->try_hold(block_ + 5000, 20'000, true);
  ASSERT_TRUE(whole && part);
  EXPECT_EQ(part.region().key(), whole.region().key());
  EXPECT_EQ(part.region().remote_address(block_ + 5000), whole.region().remote_address(block_) + 5000);
}

TEST_F(OfiRegistrations, OtherMemoryIsRegisteredForEachTransfer) {
  void* const mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* at = static_cast<std::byte*>(mapped);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(transfer(at, kBytes), 1u);
  void* const moved = mremap(mapped, kBytes, 2 * kBytes, MREMAP_MAYMOVE);
  ASSERT_NE(moved, MAP_FAILED);
  EXPECT_EQ(transfer(static_cast<std::byte*>(moved), 2 * kBytes), 1u);
  munmap(moved, 2 * kBytes);
}

TEST_F(OfiRegistrations, PagesThatWereGivenBackAreForgotten) {
  EXPECT_EQ(transfer(block_, kBytes), 1u);
  give_pages_back();
  EXPECT_EQ(transfer(block_, kBytes), 1u);
  EXPECT_EQ(transfer(block_, kBytes), 0u);
}

TEST_F(OfiRegistrations, WhatATransferHoldsStaysUntilItEnds) {
  const Registrations::Hold hold = registrations_->try_hold(block_, kBytes, true);
  const std::uint64_t key = hold.region().key();
  give_pages_back();
  EXPECT_EQ(transfer(block_, kBytes), 1u);
  EXPECT_EQ(hold.region().key(), key);
}

TEST_F(OfiRegistrations, AForkThatFreezesTheHeapIsHeardOf) {
  EXPECT_EQ(transfer(block_, kBytes), 1u);
  const std::uint64_t before = heap::face().counters().freezes;
  const pid_t child = fork();
  if (child == 0) {
    usleep(20'000);
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  ASSERT_GT(heap::face().counters().freezes, before);
  // Frozen until it is freed, and so not kept.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(transfer(block_, kBytes), 1u);
  heap::release(block_);
  block_ = static_cast<std::byte*>(heap::allocate(kBytes));
  EXPECT_EQ(transfer(block_, kBytes), 1u);
  EXPECT_EQ(transfer(block_, kBytes), 0u);
}

TEST_F(OfiRegistrations, LocalOperationsNeedNoneWhereTheProviderAsksForNone) {
  if (fabric_->wants_local_memory()) GTEST_SKIP() << "it asks";
  const std::uint64_t before = fabric_->counters.registrations;
  const Registrations::Hold hold = registrations_->try_hold(block_, kBytes, false);
  EXPECT_TRUE(hold);
  EXPECT_EQ(hold.region().descriptor(), nullptr);
  EXPECT_EQ(fabric_->counters.registrations, before);
}

TEST_F(OfiRegistrations, ATransferThatNobodyEndsIsNoFault) {
  static Registrations::Hold* left;  // for ever
  left = new Registrations::Hold(registrations_->try_hold(block_, kBytes, true));
  ASSERT_TRUE(*left);
  registrations_.reset();
}

}  // namespace
}  // namespace dunlin::transport::ofi
