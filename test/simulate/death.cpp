// A rank that dies with a chunk of a shared copy in hand: who shares the copy says so after a second, ends
// neither it nor itself, and goes on with other ranks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "os/clock.hpp"
#include "pt2pt/functions.hpp"
#include "test/simulate/buffer.hpp"
#include "test/simulate/fibers.hpp"
#include "test/simulate/settings.hpp"
#include "test/simulate/world.hpp"

namespace dunlin::test {
namespace {

constexpr int kSurvivor = 0, kVictim = 1, kOther = 2;
constexpr std::int64_t kBytes = 64 << 10;
constexpr std::int64_t kSecond = 1'000'000'000;

class Death {
 public:
  Death(World& world, bool victim_sends) : world_(world), victim_sends_(victim_sends) {
    for (int rank = 0; rank < world.size(); ++rank)
      for (std::vector<std::byte>* each : {&out_[rank], &in_[rank]}) {
        each->assign(kBytes, each == &out_[rank] ? std::byte(7 + rank) : std::byte{});
        world.memory(rank).add_buffer(each->data(), each->size());
      }
    world.memory(kVictim).die_in_a_copy();
  }
  ~Death() {
    for (int rank = 0; rank < world_.size(); ++rank)
      for (const std::vector<std::byte>* each : {&out_[rank], &in_[rank]})
        world_.memory(rank).remove_buffer(each->data());
  }

  void play(int rank) {
    if (rank == kVictim) finish(rank, start(rank, kSurvivor, victim_sends_));
    if (rank == kOther) finish(rank, start(rank, kSurvivor, true));
    if (rank == kSurvivor) survive();
  }

 private:
  Request* start(int rank, int other, bool sends) {
    Request* request = nullptr;
    const Datatype& byte = predefined(MPI_BYTE);
    const Err error =
        sends ? pt2pt::isend(out_[rank].data(), kBytes, byte, other, 0, world_.comm(rank), &request)
              : pt2pt::irecv(in_[rank].data(), kBytes, byte, other, 0, world_.comm(rank), &request);
    EXPECT_EQ(error, Err::ok);
    return request;
  }
  void finish(int rank, Request* request) {
    world_.engine(rank).wait(*request);
    give_back(request);
  }
  /// All bytes of what came from a rank.
  void expect_received(int at, int from) const {
    EXPECT_EQ(std::count(in_[at].begin(), in_[at].end(), std::byte(7 + from)), kBytes);
  }

  void survive() {
    Request* const request = start(kSurvivor, kVictim, !victim_sends_);
    const std::int64_t start_ns = os::now_ns();
    WaitReason reason;
    while (!reason.is_held_back && os::now_ns() - start_ns < 30 * kSecond) {
      world_.engine(kSurvivor).poll();
      if (world_.memory(kVictim).is_dead()) usleep(10'000);
      reason = {};
      request->explain(reason);
    }
    EXPECT_TRUE(world_.memory(kVictim).is_dead());
    EXPECT_GT(os::now_ns() - start_ns, kSecond);
    EXPECT_TRUE(reason.is_held_back);
    EXPECT_NE(std::string(reason.hint).find("was it stopped, or is it dead"), std::string::npos)
        << reason.hint;
    EXPECT_EQ(reason.peer, kVictim);
    EXPECT_FALSE(request->is_complete);
    in_[kSurvivor].swap(kept_);  // the receive under way, if it is one, keeps its memory
    in_[kSurvivor].assign(kBytes, std::byte{});
    world_.memory(kSurvivor).add_buffer(in_[kSurvivor].data(), kBytes);
    finish(kSurvivor, start(kSurvivor, kOther, false));
    expect_received(kSurvivor, kOther);
    world_.memory(kSurvivor).remove_buffer(in_[kSurvivor].data());
    in_[kSurvivor].swap(kept_);
    EXPECT_FALSE(request->is_complete);
    world_.memory(kVictim).revive();
    finish(kSurvivor, request);
    if (victim_sends_) expect_received(kSurvivor, kVictim);
  }

 public:
  void check_victim() const {
    if (!victim_sends_) expect_received(kVictim, kSurvivor);
  }

 private:
  World& world_;
  const bool victim_sends_;
  std::vector<std::byte> out_[3], in_[3], kept_;
};

TEST(Death, InACopyIsReportedByTheOtherSide) {
  for (const bool victim_sends : {false, true}) {
    SCOPED_TRACE(victim_sends ? "the sender" : "the receiver");
    const Settings settings(
        {{"EAGER_BYTES", 64}, {"SHARED_COPY_BYTES", 64}, {"SHARED_COPY_CHUNK_BYTES", 1024}});
    Nodes nodes{.of_rank = {0, 0, 0}, .memory = {}};
    nodes.memory.maps = true;
    World world(nodes, {.seed = 1});
    Death death(world, victim_sends);
    Fibers fibers(world, [&](int rank) { death.play(rank); });
    fibers.run();
    death.check_victim();
  }
}

}  // namespace
}  // namespace dunlin::test
