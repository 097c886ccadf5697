#include "io/pages.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "datatype/functions.hpp"
#include "io/storage.hpp"
#include "storage_test.hpp"

namespace {
ssize_t copied = 0;  // by process_vm_writev
ssize_t listed = 0;  // by process_vm_readv, to several places
ssize_t most = SSIZE_MAX;
}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t process_vm_readv(
    pid_t process, const iovec* to, unsigned long n, const iovec* from, unsigned long m,
    unsigned long flags) {
  iovec first = *from;
  first.iov_len = std::min(first.iov_len, size_t(most));
  const ssize_t moved = syscall(SYS_process_vm_readv, process, to, n, n > 1 ? &first : from, m, flags);
  if (n > 1 && moved > 0) listed += moved;
  return moved;
}

extern "C" __attribute__((visibility("default"))) ssize_t process_vm_writev(
    pid_t process, const iovec* from, unsigned long n, const iovec* to, unsigned long m,
    unsigned long flags) {
  const ssize_t moved = syscall(SYS_process_vm_writev, process, from, n, to, m, flags);
  if (moved > 0) copied += moved;
  return moved;
}

namespace dunlin::io {
namespace {

constexpr std::size_t kPieces = 128, kPieceBytes = 5000;

class PagesTest : public WithStorage {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(WithStorage::SetUp());
    storage_.set_writers(&writers_);
    // So that the file has pages; nothing begins or ends with one.
    write(0);
    if (!can_reach_pages()) GTEST_SKIP() << "a kernel before 5.14, or a container that forbids it";
  }
  bool can_reach_pages() {
    char from = 1, to = 0;
    const iovec here{&from, 1}, there{&to, 1};
    void* const page =
        mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, storage_.descriptor(), 0);
    const bool can = page != MAP_FAILED && madvise(page, kPageBytes, MADV_POPULATE_READ) == 0 &&
                     process_vm_writev(getpid(), &here, 1, &there, 1, 0) == 1;
    if (page != MAP_FAILED) munmap(page, kPageBytes);
    return can;
  }

  /// A list of pieces that lie apart in memory.
  void write(unsigned char turn) {
    copied = 0;
    std::vector<unsigned char> memory(2 * kPieces * kPieceBytes, 0xff);
    std::vector<iovec> pieces;
    for (std::size_t i = 0; i < kPieces; ++i) {
      unsigned char* const at = memory.data() + 2 * i * kPieceBytes;
      for (std::size_t k = 0; k < kPieceBytes; ++k) at[k] = content(i * kPieceBytes + k, turn);
      pieces.push_back({at, kPieceBytes});
    }
    ASSERT_TRUE(storage_.move_listed(Direction::write, pieces, kOffset));
    std::vector<unsigned char> now(kPieces * kPieceBytes);
    ASSERT_EQ(pread(storage_.descriptor(), now.data(), now.size(), kOffset), ssize_t(now.size()));
    for (std::size_t i = 0; i < now.size(); ++i) ASSERT_EQ(now[i], content(i, turn)) << "byte " << i;
  }
  static unsigned char content(std::size_t i, unsigned char turn) {
    return static_cast<unsigned char>(i * 7 + i / 251 + turn * 91);
  }

  static constexpr std::int64_t kOffset = 777;
  transport::shm::Number writers_{0};
};

TEST_F(PagesTest, AListBesideOthersGoesToThePages) {
  writers_.store(1);
  write(1);
  EXPECT_EQ(copied, ssize_t(kPieces * kPieceBytes - kPageBytes));
  EXPECT_EQ(writers_.load(), 1u);
}

TEST_F(PagesTest, AListAloneIsFasterByPwrite) {
  write(1);
  EXPECT_EQ(copied, 0);
  EXPECT_EQ(writers_.load(), 0u);
}

