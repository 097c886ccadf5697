// Reading program files: what they ask for, and that no file, however broken, harms mpirun.
#include "launcher/program_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

namespace dunlin::launcher {
namespace {

std::string own_bytes() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A file that is gone after the test.
class File {
 public:
  explicit File(const std::string& bytes) {
    const int fd = ::mkstemp(name_);
    EXPECT_EQ(::write(fd, bytes.data(), bytes.size()), ssize_t(bytes.size()));
    ::close(fd);
  }
  ~File() { ::unlink(name_); }
  const char* name() const { return name_; }

 private:
  char name_[40] = "/tmp/dunlin-program-XXXXXX";
};

TEST(ProgramFile, NamesWhatThisProgramNeeds) {
  const auto libraries = needed_libraries("/proc/self/exe");
  EXPECT_NE(std::find(libraries.begin(), libraries.end(), "libc.so.6"), libraries.end());
}

TEST(ProgramFile, OtherFilesNeedNothing) {
  EXPECT_TRUE(needed_libraries("/no/such/file").empty());
  EXPECT_TRUE(needed_libraries("/tmp").empty());
  EXPECT_TRUE(needed_libraries("/dev/zero").empty());
  EXPECT_TRUE(needed_libraries(File("").name()).empty());
  EXPECT_TRUE(needed_libraries(File("#!/bin/sh\necho libasan.so\n").name()).empty());
  EXPECT_FALSE(is_sanitized("/bin/sh"));
}

TEST(ProgramFile, CutOffAnywhere) {
  const std::string bytes = own_bytes();
  for (std::size_t kept = 1; kept < bytes.size(); kept += 1 + kept / 3)
    (void)needed_libraries(File(bytes.substr(0, kept)).name());
}

TEST(ProgramFile, BrokenAnywhere) {
  std::mt19937 random(20261120);
  const std::string bytes = own_bytes();
  for (int turn = 0; turn < 300; ++turn) {
    std::string broken = bytes.substr(0, 1 << 16);
    for (int i = 0; i < 8; ++i)
      broken[4 + random() % 1024] = char(random());  // headers, the magic number excepted
    (void)needed_libraries(File(broken).name());
  }
}

}  // namespace
}  // namespace dunlin::launcher
