#include "io/storage.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/variable.hpp"
#include "datatype/functions.hpp"
#include "os/time_slice.hpp"
#include "storage_test.hpp"

namespace dunlin::io {
namespace {

class StorageTest : public WithStorage {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(WithStorage::SetUp());
    storage_.begin_windows();
  }

  static const Datatype& byte() { return *from_handle<Datatype>(MPI_BYTE); }
  /// `count` blocks of `block` bytes, `stride` bytes apart.
  static Ref<Datatype> vector(std::int64_t count, std::int64_t block, std::int64_t stride) {
    Datatype* made = nullptr;
    EXPECT_EQ(datatype::type_vector(count, block, stride, byte(), true, &made), Err::ok);
    made->set_committed();
    return Ref<Datatype>::adopt(made);
  }
  static coll::Block block(std::vector<unsigned char>& data) {
    return coll::Block::of_bytes(data.data(), data.size());
  }
  std::vector<unsigned char> all() {
    std::vector<unsigned char> data(std::size_t(storage_.size()));
    const Outcome outcome = storage_.move({Direction::read, block(data), Tiling(0, byte()), 0, false});
    EXPECT_EQ(outcome.bytes, std::int64_t(data.size()));
    return data;
  }
};

TEST_F(StorageTest, ShortAndLongRunsLieWhereTheViewSays) {
  for (const std::int64_t run : {1, 8, 100, 5000}) {
    const std::int64_t stride = 3 * run, count = 40000 / run;
    std::vector<unsigned char> before(std::size_t(count * stride + 7), 0xaa), mine(std::size_t(count * run));
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = static_cast<unsigned char>(i * 7 + i / 251);
    ASSERT_EQ(storage_.move({Direction::write, block(before), Tiling(0, byte()), 0, false}).reason, 0);
    const Ref<Datatype> type = vector(count, run, stride);
    const Tiling view(7, *type);
    const Outcome written = storage_.move({Direction::write, block(mine), view, 0, false});
    ASSERT_EQ(written.bytes, std::int64_t(mine.size()));
    const std::vector<unsigned char> now = all();
    for (std::size_t i = 7; i < now.size(); ++i) {
      const std::int64_t at = std::int64_t(i) - 7, in_run = at % stride;
      const auto expected = in_run < run ? mine[std::size_t(at / stride * run + in_run)] : 0xaa;
      ASSERT_EQ(now[i], expected) << "byte " << i << ", runs of " << run;
    }
    std::vector<unsigned char> again(mine.size());
    EXPECT_EQ(storage_.move({Direction::read, block(again), view, 0, true}).bytes, std::int64_t(mine.size()));
    EXPECT_EQ(again, mine);
    EXPECT_EQ(ftruncate(storage_.descriptor(), 0), 0);
  }
}

TEST_F(StorageTest, ReadingEndsWhereTheFileEnds) {
  std::vector<unsigned char> data(1000, 1), read(4000);
  ASSERT_EQ(storage_.move({Direction::write, block(data), Tiling(0, byte()), 0, false}).bytes, 1000);
  EXPECT_EQ(storage_.move({Direction::read, block(read), Tiling(0, byte()), 900, false}).bytes, 100);
  const Ref<Datatype> type = vector(4000, 1, 2);
  EXPECT_EQ(storage_.move({Direction::read, block(read), Tiling(1, *type), 0, false}).bytes, 500);
}

/// Some of these go through other memory, at each size in one piece or several.
TEST_F(StorageTest, MemoryMayLieAnywhereBesideTheFile) {
  constexpr std::size_t kPage = 4096;
  setenv("DUNLIN_FILE_DETOUR", "always", 1);
  Variable::read_all_again();
  std::vector<unsigned char> memory(3 << 20);
  unsigned char* const page = memory.data() + -reinterpret_cast<std::uintptr_t>(memory.data()) % kPage;
  const auto move = [&](Direction direction, std::size_t at, std::size_t bytes, std::int64_t offset) {
    const coll::Block block = coll::Block::of_bytes(page + at, bytes);
    return storage_.move({direction, block, Tiling(0, byte()), offset, false}).bytes;
  };
  for (const std::size_t bytes : {std::size_t{511}, std::size_t{512}, kPage, std::size_t{700001}})
    for (const std::size_t apart : {0, 1, 16, 31, 32, 40}) {
      for (std::size_t i = 0; i < bytes; ++i) page[i] = static_cast<unsigned char>(i * 7 + i / 251 + apart);
      ASSERT_EQ(move(Direction::write, 0, bytes, std::int64_t(apart)), std::int64_t(bytes));
      std::vector<unsigned char> there(bytes);
      ASSERT_EQ(pread(storage_.descriptor(), there.data(), bytes, std::int64_t(apart)), ssize_t(bytes));
      ASSERT_EQ(std::memcmp(there.data(), page, bytes), 0) << bytes << " bytes, " << apart << " apart";
      // Back to memory that lies as far behind, from the file's first page.
      ASSERT_EQ(ftruncate(storage_.descriptor(), std::int64_t(apart + bytes)), 0);
      ASSERT_EQ(move(Direction::read, 2 * apart, bytes + 1, std::int64_t(apart)), std::int64_t(bytes));
      ASSERT_EQ(std::memcmp(there.data(), page + 2 * apart, bytes), 0) << bytes << " bytes, " << apart;
    }
  unsetenv("DUNLIN_FILE_DETOUR");
  Variable::read_all_again();
}

/// In a new process, which has not found out yet whether a detour pays.
TEST_F(StorageTest, ReadingIsNoWriteForTheLimitOfFiles) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto read_with_limit = [this] {
    unlink(name_.c_str());  // this process's own, and it ends here
    std::vector<unsigned char> memory(8 * 4096);
    unsigned char* const page = memory.data() + -reinterpret_cast<std::uintptr_t>(memory.data()) % 4096;
    if (pwrite(storage_.descriptor(), page, 4096, 0) != 4096) std::_Exit(2);
    const rlimit none{0, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &none) != 0) std::_Exit(3);
    const coll::Block block = coll::Block::of_bytes(page + 16, 4096);
    std::_Exit(storage_.move({Direction::read, block, Tiling(0, byte()), 0, false}).bytes == 4096 ? 0 : 4);
  };
  EXPECT_EXIT(read_with_limit(), testing::ExitedWithCode(0), "");
}

