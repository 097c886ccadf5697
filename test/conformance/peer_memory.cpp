// Conformance of every way to reach a peer's memory: the same tests for each mechanism that works on this
// machine.
// What concerns all of them, or one in particular, is in peer_memory_ways.cpp.
#include "peer/peer_memory.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/variable.hpp"
#include "peer/lasting_mapping.hpp"
#include "test/conformance/peer_memory_fakes.hpp"
#include "test/conformance/peer_process.hpp"

namespace dunlin::peer {
namespace {

class PeerMemoryTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    setenv("DUNLIN_SHM_COPY", GetParam(), 1);
    Variable::read_all_again();
    peer_ = std::make_unique<PeerProcess>();
    memory_ = peer_->connect();
    if (!memory_) GTEST_SKIP() << GetParam() << " does not work on this machine";
  }
  void TearDown() override {
    memory_.reset();
    peer_.reset();
    unsetenv("DUNLIN_SHM_COPY");
    Variable::read_all_again();
  }
  bool try_read(std::vector<std::byte>& to, std::uint64_t from, std::uint64_t cookie = 0) {
    const Piece here{to.data(), to.size()};
    const RemotePiece there{from, to.size()};
    return memory_->try_read({&here, 1}, {&there, 1}, cookie);
  }
  bool try_write(std::uint64_t to, std::vector<std::byte>& from, std::uint64_t cookie = 0) {
    const Piece here{from.data(), from.size()};
    const RemotePiece there{to, from.size()};
    return memory_->try_write({&there, 1}, {&here, 1}, cookie);
  }
  std::uint64_t expose(std::uint64_t at, std::size_t bytes) {
    return peer_->ask({Verb::expose, at, bytes}).value;
  }
  std::unique_ptr<PeerProcess> peer_;
  std::unique_ptr<PeerMemory> memory_;
};

constexpr std::size_t kSizes[] = {1, 63, 64, 4096, 65536, 65537, (1 << 20) + 3, 5 << 20};

TEST_P(PeerMemoryTest, ReadsWhatThePeerWrote) {
  for (const std::size_t bytes : kSizes) {
    const std::uint64_t at = peer_->make(Where::heap, bytes);
    ASSERT_NE(at, 0u);
    peer_->ask({Verb::fill, at, bytes, bytes});
    std::vector<std::byte> here(bytes);
    ASSERT_TRUE(try_read(here, at, expose(at, bytes))) << bytes;
    EXPECT_EQ(count_wrong(here.data(), bytes, bytes), 0u);
    peer_->ask({Verb::drop, at});
  }
}

TEST_P(PeerMemoryTest, WritesWhereThePeerReads) {
  for (const std::size_t bytes : kSizes) {
    const std::uint64_t at = peer_->make(Where::heap, bytes);
    std::vector<std::byte> here(bytes);
    fill(here.data(), bytes, bytes + 1);
    ASSERT_TRUE(try_write(at, here, expose(at, bytes))) << bytes;
    EXPECT_EQ(peer_->ask({Verb::check, at, bytes, bytes + 1}).value, 0u);
    peer_->ask({Verb::drop, at});
  }
}

TEST_P(PeerMemoryTest, MovesPiecesOfUnequalLengths) {
  constexpr std::size_t kBytes = 300000;
  const std::uint64_t at = peer_->make(Where::heap, kBytes);
  peer_->ask({Verb::fill, at, kBytes, 5});
  std::vector<RemotePiece> from;  // every second run of 1..997 bytes
  std::size_t total = 0;
  for (std::size_t offset = 0, i = 1; offset + i <= kBytes; offset += 2 * i, i = i % 997 + 13) {
    from.push_back({at + offset, i});
    total += i;
  }
  std::vector<std::byte> here(total);
  std::vector<Piece> to;
  for (std::size_t offset = 0; offset < total;) {
    const std::size_t part = std::min<std::size_t>(total - offset, 1 + offset % 4001);
    to.push_back({here.data() + offset, part});
    to.push_back({here.data() + offset, 0});
    offset += part;
  }
  const std::uint64_t cookie = expose(at, kBytes);
  if (cookie) GTEST_SKIP() << "a cookie stands for one buffer from its start on";
  ASSERT_TRUE(memory_->try_read(to, from));
  std::size_t wrong = 0;
  std::size_t position = 0;
  for (const RemotePiece& each : from)
    for (std::size_t i = 0; i < each.bytes; ++i) wrong += here[position++] != pattern(5, each.at - at + i);
  EXPECT_EQ(wrong, 0u);
  // And back, shifted by one byte.
  fill(here.data(), total, 6);
  for (RemotePiece& each : from) each.at += 1;
  from.back().bytes -= 1;
  to.back().bytes = 0;
  to[to.size() - 2].bytes -= 1;
  ASSERT_TRUE(memory_->try_write(from, to));
  std::vector<std::byte> whole(kBytes);
  ASSERT_TRUE(try_read(whole, at));
  position = 0;
  for (const RemotePiece& each : from)
    for (std::size_t i = 0; i < each.bytes; ++i) wrong += whole[each.at - at + i] != pattern(6, position++);
  EXPECT_EQ(wrong, 0u);
}

