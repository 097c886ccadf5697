// Growing a shared file never loses what another process has put there.
#include "os/grow_file.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace dunlin::os {
namespace {

std::int64_t size_of(int fd) {
  struct stat status;
  fstat(fd, &status);
  return status.st_size;
}

TEST(GrowFile, GrowsAndNeverShrinks) {
  const int fd = memfd_create("dunlin-test", MFD_CLOEXEC);
  ASSERT_TRUE(try_grow_file(fd, 4096));
  EXPECT_EQ(size_of(fd), 4096);
  const char word[] = "kept";
  ASSERT_EQ(pwrite(fd, word, sizeof word, 4000), ssize_t(sizeof word));
  ASSERT_TRUE(try_grow_file(fd, std::uint64_t{1} << 40));
  EXPECT_EQ(size_of(fd), std::int64_t{1} << 40);
  ASSERT_TRUE(try_grow_file(fd, 4096));
  EXPECT_EQ(size_of(fd), std::int64_t{1} << 40);
  char read[sizeof word];
  ASSERT_EQ(pread(fd, read, sizeof read, 4000), ssize_t(sizeof read));
  EXPECT_STREQ(read, word);
  struct stat status;
  fstat(fd, &status);
  EXPECT_LE(status.st_blocks * 512, 16384);  // sparse
  close(fd);
}

TEST(GrowFile, SurvivesALimitOnFiles) {
  const int fd = memfd_create("dunlin-test", MFD_CLOEXEC);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit small{8192, 8192};
    setrlimit(RLIMIT_FSIZE, &small);
    const bool is_right = try_grow_file(fd, 8192) && !try_grow_file(fd, 8193) && errno == EFBIG;
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  close(fd);
}

TEST(GrowFile, RefusesWhatIsNoFile) { EXPECT_FALSE(try_grow_file(-1, 10)); }

}  // namespace
}  // namespace dunlin::os
