// Communicators on simulated ranks that make blocking calls: membership, order and contexts agree everywhere,
// in any order of delivery.  The plan of a run (who gets which colour, which group) comes from the seed.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "coll/functions.hpp"
#include "comm/functions.hpp"
#include "pt2pt/functions.hpp"
#include "test/simulate/fibers.hpp"

namespace dunlin::test {
namespace {

using Ranks = std::vector<int>;

Ranks members(const Ref<Group>& group) { return {group->span().begin(), group->span().end()}; }

/// Whether messages on `comm` reach exactly its members, in its order; inter-communicators hear from the
/// remote group.
void check_messages(Comm& comm, int me) {
  const Datatype& ints = *from_handle<Datatype>(MPI_INT);
  Ranks heard(std::size_t(comm.target_size), -1);
  ASSERT_EQ(coll::allgather(&me, 1, &ints, heard.data(), 1, ints, comm), Err::ok);
  EXPECT_EQ(heard, members(comm.is_inter() ? comm.remote_group : comm.group));
  EXPECT_EQ(comm.group->member(comm.rank), me);
}

/// What all ranks made in one step: members of the same group must agree on the context, others must not
/// share it.
class Contexts {
 public:
  void note(const Comm& comm) {
    Ranks key = members(comm.group);
    if (comm.is_inter()) {  // both sides have the same: name the pair by its lower group first
      Ranks other = members(comm.remote_group);
      if (other < key) std::swap(key, other);
      key.push_back(-1);
      key.insert(key.end(), other.begin(), other.end());
      locals_.insert({members(comm.group), comm.local_comm->context});
      all_.insert(comm.local_comm->context);
    }
    const auto [place, is_new] = by_group_.insert({key, comm.context});
    EXPECT_EQ(place->second, comm.context);
    all_.insert(comm.context);
  }
  ~Contexts() {
    EXPECT_EQ(all_.size(), by_group_.size() + locals_.size()) << "two communicators share a context";
    EXPECT_FALSE(all_.contains(0)) << "the context of world was given out again";
  }

 private:
  std::map<Ranks, std::uint64_t> by_group_, locals_;
  std::set<std::uint64_t> all_;
};

class Communicators : public testing::TestWithParam<int> {
 protected:
  /// Runs `body(comm, rank, dice)` as every rank; `dice` rolls the same on all of them.
  void run(std::uint64_t seed, const std::function<void(Comm&, int, std::mt19937&)>& body) {
    SCOPED_TRACE(std::to_string(GetParam()) + " ranks, seed " + std::to_string(seed));
    World world(GetParam(), weather_of(seed));
    Fibers fibers(world, [&](int rank) {
      std::mt19937 dice(static_cast<unsigned>(seed));
      body(world.comm(rank), rank, dice);
    });
    fibers.run();
  }
  static constexpr std::uint64_t kSeeds = 12;
};

TEST_P(Communicators, DupAndSplit) {
  for (std::uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    Contexts dups, splits, nested;
    run(seed, [&](Comm& world, int me, std::mt19937& dice) {
      Comm *dup = nullptr, *part = nullptr, *again = nullptr;
      ASSERT_EQ(comm::comm_dup(world, &dup), Err::ok);
      dups.note(*dup);
      Ranks colors, keys;
      for (int i = 0; i < world.size; ++i) {
        colors.push_back(int(dice() % 4) - 1);
        keys.push_back(int(dice() % 5) - 2);
      }
      const int mine = colors[std::size_t(me)];
      ASSERT_EQ(comm::comm_split(*dup, mine < 0 ? MPI_UNDEFINED : mine, keys[std::size_t(me)], &part),
                Err::ok);
      check_messages(*dup, me);
      ASSERT_EQ(part == nullptr, mine < 0);
      if (part) {
        Ranks expected;
        for (int i = 0; i < world.size; ++i)
          if (colors[std::size_t(i)] == mine) expected.push_back(i);
        std::stable_sort(expected.begin(), expected.end(),
                         [&](int a, int b) { return keys[std::size_t(a)] < keys[std::size_t(b)]; });
        EXPECT_EQ(members(part->group), expected);
        splits.note(*part);
        check_messages(*part, me);
        ASSERT_EQ(comm::comm_split(*part, part->rank % 2, -part->rank, &again), Err::ok);
        nested.note(*again);
        check_messages(*again, me);
        ASSERT_EQ(comm::comm_free(*part), Err::ok);
        ASSERT_EQ(comm::comm_free(*again), Err::ok);
      }
      ASSERT_EQ(comm::comm_free(*dup), Err::ok);
    });
  }
}

TEST_P(Communicators, GroupsOfSomeRanks) {
  for (std::uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    Contexts created, named;
    run(seed, [&](Comm& world, int me, std::mt19937& dice) {
      Ranks order(std::size_t(world.size));
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), dice);
      const int cut = int(dice() % std::size_t(world.size + 1));
      const auto part = std::find(order.begin(), order.end(), me) - order.begin() < cut
                            ? Ranks(order.begin(), order.begin() + cut)
                            : Ranks(order.begin() + cut, order.end());
      const auto group = Ref<Group>::adopt(new Group(part, me));
      Comm *first = nullptr, *second = nullptr;
      ASSERT_EQ(comm::comm_create(world, *group, &first), Err::ok);  // two disjoint groups in one call
      created.note(*first);
      ASSERT_EQ(comm::comm_create_group(world, *group, 5, &second), Err::ok);
      named.note(*second);
      check_messages(*second, me);
      check_messages(*first, me);
      EXPECT_EQ(members(first->group), part);
      ASSERT_EQ(comm::comm_free(*first), Err::ok);
      ASSERT_EQ(comm::comm_free(*second), Err::ok);
    });
  }
}

