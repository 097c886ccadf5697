// Page tables for the memory of many peers stay under their limit, and what is read through the mappings
// stays right, whatever is made anew meanwhile.  A peer is a sparse file here, of which one small page in 2
// MiB is used: that costs as much of page tables as if all were.
#include "peer/peer_tables.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "base/variable.hpp"
#include "heap/mapped_file.hpp"
#include "test/page_tables_kb.h"

namespace dunlin::peer {
namespace {

constexpr std::size_t kUnit = std::size_t{2} << 20;

std::size_t page_tables() { return std::size_t(page_tables_kb()) << 10; }

bool has_shadow() { return dlsym(RTLD_DEFAULT, "__tsan_init") || dlsym(RTLD_DEFAULT, "__asan_init"); }

class Peer {
 public:
  explicit Peer(std::size_t bytes) : bytes_(bytes) {
    const int file = memfd_create("peer", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(file, off_t(bytes)), 0);
    at_ = heap::map_file_aligned(file, bytes, PROT_NONE);
    close(file);
    tables_ = std::make_unique<PeerTables>(at_, bytes);
  }
  ~Peer() {
    tables_->stop();
    munmap(at_, bytes_);
  }
  /// The word of a unit, as a transfer reaches it.
  std::atomic<std::uint64_t>& word(std::size_t unit) {
    tables_->touch(unit * kUnit, sizeof(std::uint64_t));
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(at_ + unit * kUnit);
  }
  const std::byte* at() const { return at_; }
  std::size_t units() const { return bytes_ / kUnit; }
  PeerTables& tables() { return *tables_; }

