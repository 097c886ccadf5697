// Limits of control groups, at this process's level and above, in a made-up file system.
#include "heap/available_memory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace dunlin::heap {
namespace {

constexpr std::size_t kTotal = std::size_t{1} << 41, kFree = std::size_t{1} << 40;

class AvailableMemory : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/available_memory_XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    root_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = root_ + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  Memory ask() { return available_memory(root_.c_str(), {kTotal, kFree}); }
  std::string root_;
};

TEST_F(AvailableMemory, WithoutGroupsItIsTheMachines) {
  EXPECT_EQ(ask().free, kFree);
  EXPECT_EQ(ask().total, kTotal);
}

TEST_F(AvailableMemory, TheTightestLevelCounts) {
  write("/proc/self/cgroup", "0::/job/step/task\n");
  write("/sys/fs/cgroup/job/step/task/memory.max", "max\n");
  write("/sys/fs/cgroup/job/step/task/memory.current", "5\n");
  EXPECT_EQ(ask().free, kFree);
  write("/sys/fs/cgroup/job/memory.max", "1000\n");
  write("/sys/fs/cgroup/job/memory.current", "400\n");
  EXPECT_EQ(ask().free, 600u);
  EXPECT_EQ(ask().total, 1000u);
  write("/sys/fs/cgroup/job/step/memory.max", "300\n");
  write("/sys/fs/cgroup/job/step/memory.current", "400\n");
  EXPECT_EQ(ask().free, 0u);
  EXPECT_EQ(ask().total, 300u);
}

TEST_F(AvailableMemory, ARootOfAContainerHasLimitsToo) {
  write("/proc/self/cgroup", "1:name=systemd:/x\n0::/\n");
  write("/sys/fs/cgroup/memory.max", "1000\n");
  write("/sys/fs/cgroup/memory.current", "1\n");
  EXPECT_EQ(ask().free, 999u);
}

TEST_F(AvailableMemory, FirstVersionOfGroupsCountsToo) {
  write("/proc/self/cgroup",
        "9:name=systemd:/\n8:memory_other:/no\n7:cpu,cpuacct:/no\n4:blkio,memory:/job/step\n0::/\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "7000\n");
  EXPECT_EQ(ask().free, kFree);
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1000\n");
  write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "300\n");
  EXPECT_EQ(ask().total, 1000u);
  EXPECT_EQ(ask().free, 700u);
  write("/sys/fs/cgroup/memory/no/memory.limit_in_bytes", "10\n");
  write("/sys/fs/cgroup/memory/no/memory.usage_in_bytes", "1\n");
  EXPECT_EQ(ask().free, 700u);
}

/// Its groups have the names of the machine.
TEST_F(AvailableMemory, AContainerSeesItsGroupAtTheRoot) {
  write("/proc/self/cgroup", "4:memory:/docker/0815\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "300\n");
  EXPECT_EQ(ask().free, 700u);
}

TEST_F(AvailableMemory, NoWordOfGroupsIsTrusted) {
  for (const char* text :
       {"", "\n", "memory", ":", "4:memory", "4:memory\n0::", "::::/\n", "4:memory:", "0:memory,\n"}) {
    write("/proc/self/cgroup", text);
    EXPECT_EQ(ask().free, kFree) << text;
  }
}

TEST_F(AvailableMemory, ThisMachineHasSome) { EXPECT_GT(available_memory().free, 0u); }

}  // namespace
}  // namespace dunlin::heap