TEST_P(Communicators, BetweenTwoGroups) {
  if (GetParam() == 1) return;
  for (std::uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    Contexts connected, dups, parts, merges;
    run(seed, [&](Comm& world, int me, std::mt19937& dice) {
      const int cut = 1 + int(dice() % std::size_t(world.size - 1));
      const bool is_low = me < cut;
      const int low_leader = int(dice() % std::size_t(cut)),
                high_leader = int(dice() % std::size_t(world.size - cut));
      Comm *half = nullptr, *inter = nullptr, *dup = nullptr, *part = nullptr, *merged = nullptr;
      ASSERT_EQ(comm::comm_split(world, is_low, 0, &half), Err::ok);
      ASSERT_EQ(comm::intercomm_create(*half, is_low ? low_leader : high_leader, &world,
                                       is_low ? cut + high_leader : low_leader, 7, &inter),
                Err::ok);
      connected.note(*inter);
      ASSERT_EQ(comm::comm_dup(*inter, &dup), Err::ok);
      dups.note(*dup);
      check_messages(*inter, me);
      check_messages(*dup, me);
      ASSERT_EQ(comm::comm_split(*dup, inter->rank % 2, -me, &part), Err::ok);
      const bool has_odd = std::min(cut, world.size - cut) > 1;
      EXPECT_EQ(part != nullptr, has_odd || inter->rank % 2 == 0);
      if (part) parts.note(*part);
      if (part) check_messages(*part, me);
      ASSERT_EQ(comm::intercomm_merge(*inter, is_low, &merged), Err::ok);  // the high group comes first
      merges.note(*merged);
      EXPECT_EQ(merged->rank, is_low ? world.size - cut + me : me - cut);
      check_messages(*merged, me);
      for (Comm* each : {half, inter, dup, part, merged}) {
        if (!each) continue;
        ASSERT_EQ(comm::comm_free(*each), Err::ok);
      }
    });
  }
}

TEST_P(Communicators, ManyIdupsBesideOtherWork) {
  for (std::uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    constexpr int kDups = 6;
    std::vector<Contexts> made(kDups);
    run(seed, [&](Comm& world, int me, std::mt19937&) {
      Comm* dups[kDups];
      Request* requests[kDups];
      for (int i = 0; i < kDups; ++i) ASSERT_EQ(comm::comm_idup(world, &dups[i], &requests[i]), Err::ok);
      ASSERT_EQ(coll::barrier(world), Err::ok);
      for (int i = kDups - 1; i >= 0; --i) {  // backwards: completion in any order
        world.engine->wait(*requests[i]);
        EXPECT_EQ(requests[i]->completion.error, Err::ok);
        give_back(requests[i]);
        made[std::size_t(i)].note(*dups[i]);
      }
      for (Comm* dup : dups) check_messages(*dup, me);
      for (Comm* dup : dups) ASSERT_EQ(comm::comm_free(*dup), Err::ok);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Communicators, testing::Values(1, 2, 3, 4, 5, 8, 13, 17));

}  // namespace
}  // namespace dunlin::test