TEST_F(StorageTest, ErrorsSayWhere) {
  Storage closed;
  EXPECT_EQ(closed.open("/no/such/folder/file", O_RDONLY, 0), ENOENT);
  EXPECT_EQ(error_of(ENOENT), Err::no_such_file);
  Storage full;
  ASSERT_EQ(full.open("/dev/full", O_WRONLY, 0), 0);
  std::vector<unsigned char> data(100);
  const Outcome outcome = full.move({Direction::write, block(data), Tiling(0, byte()), 50, false});
  EXPECT_EQ(outcome.reason, ENOSPC);
  EXPECT_EQ(outcome.offset, 50);
  EXPECT_EQ(error_of(outcome.reason), Err::no_space);
}

TEST_F(StorageTest, ThreadsUseOneFileAtOnce) {
  const Ref<Datatype> type = vector(30000, 4, 16);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<unsigned char> mine(120000, static_cast<unsigned char>(t + 1)), read(120000);
      const Tiling view(4 * t, *type);
      EXPECT_EQ(storage_.move({Direction::write, block(mine), view, 0, false}).bytes, 120000);
      EXPECT_EQ(storage_.move({Direction::read, block(read), view, 0, false}).bytes, 120000);
      EXPECT_EQ(read, mine);
    });
  for (std::thread& each : threads) each.join();
  const std::vector<unsigned char> now = all();
  for (std::size_t i = 0; i < now.size(); ++i) ASSERT_EQ(now[i], i / 4 % 4 + 1);
}

