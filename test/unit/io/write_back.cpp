// What is new in a file on a disk goes there while the next is written (Storage::note_written).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "datatype/functions.hpp"
#include "io/storage.hpp"

namespace {
std::vector<std::pair<off64_t, off64_t>> begun;  // from, bytes
}

extern "C" __attribute__((visibility("default"))) int sync_file_range(int, off64_t from, off64_t bytes,
                                                                      unsigned) {
  begun.emplace_back(from, bytes);
  return 0;
}

namespace dunlin::io {
namespace {

using Begun = decltype(begun);
constexpr std::int64_t kPiece = 1 << 20;

/// In the working folder, which lies on a disk as a rule.
class WriteBackTest : public testing::Test {
 protected:
  void SetUp() override {
    static const bool made = (init_predefined_datatypes(), true);
    (void)made;
    const int descriptor = mkstemp(name_);
    ASSERT_GE(descriptor, 0);
    ::close(descriptor);
    begun.clear();
    ASSERT_EQ(storage_.open(name_, O_RDWR, 0666), 0);
    if (!storage_.has_locks() || storage_.is_in_memory()) GTEST_SKIP() << "the working folder is on no disk";
  }
  void TearDown() override { unlink(name_); }
  void write(std::int64_t from, std::int64_t bytes) {
    std::vector<std::byte> data(std::size_t(bytes), std::byte{1});
    const Datatype& byte = *from_handle<Datatype>(MPI_BYTE);
    const coll::Block memory = coll::Block::of_bytes(data.data(), data.size());
    ASSERT_EQ(storage_.move({Direction::write, memory, Tiling(from, byte), 0, false}).bytes, bytes);
  }

  char name_[32] = "dunlin-unit-XXXXXX";
  Storage storage_;
};

TEST_F(WriteBackTest, BeginsWithWhatIsNewAndLongEnough) {
  for (std::int64_t i = 0; i < 20; ++i) write(i * kPiece, kPiece);
  EXPECT_EQ(begun, (Begun{{0, kWriteBackBytes}, {kWriteBackBytes, kWriteBackBytes}}));
}

TEST_F(WriteBackTest, BeginsWithinOneLongPiece) {
  write(0, 2 * kWriteBackBytes + kPiece);
  EXPECT_EQ(begun, (Begun{{0, kWriteBackBytes}, {kWriteBackBytes, kWriteBackBytes}}));
}

TEST_F(WriteBackTest, LeavesToTheKernelWhatIsWrittenAgain) {
  write(0, 2 * kWriteBackBytes);
  begun.clear();
  for (int again = 0; again < 3; ++again) write(0, 2 * kWriteBackBytes);
  EXPECT_EQ(begun, Begun{});
}

TEST_F(WriteBackTest, NotWhereTheFileIsDeletedAtTheEnd) {
  storage_.set_passing();
  write(0, 2 * kWriteBackBytes);
  EXPECT_EQ(begun, Begun{});
}

}  // namespace
}  // namespace dunlin::io