/// How much of the file this process finds in large pages.
std::size_t large_bytes(int descriptor, std::size_t bytes) {
  void* const all = mmap(nullptr, bytes + kLargePageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const at = static_cast<char*>(all) + -std::uintptr_t(all) % kLargePageBytes;
  EXPECT_NE(mmap(at, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor, 0), MAP_FAILED);
  EXPECT_EQ(madvise(at, bytes, MADV_POPULATE_READ), 0);
  std::ifstream maps("/proc/self/smaps");
  std::size_t found = 0;
  bool is_it = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long from = 0, to = 0, size = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &from, &to) == 2) is_it = from == std::uintptr_t(at);
    if (is_it && std::sscanf(line.c_str(), "ShmemPmdMapped: %llu kB", &size) == 1) found = size << 10;
  }
  munmap(all, bytes + kLargePageBytes);
  return found;
}

class LargePagesTest : public WithStorage {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(WithStorage::SetUp());
    const bool can = try_make_large_page(storage_.descriptor(), 0);
    EXPECT_EQ(ftruncate(storage_.descriptor(), 0), 0);
    storage_.set_writers(&writers_);
    if (!can) GTEST_SKIP() << "this kernel makes no large pages of files in memory";
  }
  void write(std::size_t bytes, std::int64_t offset, unsigned char turn) {
    std::vector<unsigned char> memory(bytes), now(bytes);
    for (std::size_t i = 0; i < bytes; ++i) memory[i] = static_cast<unsigned char>(i * 7 + i / 251 + turn);
    const coll::Block block = coll::Block::of_bytes(memory.data(), bytes);
    const Tiling view(0, *from_handle<Datatype>(MPI_BYTE));
    EXPECT_EQ(storage_.move({Direction::write, block, view, offset, false}).bytes, std::int64_t(bytes));
    EXPECT_EQ(pread(storage_.descriptor(), now.data(), bytes, offset), ssize_t(bytes));
    EXPECT_TRUE(now == memory);
  }
  static constexpr std::size_t kRuns = 1024;
  /// The first page, and one of so many, which is the share of one rank.
  void write_every(int share, std::int64_t filled_from, unsigned char turn) {
    const auto apart = std::size_t(share) * kPageBytes;
    std::vector<unsigned char> memory(kRuns * kPageBytes), now(kRuns * apart);
    for (std::size_t i = 0; i < memory.size(); ++i)
      memory[i] = static_cast<unsigned char>(i * 7 + i / 251 + turn);
    Datatype* made = nullptr;
    const Datatype& byte = *from_handle<Datatype>(MPI_BYTE);
    ASSERT_EQ(datatype::type_vector(kRuns, kPageBytes, std::int64_t(apart), byte, true, &made), Err::ok);
    made->set_committed();
    const auto type = Ref<Datatype>::adopt(made);
    const coll::Block block = coll::Block::of_bytes(memory.data(), memory.size());
    const Tiling view(0, *type);
    EXPECT_EQ(storage_.move({Direction::write, block, view, 0, false, filled_from, share}).bytes,
              std::int64_t(memory.size()));
    EXPECT_GE(pread(storage_.descriptor(), now.data(), now.size(), 0),
              ssize_t(now.size() - apart + kPageBytes));
    for (std::size_t i = 0; i < kRuns; ++i)
      ASSERT_EQ(std::memcmp(&now[i * apart], &memory[i * kPageBytes], kPageBytes), 0) << i;
  }
  transport::shm::Number writers_{0};
};

TEST_F(LargePagesTest, WhatIsNewAndWrittenWholeGoesToThem) {
  write(7 << 20, 777, 1);
  EXPECT_EQ(storage_.size(), (7 << 20) + 777);
  EXPECT_EQ(large_bytes(storage_.descriptor(), 7 << 20), std::size_t{4} << 20);  // but for both ends
  write(7 << 20, 777, 2);
  EXPECT_EQ(storage_.size(), (7 << 20) + 777);
}

TEST_F(LargePagesTest, AHoleIsFilledByThem) {
  write(1000, 20 << 20, 1);
  write(4 << 20, 8 << 20, 2);
  EXPECT_EQ(storage_.size(), (20 << 20) + 1000);
  EXPECT_EQ(large_bytes(storage_.descriptor(), 12 << 20), std::size_t{4} << 20);
}

