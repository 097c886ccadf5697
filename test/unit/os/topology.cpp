// Sharing processors out: whole caches and cores, equal shares, odd numbers.
#include "os/topology.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "os/cpus.hpp"

namespace dunlin::os {
namespace {

/// `numas` memory nodes of `l3s` caches of `cores` cores of `threads` threads, numbered as Linux does: the
/// second threads of all cores come after the first ones.
std::vector<CpuPlace> machine(int numas, int l3s, int cores, int threads) {
  std::vector<CpuPlace> places;
  const int all_cores = numas * l3s * cores;
  for (int core = 0; core < all_cores; ++core)
    for (int thread = 0; thread < threads; ++thread)
      places.push_back({thread * all_cores + core, core / (l3s * cores), core / cores, core});
  return places;
}

std::vector<std::string> shares_of(const std::vector<CpuPlace>& places, int ranks) {
  std::vector<std::string> texts;
  for (const auto& share : share_cpus(places, ranks)) texts.push_back(format_cpu_list(share));
  return texts;
}

using Texts = std::vector<std::string>;

TEST(ShareCpus, OneRankGetsAll) { EXPECT_EQ(shares_of(machine(2, 2, 4, 2), 1), (Texts{"0-31"})); }

TEST(ShareCpus, RanksGetWholeCaches) {
  EXPECT_EQ(shares_of(machine(1, 4, 4, 1), 4), (Texts{"0-3", "4-7", "8-11", "12-15"}));
  EXPECT_EQ(shares_of(machine(1, 4, 4, 1), 2), (Texts{"0-7", "8-15"}));
  EXPECT_EQ(shares_of(machine(1, 4, 4, 1), 3), (Texts{"0-3", "4-11", "12-15"}));
}

TEST(ShareCpus, NoCoreForTwoRanks) {
  EXPECT_EQ(shares_of(machine(1, 2, 2, 2), 4), (Texts{"0,4", "1,5", "2,6", "3,7"}));
}

TEST(ShareCpus, ThreadsOnlyWhenCoresRunOut) {
  EXPECT_EQ(shares_of(machine(1, 1, 2, 2), 4), (Texts{"0", "2", "1", "3"}));
}

TEST(ShareCpus, OddNumbersStayWithinCaches) {
  EXPECT_EQ(shares_of(machine(1, 2, 8, 1), 3), (Texts{"0-3", "4-7", "8-15"}));
}

NearRanks near_of(const std::vector<CpuPlace>& places, int ranks) {
  return near_ranks(places, share_cpus(places, ranks));
}

TEST(NearRanks, OfSharesOfWholeCaches) {
  const std::vector<CpuPlace> places = machine(2, 4, 8, 2);  // 64 cores
  EXPECT_EQ(near_of(places, 64), (NearRanks{32, 8}));
  EXPECT_EQ(near_of(places, 128), (NearRanks{64, 16}));
  EXPECT_EQ(near_of(places, 16), (NearRanks{8, 2}));
  EXPECT_EQ(near_of(places, 8), (NearRanks{4, 0}));  // one behind each cache
  EXPECT_EQ(near_of(places, 2), NearRanks());
  EXPECT_EQ(near_of(machine(1, 1, 8, 1), 8), NearRanks());  // all behind one
}

TEST(NearRanks, NoneWhereRanksDoNotLieInRows) {
  const std::vector<CpuPlace> places = machine(2, 1, 2, 1);
  EXPECT_EQ(near_ranks(places, {{0}, {1}, {2}, {3}}), (NearRanks{2, 2}));
  EXPECT_EQ(near_ranks(places, {{0}, {2}, {1}, {3}}), NearRanks());           // in turn
  EXPECT_EQ(near_ranks(places, {{0}, {1}, {2}}), NearRanks());                // not equally many
  EXPECT_EQ(near_ranks(places, {{0}, {1}, {0, 1}, {2, 3}}), NearRanks());     // neither
  EXPECT_EQ(near_ranks(places, {{0, 2}, {0, 2}, {1}, {1}}), NearRanks());     // behind both caches
}

TEST(ShareCpus, AlwaysDisjointCompleteAndNearlyEqual) {
  for (const auto& places :
       {machine(1, 1, 7, 1), machine(2, 1, 5, 2), machine(2, 4, 3, 2), machine(1, 3, 1, 1)}) {
    for (int ranks = 1; ranks <= int(places.size()); ++ranks) {
      std::multiset<int> all;
      for (const auto& share : share_cpus(places, ranks)) {
        EXPECT_FALSE(share.empty());
        all.insert(share.begin(), share.end());
      }
      EXPECT_EQ(all.size(), places.size()) << ranks;
      EXPECT_EQ(std::set<int>(all.begin(), all.end()).size(), places.size()) << ranks;
    }
  }
}

TEST(ShareCpus, MoreRanksThanCpusTakeThoseOfACacheInTurn) {
  EXPECT_EQ(shares_of(machine(1, 2, 2, 1), 8), (Texts{"0", "1", "0", "1", "2", "3", "2", "3"}));
  EXPECT_EQ(shares_of(machine(1, 1, 2, 2), 8), (Texts{"0", "2", "1", "3", "0", "2", "1", "3"}));
  EXPECT_EQ(shares_of(machine(1, 1, 1, 1), 3), (Texts{"0", "0", "0"}));
  EXPECT_EQ(near_of(machine(2, 2, 2, 1), 16), (NearRanks{8, 4}));
}

TEST(ShareCpus, PartsOfCachesLeftByAMask) {
  std::vector<CpuPlace> places = machine(1, 2, 4, 1);
  places.resize(5);  // a whole cache and one core of the other
  EXPECT_EQ(shares_of(places, 5), (Texts{"0", "1", "2", "3", "4"}));
  for (int ranks = 1; ranks <= 5; ++ranks) EXPECT_EQ(int(share_cpus(places, ranks).size()), ranks);
}

TEST(ReadTopology, FromATree) {
  char name[] = "/tmp/dunlin-topology-XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  const std::string root = name;
  const auto write = [&root](const std::string& path, const char* text) {
    const std::filesystem::path file = root + "/sys/devices/system/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  };
  for (int cpu = 0; cpu < 8; ++cpu) {  // two memory nodes of two cores of two threads; a cache for each node
    const std::string directory = "cpu/cpu" + std::to_string(cpu);
    const char* siblings[] = {"0,4", "1,5", "2,6", "3,7"};
    write(directory + "/topology/thread_siblings_list", siblings[cpu % 4]);
    write(directory + "/cache/index3/shared_cpu_list", cpu % 4 < 2 ? "0-1,4-5" : "2-3,6-7");
  }
  write("node/node0/cpulist", "2-3,6-7");
  write("node/node1/cpulist", "0-1,4-5");
  const auto places = read_topology({0, 1, 2, 3, 4, 5, 6, 7}, root);
  std::vector<int> order;
  for (const CpuPlace& place : places) order.push_back(place.cpu);
  EXPECT_EQ(order, (std::vector<int>{2, 6, 3, 7, 0, 4, 1, 5}));
  EXPECT_EQ(shares_of(places, 2), (Texts{"2-3,6-7", "0-1,4-5"}));
  std::filesystem::remove_all(root);
}

TEST(ReadTopology, NothingToRead) {
  const auto places = read_topology({3, 5, 9}, "/nowhere");
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(shares_of(places, 3), (Texts{"3", "5", "9"}));
}

TEST(ReadTopology, ThisMachine) {
  const std::vector<int> cpus = allowed_cpus();
  EXPECT_EQ(read_topology(cpus).size(), cpus.size());
}

}  // namespace
}  // namespace dunlin::os