TEST_P(PeerMemoryTest, NothingToMoveSucceeds) { EXPECT_TRUE(memory_->try_read({}, {})); }

TEST_P(PeerMemoryTest, MappingIsTheSameMemory) {
  if (!memory_->can_map()) {
    EXPECT_FALSE(memory_->map(peer_->make(Where::heap, 100000), 100000));
    return;
  }
  constexpr std::size_t kBytes = 3 << 20;
  const std::uint64_t at = peer_->make(Where::heap, kBytes);
  peer_->ask({Verb::fill, at, kBytes, 1});
  const Mapping mapping = memory_->map(at + 123, kBytes - 123);
  ASSERT_TRUE(mapping);
  EXPECT_EQ(mapping.at[0], pattern(1, 123));
  mapping.at[7] = std::byte{0xee};
  EXPECT_EQ(peer_->ask({Verb::check, at, kBytes, 1}).value, 1u);
  peer_->ask({Verb::fill, at, kBytes, 2});  // seen without mapping again
  EXPECT_EQ(mapping.at[kBytes - 124], pattern(2, kBytes - 1));
  EXPECT_TRUE(memory_->is_still_valid(mapping));
}

TEST_P(PeerMemoryTest, LastingMappingStaysOverForks) {
  constexpr std::size_t kBytes = 3 << 20;
  constexpr int kForks = 12;  // more than mappings of earlier generations are left for others
  const std::uint64_t at = peer_->make(Where::heap, kBytes);
  peer_->ask({Verb::keep, at, kBytes});
  LastingMapping lasting(*memory_, {at, kBytes, 0});
  ASSERT_EQ(lasting.at() != nullptr, memory_->can_map());
  if (!memory_->can_map()) return;
  for (int i = 0; i < 2000; ++i) {  // mappings of transfers come and go meanwhile
    const std::uint64_t other = at + std::uint64_t(i % 700) * 4096;
    EXPECT_TRUE(memory_->map(other, 4096));
  }
  peer_->ask({Verb::fill, at, kBytes, 1});
  EXPECT_EQ(count_wrong(lasting.at(), kBytes, 1), 0u);
  LastingMapping moved = std::move(lasting);
  moved.at()[7] ^= std::byte{0x10};
  EXPECT_EQ(peer_->ask({Verb::check, at, kBytes, 1}).value, 1u);
  if (is_fake_mapping(memory_->name())) return;  // only a kernel follows the peer's page tables
  std::byte* const there = moved.at();
  for (std::uint64_t i = 0; i < kForks; ++i) {
    const auto child = pid_t(peer_->ask({Verb::fork_and_live}).value);
    EXPECT_TRUE(memory_->map(peer_->make(Where::heap, kBytes), kBytes)) << "of the new generation";
    peer_->ask({Verb::fill, at, kBytes, i});
    EXPECT_EQ(moved.at(), there);
    EXPECT_EQ(count_wrong(there, kBytes, i), 0u);
    fill(there, kBytes, 100 + i);
    EXPECT_EQ(peer_->ask({Verb::check, at, kBytes, 100 + i}).value, 0u);
    kill(child, SIGKILL);
  }
}

TEST_P(PeerMemoryTest, ForeignMemoryIsReachedOrDeclined) {
  constexpr std::size_t kBytes = 200000;
  const std::uint64_t at = peer_->make(Where::foreign, kBytes);
  peer_->ask({Verb::fill, at, kBytes, 9});
  std::vector<std::byte> here(kBytes);
  EXPECT_EQ(try_read(here, at, expose(at, kBytes)), memory_->can_copy_anywhere());
  if (memory_->can_copy_anywhere()) {
    EXPECT_EQ(count_wrong(here.data(), kBytes, 9), 0u);
  }
}

TEST_P(PeerMemoryTest, AddressesOfNothingAreDeclined) {
  if (std::strstr(memory_->name(), "xpmem") && !is_fake_mapping("xpmem"))
    GTEST_SKIP() << "the kernel module attaches anything, and a load from nothing is a SIGBUS";
  std::vector<std::byte> here(1 << 16);
  EXPECT_FALSE(try_read(here, 4096));
  EXPECT_FALSE(try_write(4096, here));
  EXPECT_FALSE(try_read(here, ~std::uint64_t{0} - 100));
}

