// Jobs of many nodes: they wire up, communicators are split and agreed on, and collectives go node by node,
// with few peers and messages for each rank.
// Ranks know their nodes, but all messages pass the simulated network.
//
// DUNLIN_TEST_NODES sets the number of nodes, of 8 ranks each; `make test-long` has 512.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>

#include "coll/functions.hpp"
#include "coll/hierarchy.hpp"
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

boot::NodeMap map_of(int nodes) {
  std::vector<int> node_of_rank;
  for (int rank = 0; rank < nodes * kRanksPerNode; ++rank) node_of_rank.push_back(rank / kRanksPerNode);
  return boot::NodeMap(node_of_rank);
}

int levels_of(int ranks) {
  int levels = 0;
  while (1 << levels < ranks) ++levels;
  return levels;
}

/// How many messages the same call of all ranks takes.
std::uint64_t messages_of(World& world, const std::function<void(Comm& comm, int me)>& call) {
  const std::uint64_t before = world.network().delivered();
  Fibers fibers(world, [&](int me) { call(world.comm(me), me); });
  fibers.run();
  return world.network().delivered() - before;
}

// Within a node each rank sends or receives once on the way up and once on the way down (by messages here; in
// a job these are flags in shared memory), and among nodes one rank of each talks.
TEST(ManyNodes, CollectivesGoNodeByNode) {
  const int nodes = nodes_wanted(), ranks = nodes * kRanksPerNode;
  World world(map_of(nodes), kCalm);
  ASSERT_NE(world.comm(0).hierarchy, nullptr);
  ASSERT_EQ(world.comm(0).hierarchy->domains(), nodes);
  const auto once = std::uint64_t(ranks), among = std::uint64_t(nodes) * std::uint64_t(levels_of(nodes) + 2);
  const Datatype& ints = *from_handle<Datatype>(MPI_INT);
  const int total = ranks * (ranks - 1) / 2, root = ranks / 2 + 1;

  // All members of a node tell each other in rounds.
  EXPECT_LE(messages_of(world, [](Comm& comm, int) { EXPECT_EQ(coll::barrier(comm), Err::ok); }),
            2 * once * std::uint64_t(levels_of(kRanksPerNode)) + among);
  EXPECT_LE(messages_of(world, [&](Comm& comm, int me) { EXPECT_EQ(sum_over(comm, me), total); }),
            2 * once + among);
  const auto bcast = [&](Comm& comm, int me) {
    std::vector<int> data(100, me == root ? 7 : -1);
    EXPECT_EQ(coll::bcast(data.data(), std::int64_t(data.size()), ints, root, comm), Err::ok);
    EXPECT_EQ(data, std::vector<int>(100, 7));
  };
  EXPECT_LE(messages_of(world, bcast), once);
  const auto reduce = [&](Comm& comm, int me) {
    int sum = -1;
    EXPECT_EQ(coll::reduce(&me, &sum, 1, ints, *from_handle<Op>(MPI_SUM), root, comm), Err::ok);
    EXPECT_EQ(sum, me == root ? total : -1);
  };
  EXPECT_LE(messages_of(world, reduce), once + 1);
  const auto allgather = [&](Comm& comm, int me) {
    std::vector<int> all(std::size_t(ranks), -1);
    EXPECT_EQ(coll::allgather(&me, 1, &ints, all.data(), 1, ints, comm), Err::ok);
    for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(all[std::size_t(rank)], rank);
  };
  EXPECT_LE(messages_of(world, allgather), 2 * once + among);
}

/// The most that one rank has sent to other nodes so far.
std::uint64_t most_sent_to_other_nodes(World& world) {
  std::vector<std::uint64_t> sent(std::size_t(world.size()));
  world.network().for_each_lane([&](int from, int to, std::uint64_t messages) {
    if (from / kRanksPerNode != to / kRanksPerNode) sent[std::size_t(from)] += messages;
  });
  return *std::max_element(sent.begin(), sent.end());
}

TEST(ManyNodes, NobodyHandsOutAllPartsOfAReduceScatter) {
  const int nodes = std::max(nodes_wanted(), 40), ranks = nodes * kRanksPerNode;
  World world(map_of(nodes), kCalm);
  Fibers fibers(world, [&](int me) {
    const std::vector<int> mine(std::size_t(ranks), me);
    int sum = -1;
    EXPECT_EQ(coll::reduce_scatter_block(mine.data(), &sum, 1, *from_handle<Datatype>(MPI_INT),
                                         *from_handle<Op>(MPI_SUM), world.comm(me)),
              Err::ok);
    EXPECT_EQ(sum, ranks * (ranks - 1) / 2);
  });
  fibers.run();
  EXPECT_LE(most_sent_to_other_nodes(world), std::uint64_t(2 * levels_of(nodes)));
}

TEST(ManyNodes, SplitsAgreeAndNobodyTalksToAll) {
  const int nodes = nodes_wanted(), ranks = nodes * kRanksPerNode;
  World world(map_of(nodes), kCalm);
  std::vector<std::vector<std::uint64_t>> contexts{std::size_t(ranks)};
  Fibers fibers(world, [&](int me) { check_splits(world.comm(me), me, nodes, contexts[std::size_t(me)]); });
  fibers.run();

  // Every group has a context of its own: one for each node, and one for each place on a node.
  std::set<std::uint64_t> all;
  for (const auto& each : contexts) all.insert(each.begin(), each.end());
  EXPECT_EQ(all.size(), std::size_t(nodes + kRanksPerNode));

  const int levels = levels_of(ranks);
  for (int me = 0; me < ranks; ++me) {
    int peers = 0;
    for (int peer = 0; peer < ranks; ++peer) peers += world.messaging(me).peers.or_null(peer) != nullptr;
    EXPECT_LE(peers, 8 * levels) << "rank " << me;
  }
}

}  // namespace
}  // namespace dunlin::test
