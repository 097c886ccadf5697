#include "runtime/job_facts.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "base/variable.hpp"

namespace dunlin::test {
namespace {

/// What a launcher keeps for the ranks of a job, which are threads here.
struct Board {
  explicit Board(int ranks) : fence(ranks) {}
  std::mutex mutex;
  std::map<std::pair<int, std::string>, std::string> values;
  std::barrier<> fence;
};

class FakeBoot final : public boot::Boot {
 public:
  FakeBoot(Board& board, int rank, int size, int ranks_per_node) : board_(board) {
    place_.rank = rank;
    place_.size = size;
    std::vector<int> node_of_rank;
    for (int each = 0; each < size; ++each) node_of_rank.push_back(each / ranks_per_node);
    place_.set_map(boot::NodeMap(node_of_rank));
  }
  const char* name() const noexcept override { return "fake"; }
  Err put(std::string_view key, std::string_view value) noexcept override {
    const std::lock_guard lock(board_.mutex);
    EXPECT_TRUE(board_.values.emplace(std::pair(rank(), std::string(key)), value).second) << "put twice";
    return Err::ok;
  }
  Result<std::string> get(int rank, std::string_view key) noexcept override {
    const std::lock_guard lock(board_.mutex);
    const auto found = board_.values.find(std::pair(rank, std::string(key)));
    if (found == board_.values.end()) return fail(Err::other, "rank %d put nothing", rank);
    return found->second;
  }
  Err fence() noexcept override {
    board_.fence.arrive_and_wait();
    return Err::ok;
  }
  [[noreturn]] void abort(int code, const char*) noexcept override { std::_Exit(code); }
  Err finalize() noexcept override { return Err::ok; }

 private:
  Board& board_;
};

/// What each rank hears where ranks share CPUs on node `crowded` (-1: on none).
std::vector<int> agreed(int size, int ranks_per_node, int crowded) {
  Board board(size);
  std::vector<int> answers(std::size_t(size), -1);
  std::vector<std::array<std::byte, 16>> secrets{std::size_t(size)};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.emplace_back([&, rank] {
      FakeBoot boot(board, rank, size, ranks_per_node);
      const auto facts =
          runtime::agree_on_facts(boot, boot.node() == crowded, 64 - unsigned(boot.node()), {});
      if (!facts) return;
      answers[std::size_t(rank)] = facts.value().shares_cores;
      secrets[std::size_t(rank)] = facts.value().secret;
    });
  for (auto& each : ranks) each.join();
  const bool is_secret = secrets[0] != decltype(secrets)::value_type{};
  EXPECT_EQ(is_secret, size > ranks_per_node);
  for (const auto& each : secrets) EXPECT_EQ(each, secrets[0]);
  return answers;
}

TEST(JobFacts, AllRanksHearOfCoresSharedOnAnyNode) {
  for (const int size : {1, 2, 3, 7, 8})
    for (const int ranks_per_node : {1, 2, 3}) {
      const int nodes = (size + ranks_per_node - 1) / ranks_per_node;
      for (int crowded = -1; crowded < nodes; ++crowded)
        EXPECT_EQ(agreed(size, ranks_per_node, crowded), std::vector<int>(std::size_t(size), crowded >= 0))
            << size << " ranks, " << ranks_per_node << " a node, crowded " << crowded;
    }
}

/// What all hear where node 1 of two has other near ranks than node 0, or the same.
os::NearRanks agreed_near(os::NearRanks first, os::NearRanks second) {
  Board board(4);
  std::vector<os::NearRanks> answers(4, {9, 9});
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 4; ++rank)
    ranks.emplace_back([&, rank] {
      FakeBoot boot(board, rank, 4, 2);
      const auto facts = runtime::agree_on_facts(boot, false, 64, boot.node() == 0 ? first : second);
      if (facts) answers[std::size_t(rank)] = facts.value().near;
    });
  for (auto& each : ranks) each.join();
  for (const os::NearRanks& each : answers) EXPECT_EQ(each, answers[0]);
  return answers[0];
}

TEST(JobFacts, NearRanksHoldWhereAllNodesHaveTheSame) {
  EXPECT_EQ(agreed_near({32, 8}, {32, 8}), (os::NearRanks{32, 8}));
  EXPECT_EQ(agreed_near({32, 8}, {32, 4}), os::NearRanks());
}

TEST(JobFacts, ASettingTellsNearRanks) {
  const auto set = [](const char* text) {
    setenv("DUNLIN_NEAR_RANKS", text, 1);
    Variable::read_all_again();
  };
  set("6,3");
  EXPECT_EQ(agreed_near({32, 8}, {32, 4}), (os::NearRanks{6, 3}));
  Board board(1);
  FakeBoot alone(board, 0, 1, 1);
  for (const char* text : {"6", "6,", "6,x", "6,3,1", "-1,2", "70000,2"}) {
    set(text);
    EXPECT_FALSE(runtime::agree_on_facts(alone, false, 64, {})) << text;
  }
  set("");
}

}  // namespace
}  // namespace dunlin::test
