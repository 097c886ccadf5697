#include "io/pages.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "io/storage.hpp"

namespace {
ssize_t copied = 0;  // by process_vm_writev
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

class PagesTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/dev/shm/dunlin-unit-XXXXXX";
    const int descriptor = mkstemp(name);
    ASSERT_GE(descriptor, 0);
    ::close(descriptor);
    name_ = name;
    ASSERT_EQ(storage_.open(name, O_RDWR, 0666), 0);
    storage_.set_writers(&writers_);
    // So that the file has pages; nothing begins or ends with one.
    write(0);
    if (!can_reach_pages()) GTEST_SKIP() << "a kernel before 5.14, or a container that forbids it";
  }
  void TearDown() override { unlink(name_.c_str()); }

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
  std::string name_;
  transport::shm::Number writers_{0};
  Storage storage_;
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

}  // namespace
}  // namespace dunlin::io
