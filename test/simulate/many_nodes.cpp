// Jobs of many nodes: they wire up, and communicators are split and agreed on, with few peers for each rank.
// Ranks know their nodes, but all messages pass the simulated network.
//
// DUNLIN_TEST_NODES sets the number of nodes, of 8 ranks each; `make test-long` has 512.
#include <cstdlib>
#include <set>

#include "coll/functions.hpp"
#include "comm/functions.hpp"
#include "object/info.hpp"
#include "test/simulate/fibers.hpp"

namespace dunlin::test {
namespace {

constexpr int kRanksPerNode = 8;

int nodes_wanted() {
  const char* const text = std::getenv("DUNLIN_TEST_NODES");
  return text ? std::atoi(text) : 12;
}

/// Large messages and no delays: what is looked at is how many there are.
constexpr transport::sim::Weather kCalm{
    .seed = 1, .bytes_max = 1 << 16, .messages_max = 64, .delay_percent = 0};

int sum_over(Comm& comm, int value) {
  int sum = -1;
  const Datatype& ints = *from_handle<Datatype>(MPI_INT);
  EXPECT_EQ(coll::allreduce(&value, &sum, 1, ints, *from_handle<Op>(MPI_SUM), comm), Err::ok);
  return sum;
}

/// The ranks of `me`'s node, and those of the same place on all nodes.
void check_splits(Comm& world, int me, int nodes, std::vector<std::uint64_t>& contexts) {
  Comm *node = nullptr, *across = nullptr;
  ASSERT_EQ(comm::comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, nullptr, &node), Err::ok);
  ASSERT_EQ(node->size, kRanksPerNode);
  EXPECT_EQ(node->rank, me % kRanksPerNode);
  ASSERT_EQ(comm::comm_split(world, node->rank, me, &across), Err::ok);
  ASSERT_EQ(across->size, nodes);
  EXPECT_EQ(across->rank, me / kRanksPerNode);
  // In a node, then across nodes, is over all.
  EXPECT_EQ(sum_over(*across, sum_over(*node, me)), sum_over(world, me));
  contexts.push_back(node->context);
  contexts.push_back(across->context);
  ASSERT_EQ(comm::comm_free(*node), Err::ok);
  ASSERT_EQ(comm::comm_free(*across), Err::ok);
}

TEST(ManyNodes, SplitsAgreeAndNobodyTalksToAll) {
  const int nodes = nodes_wanted(), ranks = nodes * kRanksPerNode;
  std::vector<int> node_of_rank;
  for (int rank = 0; rank < ranks; ++rank) node_of_rank.push_back(rank / kRanksPerNode);
  World world(boot::NodeMap(node_of_rank), kCalm);
  std::vector<std::vector<std::uint64_t>> contexts{std::size_t(ranks)};
  Fibers fibers(world, [&](int me) { check_splits(world.comm(me), me, nodes, contexts[std::size_t(me)]); });
  fibers.run();

  // Every group has a context of its own: one for each node, and one for each place on a node.
  std::set<std::uint64_t> all;
  for (const auto& each : contexts) all.insert(each.begin(), each.end());
  EXPECT_EQ(all.size(), std::size_t(nodes + kRanksPerNode));

  int levels = 0;
  while (1 << levels < ranks) ++levels;
  for (int me = 0; me < ranks; ++me) {
    int peers = 0;
    for (int peer = 0; peer < ranks; ++peer) peers += world.messaging(me).peers.or_null(peer) != nullptr;
    EXPECT_LE(peers, 8 * levels) << "rank " << me;
  }
}

}  // namespace
}  // namespace dunlin::test