TEST_F(StorageTest, WindowsAreForManyShortRunsAndWhereTheProgramLetsThem) {
  const auto wants = [this](std::int64_t runs) {
    return storage_.wants_window(Direction::write, runs, 8 * runs, 16 * runs);
  };
  EXPECT_TRUE(wants(100));
  EXPECT_FALSE(wants(1));
  EXPECT_FALSE(storage_.wants_window(Direction::write, 100, 100 << 20, 200 << 20));
  storage_.set_sieving(Choice::automatic, Choice::enable);
  EXPECT_TRUE(storage_.wants_window(Direction::write, 100, 100 << 20, 200 << 20));
  storage_.set_sieving(Choice::automatic, Choice::disable);
  EXPECT_FALSE(wants(100));
  Storage device;
  ASSERT_EQ(device.open("/dev/full", O_RDWR, 0), 0);
  device.set_sieving(Choice::automatic, Choice::enable);
  EXPECT_FALSE(device.wants_window(Direction::write, 100, 800, 1600));
}

TEST_F(StorageTest, ThePlainWriteWaitsForTheWindow) {
  Storage other;
  ASSERT_EQ(other.open(name_.c_str(), O_WRONLY, 0), 0);
  std::vector<unsigned char> nines(64, 9);
  std::thread thread;
  // The window is read, and only then changed: what came between would be lost.
  const bool is_done = storage_.try_change(0, 4096, false, [&](std::byte* window) {
    thread = std::thread([&] {
      EXPECT_EQ(other.move({Direction::write, block(nines), Tiling(0, byte()), 1000, false}).bytes, 64);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    window[0] = std::byte{7};
  });
  thread.join();
  EXPECT_TRUE(is_done);
  const std::vector<unsigned char> now = all();
  EXPECT_EQ(now[0], 7);
  for (std::size_t i = 1000; i < 1064; ++i) ASSERT_EQ(now[i], 9);
}

/// What another process does with a file until it is told to end.
class Other {
 public:
  template <class Work>
  explicit Other(const Work& work) {
    EXPECT_EQ(pipe(ends_), 0);
    process_ = fork();
    if (process_ == 0) {
      work();
      (void)!write(ends_[1], "", 1);
      for (;;) pause();
    }
    char done;
    EXPECT_EQ(read(ends_[0], &done, 1), 1);
  }
  ~Other() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

 private:
  pid_t process_;
  int ends_[2];
};

bool changes_a_window(const Storage& storage) {
  return storage.try_change(0, 4096, false, [](std::byte*) {});
}

TEST_F(StorageTest, NoWindowIsChangedWhileAnotherProcessWritesWithoutLocks) {
  Storage late;
  ASSERT_EQ(late.open(name_.c_str(), O_RDWR, 0666), 0);
  {
    // A child has no part in the open files of its parent, so that nobody changes windows of this one.
    storage_.close();
    late.close();
    const Other plain([&] { EXPECT_EQ((new Storage)->open(name_.c_str(), O_RDWR, 0666), 0); });
    ASSERT_EQ(storage_.open(name_.c_str(), O_RDWR, 0666), 0);
    storage_.begin_windows();
    EXPECT_FALSE(changes_a_window(storage_));
  }
  EXPECT_TRUE(changes_a_window(storage_));
  // Who opens the file now writes with locks.
  const Other locking([&] { EXPECT_EQ((new Storage)->open(name_.c_str(), O_RDWR, 0666), 0); });
  EXPECT_TRUE(changes_a_window(storage_));
}

TEST_F(StorageTest, OtherOpensOfTheSameProcessMakeWay) {
  Storage plain, changing;
  storage_.close();
  ASSERT_EQ(plain.open(name_.c_str(), O_RDWR, 0666), 0);
  ASSERT_EQ(changing.open(name_.c_str(), O_RDWR, 0666), 0);
  EXPECT_FALSE(changes_a_window(changing));
  changing.begin_windows();
  EXPECT_TRUE(changes_a_window(changing));
}

TEST_F(StorageTest, ALockEndsWithItsProcessThoughAChildOfItLives) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t victim = fork();
  if (victim == 0) {
    Storage mine;
    (void)mine.open(name_.c_str(), O_RDWR, 0666);
    mine.begin_windows();
    (void)mine.try_change(0, 4096, false, [&](std::byte*) {
      const pid_t child = fork();
      if (child == 0)
        for (;;) pause();
      (void)!write(ends[1], &child, sizeof child);
      for (;;) pause();
    });
  }
  pid_t child = 0;
  ASSERT_EQ(read(ends[0], &child, sizeof child), ssize_t(sizeof child));
  kill(victim, SIGKILL);
  waitpid(victim, nullptr, 0);
  std::atomic<bool> is_done = false;
  std::thread writer([&] {
    std::vector<unsigned char> data(8, 1);
    EXPECT_EQ(storage_.move({Direction::write, block(data), Tiling(0, byte()), 0, false}).bytes, 8);
    is_done = true;
  });
  for (int i = 0; i < 200 && !is_done; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(is_done);
  kill(child, SIGKILL);
  writer.join();
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(StorageTest, AFileIsNotCutInTheMiddleOfAWindow) {
  Storage other;
  ASSERT_EQ(other.open(name_.c_str(), O_RDWR, 0), 0);
  std::vector<unsigned char> data(4096, 5);
  ASSERT_EQ(storage_.move({Direction::write, block(data), Tiling(0, byte()), 0, false}).bytes, 4096);
  std::thread thread;
  EXPECT_TRUE(storage_.try_change(0, 4096, false, [&](std::byte*) {
    thread = std::thread([&] { EXPECT_EQ(other.set_size(100), 0); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }));
  thread.join();
  EXPECT_EQ(storage_.size(), 100);
}

TEST_F(StorageTest, TurnsAreTheUsualOnesWhileAFileIsOpen) {
  storage_.close();
  std::thread([this] {
    const std::int64_t usual = os::time_slice();
    if (!os::try_shorten_time_slice(100'000)) GTEST_SKIP() << "the kernel has one length for all";
    Storage first, second;
    ASSERT_EQ(first.open(name_.c_str(), O_RDWR, 0666), 0);
    ASSERT_EQ(second.open(name_.c_str(), O_RDWR, 0666), 0);
    EXPECT_EQ(os::time_slice(), usual);
    first.close();
    EXPECT_EQ(os::time_slice(), usual);
    second.close();
    EXPECT_EQ(os::time_slice(), 100'000);
  }).join();
}

TEST_F(StorageTest, PlacesAreFoundFromOffsets) {
  const Ref<Datatype> type = vector(10, 3, 7);
  const Tiling view(5, *type);
  const std::int64_t extent = type->extent();
  for (std::int64_t position = 0; position < 100; ++position) {
    const std::int64_t tile = position / 30, in_tile = position % 30;
    const std::int64_t expected = 5 + tile * extent + in_tile / 3 * 7 + in_tile % 3;
    EXPECT_EQ(view.offset_of(position), expected);
    EXPECT_EQ(view.position_at(expected), position);
  }
  EXPECT_EQ(view.position_at(0), 0);
  // Data far behind the beginning of a short type.
  Datatype* made = nullptr;
  const std::int64_t lengths[] = {4, 3}, starts[] = {500, 506};
  ASSERT_EQ(datatype::type_indexed(2, {lengths, true}, {starts, true}, byte(), true, &made), Err::ok);
  const Ref<Datatype> far = Ref<Datatype>::adopt(made);
  const Tiling far_view(10, *far);
  for (std::int64_t position = 0; position < 30; ++position)
    EXPECT_EQ(far_view.position_at(far_view.offset_of(position)), position);
  EXPECT_EQ(view.position_at(5 + 3), 3);  // in a gap: the next
}

}  // namespace
}  // namespace dunlin::io
