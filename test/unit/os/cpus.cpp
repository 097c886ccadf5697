// Affinity masks and control group quotas, the latter from a made-up tree.
#include "os/cpus.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dunlin::os {
namespace {

class Quota : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/dunlin-quota-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string root_;
};

TEST_F(Quota, NothingThereIsUnlimited) { EXPECT_EQ(cpu_quota(root_), kUnlimitedCpus); }

TEST_F(Quota, Version2TakesTheSmallestLevelRoundedUp) {
  write("/proc/self/cgroup", "0::/user/job/step\n");
  write("/sys/fs/cgroup/user/job/step/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/user/job/cpu.max", "250000 100000\n");
  write("/sys/fs/cgroup/user/cpu.max", "800000 100000\n");
  EXPECT_EQ(cpu_quota(root_), 3);
}

TEST_F(Quota, Version2OfAContainerSitsAtTheMount) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(cpu_quota(root_), 1);
}

TEST_F(Quota, Version1) {
  write("/proc/self/cgroup", "5:cpuset:/job\n4:cpu,cpuacct:/job\n1:name=systemd:/\n");
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "400000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota(root_), 4);
}

TEST_F(Quota, Version1PathOfTheHostIsNotVisible) {
  write("/proc/self/cgroup", "4:cpuacct,cpu:/docker/1234\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota(root_), 2);
}

TEST(Cpus, ListsBothWays) {
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11\n"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("").size(), 0u);
  EXPECT_EQ(parse_cpu_list("5"), (std::vector<int>{5}));
  EXPECT_EQ(parse_cpu_list("2,x"), (std::vector<int>{2}));
  EXPECT_EQ(format_cpu_list({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(format_cpu_list({}), "");
}

TEST(Cpus, BindingShowsInTheMask) {
  const std::vector<int> before = allowed_cpus();
  ASSERT_FALSE(before.empty());
  ASSERT_TRUE(try_bind({before.back()}));
  EXPECT_EQ(allowed_cpus(), (std::vector<int>{before.back()}));
  EXPECT_EQ(usable_cpu_count(), 1);
  ASSERT_TRUE(try_bind(before));
  EXPECT_EQ(allowed_cpus(), before);
}

}  // namespace
}  // namespace dunlin::os
