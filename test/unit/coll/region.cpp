// Members of a region as threads: what one puts there the others read, at every number, whoever is ahead.
#include "coll/region.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <memory>
#include <thread>

namespace dunlin::coll {
namespace {

using transport::shm::Commons;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

/// Room for so many members, as new.
std::unique_ptr<std::byte, Free> make_room(int members) {
  const std::size_t bytes = Commons::bytes(members);
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(4096, bytes));
  Commons(memory, members).clear();
  return std::unique_ptr<std::byte, Free>(memory);
}

void wait(Flags flags) {
  while (!flags.are_up()) sched_yield();
}

/// Every member, each on a thread of its own.
template <class Body>
void run_members(std::byte* memory, int members, const Body& body) {
  std::vector<std::thread> threads;
  for (int me = 0; me < members; ++me)
    threads.emplace_back([=] {
      Region region(Commons(memory, members), me,
                    std::vector<transport::shm::Channel*>(std::size_t(members), nullptr));
      body(region, me);
    });
  for (std::thread& each : threads) each.join();
}

constexpr int kMembers = 3, kRounds = 500;

/// Short in the line, or long in the room.
std::size_t bytes_of(std::uint64_t number) { return number % 5 ? sizeof number : 2000; }

void put(const Turn& turn, int me) {
  std::vector<std::uint64_t> values(bytes_of(turn.number()) / 8, turn.number() * 10 + std::uint64_t(me));
  const std::size_t bytes = values.size() * 8;
  turn.put(Block::of_bytes(values.data(), bytes), bytes, 0, bytes);
}

void expect(const Turn& turn, int member) {
  std::vector<std::uint64_t> values(bytes_of(turn.number()) / 8);
  const std::size_t bytes = values.size() * 8;
  turn.get(member, Block::of_bytes(values.data(), bytes), bytes, 0, bytes);
  for (const std::uint64_t value : values) ASSERT_EQ(value, turn.number() * 10 + std::uint64_t(member));
}

TEST(Region, AllMeetAll) {
  const auto memory = make_room(kMembers);
  run_members(memory.get(), kMembers, [](Region& region, int me) {
    for (int round = 0; round < kRounds; ++round) {
      const Turn turn(region, 0);
      wait(turn.place_is_free());
      put(turn, me);
      turn.arrive(0);
      wait(turn.all_are_there());
      for (int member = 0; member < kMembers; ++member) expect(turn, member);
      turn.leave(true);
    }
  });
}

TEST(Region, ARootThatNobodyWaitsForDoesNotOverwriteWhatIsRead) {
  const auto memory = make_room(kMembers);
  run_members(memory.get(), kMembers, [](Region& region, int me) {
    for (int round = 0; round < kRounds; ++round) {
      const Turn turn(region, 1);
      const int root = round % 7 ? 0 : 1;
      if (me == root) {
        wait(turn.place_is_free());
        put(turn, me);
        turn.arrive(0);
      } else {
        wait(turn.is_there(root));
        expect(turn, root);
      }
      turn.leave(false);
    }
  });
}

TEST(Region, OperationsMayEndInAnotherOrder) {
  const auto memory = make_room(kMembers);
  run_members(memory.get(), kMembers, [](Region& region, int me) {
    for (int round = 0; round < kRounds; ++round) {
      const Turn first(region, 0), second(region, 0);
      for (const Turn* const turn : {&second, &first}) {
        wait(turn->place_is_free());
        put(*turn, me);
        turn->arrive(0);
      }
      for (const Turn* const turn : {&second, &first}) {
        wait(turn->all_are_there());
        for (int member = 0; member < kMembers; ++member) expect(*turn, member);
        turn->leave(true);
      }
    }
  });
}

TEST(Region, AnErrorLeavesToo) {
  const auto memory = make_room(kMembers);
  run_members(memory.get(), kMembers, [](Region& region, int me) {
    for (int round = 0; round < kRounds; ++round) {
      const Turn turn(region, 0);
      wait(turn.place_is_free());
      turn.arrive(0);
      if ((round + me) % 3 == 0) continue;
      wait(turn.all_are_there());
      turn.leave(true);
    }
  });
}

TEST(Region, AReservedTurnThatIsNotTakenIsMetWithoutData) {
  const auto memory = make_room(2);
  run_members(memory.get(), 2, [](Region& region, int me) {
    for (int round = 0; round < kRounds; ++round) {
      const Reservation reserved(&region, 0);
      if (round % 2 == me) {
        wait(reserved.can_leave());
        continue;
      }
      const Turn turn(region, 0, reserved.number());
      wait(turn.place_is_free());
      turn.arrive(8);
      wait(turn.all_are_there());
      EXPECT_EQ(turn.bytes_of(1 - me), 0u);
      turn.leave(true);
    }
  });
}

TEST(Region, GoesOnWhereAnEarlierOneStopped) {
  const auto memory = make_room(1);
  std::uint64_t last = 0;
  for (int life = 0; life < 3; ++life) {
    Region region(Commons(memory.get(), 1), 0, {nullptr});
    const Turn turn(region, 0);
    EXPECT_EQ(turn.number(), last + 1);
    EXPECT_TRUE(turn.place_is_free().are_up());
    turn.arrive(0);
    turn.leave(true);
    last = turn.number();
  }
}

TEST(Region, HasTracksForSomePersistentOperations) {
  const auto memory = make_room(1);
  Region region(Commons(memory.get(), 1), 0, {nullptr});
  EXPECT_EQ(region.free_tracks() & 1, 0u);  // the communicator's calls
  for (int track = 1; track < Commons::kTracks; ++track) {
    EXPECT_NE(region.free_tracks(), 0u);
    region.take_track(track);
  }
  EXPECT_EQ(region.free_tracks(), 0u);
  region.give_back_track(3);
  EXPECT_EQ(region.free_tracks(), 1u << 3);
}

TEST(Commons, AreGivenToOthersWhenAllMembersHaveGone) {
  const auto memory = make_room(2);
  Commons commons(memory.get(), 2);
  EXPECT_FALSE(commons.try_clear());
  commons.left(0)->left = 5;
  commons.leave_for_good(2);
  EXPECT_FALSE(commons.try_clear());
  commons.leave_for_good(2);
  EXPECT_TRUE(commons.try_clear());
  EXPECT_EQ(commons.left(0)->left.load(), 0u);
  EXPECT_FALSE(commons.try_clear());
}

}  // namespace
}  // namespace dunlin::coll