TEST_F(LargePagesTest, WhatIsThereStays) {
  ASSERT_EQ(pwrite(storage_.descriptor(), "there", 5, 3 << 20), 5);
  storage_.make_large_pages(0, 8 << 20, 0, 1);
  char found[6] = {};
  EXPECT_EQ(pread(storage_.descriptor(), found, 5, 3 << 20), 5);
  EXPECT_STREQ(found, "there");
  EXPECT_EQ(storage_.size(), 8 << 20);
  EXPECT_EQ(large_bytes(storage_.descriptor(), 8 << 20), std::size_t{6} << 20);
  storage_.make_large_pages(INT64_MAX - 5, INT64_MAX, 0, 1);  // no room
  EXPECT_EQ(storage_.size(), 8 << 20);
}

/// Every other page of the file; all but the last of 256 runs at once.
TEST_F(LargePagesTest, RunsGoToThem) {
  write(8 << 20, 0, 1);
  constexpr ssize_t kAtOnce = 255 * kPageBytes;
  for (const ssize_t part : {kAtOnce, ssize_t{500000}, ssize_t{0}}) {
    most = part;
    listed = 0;
    write_every(2, INT64_MAX, static_cast<unsigned char>(part % 251));
    EXPECT_EQ(listed, 4 * part);
  }
  most = SSIZE_MAX;
}

/// Other ranks write the rest.
TEST_F(LargePagesTest, RunsMakeThemWhereNothingIsLeftOut) {
  write_every(2, INT64_MAX, 1);
  EXPECT_EQ(large_bytes(storage_.descriptor(), 6 << 20), 0u);
  ASSERT_EQ(ftruncate(storage_.descriptor(), 0), 0);
  write_every(2, 1 << 20, 2);
  EXPECT_EQ(storage_.size(), (8 << 20) - std::int64_t(kPageBytes));
  EXPECT_EQ(large_bytes(storage_.descriptor(), 6 << 20), std::size_t{4} << 20);  // but for both ends
}

/// However many they are; and then by few calls.
TEST_F(LargePagesTest, RunsOfManyRanksGoToThem) {
  listed = 0;
  write_every(24, 0, 1);
  EXPECT_EQ(large_bytes(storage_.descriptor(), 94 << 20), std::size_t{94} << 20);
  EXPECT_EQ(listed, 3 * 255 * ssize_t(kPageBytes));  // but for those behind the last large page
}

/// It cannot be mapped, and is no reason to give up making them for other files.
TEST_F(LargePagesTest, AFileThatCannotBeReadIsWrittenWithoutThem) {
  const std::string name = name_ + "-write-only";
  const int made = open(name.c_str(), O_CREAT | O_WRONLY, 0222);
  ASSERT_EQ(fchmod(made, 0222), 0);
  Storage written;
  setfsuid(65534);  // root may read everything
  const int error = written.open(name.c_str(), O_WRONLY, 0);
  setfsuid(geteuid());
  unlink(name.c_str());
  ASSERT_EQ(error, 0);
  written.set_writers(&writers_);
  std::vector<unsigned char> memory(40 << 20, 7);
  const coll::Block block = coll::Block::of_bytes(memory.data(), memory.size());
  const Tiling view(0, *from_handle<Datatype>(MPI_BYTE));
  EXPECT_EQ(written.move({Direction::write, block, view, 0, false}).bytes, std::int64_t(memory.size()));
  EXPECT_EQ(written.size(), std::int64_t(memory.size()));
  close(made);
  write(4 << 20, 0, 3);
  EXPECT_EQ(large_bytes(storage_.descriptor(), 4 << 20), std::size_t{4} << 20);
}

TEST_F(LargePagesTest, RanksShareTheMaking) {
  storage_.make_large_pages(1, 11 << 20, 1, 2);
  EXPECT_EQ(storage_.size(), 10 << 20);
  EXPECT_EQ(lseek(storage_.descriptor(), 0, SEEK_DATA), 4 << 20);
  EXPECT_EQ(lseek(storage_.descriptor(), 6 << 20, SEEK_DATA), 8 << 20);
}

}  // namespace
}  // namespace dunlin::io