TEST_P(PeerMemoryTest, ForkOfThePeerInvalidatesMappings) {
  constexpr std::size_t kBytes = 1 << 20;
  const std::uint64_t at = peer_->make(Where::heap, kBytes);
  peer_->ask({Verb::fill, at, kBytes, 3});
  const Mapping before = memory_->can_map() ? memory_->map(at, kBytes) : Mapping{};
  if (is_fake_mapping(memory_->name())) GTEST_SKIP() << "only a kernel follows the peer's page tables";
  const auto child = pid_t(peer_->ask({Verb::fork_and_live}).value);
  peer_->ask({Verb::fill, at, kBytes, 4});  // the child keeps 3
  std::vector<std::byte> here(kBytes);
  const bool reaches_private_pages = std::strstr(memory_->name(), "cma") ||
                                     std::strstr(memory_->name(), "knem") ||
                                     (std::strstr(memory_->name(), "xpmem") && !is_fake_mapping("xpmem"));
  const bool is_heap_mapping =
      std::strncmp(memory_->name(), "shared_heap", 11) == 0;  // others follow the peer
  if (before && is_heap_mapping && peer_->ask({Verb::is_shared, at, kBytes}).value == 0) {
    EXPECT_FALSE(memory_->is_still_valid(before));
  }
  if (!reaches_private_pages) {
    EXPECT_FALSE(memory_->map(at, kBytes)) << "the peer's pages are private now";
    EXPECT_FALSE(try_read(here, at));
  } else {
    ASSERT_TRUE(try_read(here, at, expose(at, kBytes)));
    EXPECT_EQ(count_wrong(here.data(), kBytes, 4), 0u);
  }
  // New blocks of the peer are reached as before.
  const std::uint64_t fresh = peer_->make(Where::heap, kBytes);
  peer_->ask({Verb::fill, fresh, kBytes, 8});
  ASSERT_TRUE(try_read(here, fresh, expose(fresh, kBytes)));
  EXPECT_EQ(count_wrong(here.data(), kBytes, 8), 0u);
  fill(here.data(), kBytes, 11);
  ASSERT_TRUE(try_write(fresh, here, expose(fresh, kBytes)));
  EXPECT_EQ(peer_->ask({Verb::check, fresh, kBytes, 11}).value, 0u);
  kill(child, SIGKILL);
}

TEST_P(PeerMemoryTest, RepeatedForksAndFreesKeepWorking) {
  if (is_fake_mapping(memory_->name())) GTEST_SKIP() << "only a kernel follows the peer's page tables";
  constexpr std::size_t kBytes = 1 << 19;
  std::vector<pid_t> children;
  for (std::uint64_t round = 0; round < 12; ++round) {
    const std::uint64_t at = peer_->make(Where::heap, kBytes);
    peer_->ask({Verb::fill, at, kBytes, round});
    std::vector<std::byte> here(kBytes);
    ASSERT_TRUE(try_read(here, at, expose(at, kBytes))) << round;
    EXPECT_EQ(count_wrong(here.data(), kBytes, round), 0u);
    children.push_back(pid_t(peer_->ask({Verb::fork_and_live}).value));
    if (round % 2) peer_->ask({Verb::drop, at});
  }
  for (const pid_t child : children) kill(child, SIGKILL);
}

TEST_P(PeerMemoryTest, ForkAndExecLeavesMappingsAlone) {
  if (is_fake_mapping(memory_->name())) GTEST_SKIP() << "only a kernel follows the peer's page tables";
  constexpr std::size_t kBytes = 1 << 20;
  const std::uint64_t at = peer_->make(Where::heap, kBytes);
  EXPECT_EQ(peer_->ask({Verb::fork_and_exec}).value, 0u);
  peer_->ask({Verb::fill, at, kBytes, 21});
  std::vector<std::byte> here(kBytes);
  // On a loaded machine the child may not exec within the time that fork waits; then the block is declined,
  // not wrong.
  if (try_read(here, at, expose(at, kBytes))) {
    EXPECT_EQ(count_wrong(here.data(), kBytes, 21), 0u);
  }
}

TEST_P(PeerMemoryTest, ManyThreadsReadAtOnce) {
  constexpr std::size_t kBytes = 1 << 20;
  const std::uint64_t at = peer_->make(Where::heap, kBytes);
  peer_->ask({Verb::fill, at, kBytes, 30});
  const std::uint64_t cookie = expose(at, kBytes);
  std::vector<std::thread> threads;
  std::atomic<std::size_t> wrong = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      std::vector<std::byte> here(kBytes);
      for (int turn = 0; turn < 5; ++turn) {
        wrong += !try_read(here, at, cookie);
        wrong += count_wrong(here.data(), kBytes, 30);
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0u);
}

TEST_P(PeerMemoryTest, DeathOfThePeerIsSurvived) {
  constexpr std::size_t kBytes = 1 << 20;
  const std::uint64_t at = peer_->make(Where::heap, kBytes);
  const std::uint64_t foreign = peer_->make(Where::foreign, kBytes);
  peer_->kill();
  std::vector<std::byte> here(kBytes);
  (void)try_read(here, at);  // may succeed: the pages live as long as somebody maps them
  EXPECT_FALSE(try_read(here, foreign));
}

INSTANTIATE_TEST_SUITE_P(Mechanism, PeerMemoryTest,
                         testing::Values("auto", "shared_heap", "xpmem", "cma", "knem"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace dunlin::peer