 private:
  std::size_t bytes_;
  std::byte* at_;
  std::unique_ptr<PeerTables> tables_;
};

class PeerTablesTest : public testing::Test {
 protected:
  void limit(std::size_t bytes) {
    setenv("DUNLIN_HEAP_PEER_TABLES_BYTES_MAX", std::to_string(bytes).c_str(), 1);
    Variable::read_all_again();
  }
  void TearDown() override {
    unsetenv("DUNLIN_HEAP_PEER_TABLES_BYTES_MAX");
    Variable::read_all_again();
  }
  std::vector<std::unique_ptr<Peer>> make_peers(std::size_t count, std::size_t bytes) {
    std::vector<std::unique_ptr<Peer>> peers;
    for (std::size_t i = 0; i < count; ++i) peers.push_back(std::make_unique<Peer>(bytes));
    return peers;
  }
};

TEST_F(PeerTablesTest, ManyPeersStayUnderTheLimit) {
  constexpr std::size_t kLimit = 4 << 20;
  constexpr std::size_t kSlack = 1 << 20;  // upper levels: a page a GiB and mapping; and the test itself
  limit(kLimit);
  const auto peers = make_peers(128, 256 << 20);
  const std::size_t before = page_tables();
  std::size_t most = 0;
  for (std::uint64_t round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < peers.size(); ++i) {
      for (std::size_t unit = 0; unit < peers[i]->units(); ++unit) {
        auto& word = peers[i]->word(unit);
        ASSERT_EQ(word, round ? i * 1000 + unit : 0);
        word = i * 1000 + unit;
      }
      most = std::max(most, page_tables());
      ASSERT_LE(PeerTables::all_bytes(), kLimit);
    }
  if (has_shadow()) GTEST_SKIP() << "a sanitizer's shadow of the same memory has page tables too";
  EXPECT_LE(most, before + kLimit + kSlack) << "without a limit: 64 MiB";
  EXPECT_GE(most, before + kLimit / 2) << "tables are kept as long as there is room";
}

TEST_F(PeerTablesTest, WhoIsUsedStays) {
  limit(64 * 4096);
  const auto peers = make_peers(9, 16 * kUnit);
  Peer& neighbour = *peers[0];
  for (std::size_t unit = 0; unit < 16; ++unit) neighbour.word(unit) = unit;
  for (std::size_t turn = 0; turn < 200; ++turn) {
    for (std::size_t unit = 0; unit < 16; ++unit) ASSERT_EQ(neighbour.word(unit), unit);
    Peer& other = *peers[1 + turn % 8];
    for (std::size_t unit = 0; unit < 16; unit += 4) other.word(unit) = turn;
    ASSERT_EQ(neighbour.tables().units(), 16u) << turn;
  }
}

TEST_F(PeerTablesTest, OneTransferMayNeedMoreThanTheLimit) {
  limit(4 * 4096);
  Peer peer(64 * kUnit);
  peer.tables().touch(0, 64 * kUnit);
  EXPECT_EQ(peer.tables().units(), 64u);
  peer.word(3) = 5;
  Peer other(kUnit);
  other.word(0) = 6;
  EXPECT_EQ(peer.tables().units(), 0u) << "the next one makes room";
  EXPECT_EQ(peer.word(3), 5u);
}

/// A program may hold as many mappings as the kernel allows: then what is asked for stays closed.
TEST_F(PeerTablesTest, DeclinesWhereTheKernelAllowsNoMoreMappings) {
  if (has_shadow()) GTEST_SKIP() << "a sanitizer dies where it may not map any more";
  Peer peer(64 * kUnit);
  constexpr std::size_t kPages = 200'000, kPage = 4096;
  void* const room = mmap(nullptr, kPages * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  std::size_t page = 0;
  while (page < kPages && mprotect(static_cast<std::byte*>(room) + page * kPage, kPage, PROT_READ) == 0)
    page += 2;
  const bool is_open = peer.tables().touch(0, kUnit);
  munmap(room, kPages * kPage);
  if (page >= kPages) GTEST_SKIP() << "no limit on mappings here";
  EXPECT_FALSE(is_open);
  EXPECT_TRUE(peer.tables().touch(0, kUnit));
}

TEST_F(PeerTablesTest, WhatIsStoppedIsLeftAlone) {
  limit(4096);
  Peer stopped(4 * kUnit);
  stopped.word(0) = 7;
  stopped.tables().stop();
  EXPECT_EQ(PeerTables::all_bytes(), 0u);
  stopped.word(1) = 8;
  EXPECT_EQ(PeerTables::all_bytes(), 0u);
  Peer other(kUnit);
  other.word(0) = 9;
  EXPECT_EQ(stopped.word(0), 7u);
}

/// mlockall makes resident what can be read.
TEST_F(PeerTablesTest, OnlyWhatTransfersReachCanBeRead) {
  Peer peer(64 * kUnit);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto can_read = [&](std::size_t unit) { return write(ends[1], peer.at() + unit * kUnit, 1) == 1; };
  EXPECT_FALSE(can_read(0));
  peer.word(9) = 1;
  EXPECT_TRUE(can_read(9));
  EXPECT_FALSE(can_read(20));
  peer.tables().replace();
  EXPECT_TRUE(can_read(9)) << "a transfer may be under way";
  EXPECT_FALSE(can_read(20));
  peer.word(20) = 2;
  EXPECT_EQ(peer.word(20), 2u);
  close(ends[0]);
  close(ends[1]);
}

/// Threads write and read while others make their mappings anew under them.
TEST_F(PeerTablesTest, TransfersUnderWayGoOn) {
  limit(8 * 4096);
  constexpr std::size_t kThreads = 4, kUnits = 32;
  const auto peers = make_peers(3, kThreads * kUnits * kUnit);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::size_t me = 0; me < kThreads; ++me)
    threads.emplace_back([&, me] {
      std::mt19937 random{unsigned(me)};
      std::uint64_t written[3][kUnits] = {};
      for (std::uint64_t step = 1; step < 4000; ++step) {
        const std::size_t peer = random() % 3, unit = random() % kUnits;
        auto& word = peers[peer]->word(me * kUnits + unit);
        wrong += word != written[peer][unit];
        for (int i = 0; i < 20; ++i) word = step + std::uint64_t(i);  // longer than the next thread's count
        wrong += word != step + 19;
        written[peer][unit] = step + 19;
      }
    });
  for (auto& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace dunlin::peer
