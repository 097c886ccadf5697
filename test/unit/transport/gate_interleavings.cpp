// rma/gate.hpp, the gate before memory that a fork may freeze, in every order of accesses and store buffers;
// here, because the interleaver is.  The owner leaves its memory in the middle of what another rank does to
// it.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "rma/gate.hpp"
#include "test/unit/transport/interleave.hpp"

namespace dunlin::rma {
namespace {

using test::Interleaver;
using test::Model;

constexpr auto kRelaxed = std::memory_order_relaxed;

struct Block {
  Model::Atomic<std::uint32_t> era;
};
/// As the other rank finds it.
struct Target {
  Block* block;
  Model::Atomic<std::uint32_t>* is_inside;
  std::uint32_t era;
};
using ModelGate = BasicGate<Model, Target>;

struct Memory {
  Block block;
  Model::Atomic<std::uint32_t> is_inside;
  Target target{&block, &is_inside, 0};
  // A word of the window where the other one has it mapped, and where the owner has it after its fork.
  Model::Atomic<std::uint32_t> left, live;

  void fork() {
    ModelGate::close(block.era);
    Interleaver::poll_until([this] { return !ModelGate::is_anybody_inside(is_inside); });
    live.store(left.load(kRelaxed), kRelaxed);
    Model::full_fence();
    ModelGate::open(block.era);
  }
  /// The general way: `change` behind the gate, at the word that the era says.
  template <class Change>
  void inside(const Change& change) {
    for (bool is_done = false; !is_done;) {
      const std::uint32_t now = ModelGate::enter(target, true);
      is_done = now % 2 == 0;
      if (is_done) change(now == 0 ? left : live);
      ModelGate::leave(target);
      if (!is_done) Interleaver::poll_until([this] { return block.era.load(kRelaxed) % 2 == 0; });
    }
  }
};

/// The owner's fork, `before` of which it does something, beside `other`; then the owner's word is `value`.
using Work = std::function<void(Memory&)>;
void explore(const Work& other, std::uint32_t value, const Work& before = [](Memory&) {}) {
  const auto outcome = Interleaver::explore([&] {
    static std::optional<Memory> place;
    Memory* const memory = &place.emplace();
    Interleaver::Program program;
    program.threads.push_back([memory, &before] { before(*memory), memory->fork(); });
    program.threads.push_back([memory, &other] { other(*memory); });
    program.check = [memory, value] { EXPECT_EQ(memory->live.load(kRelaxed), value); };
    return program;
  });
  EXPECT_TRUE(outcome.is_complete) << outcome.runs;
  EXPECT_EQ(outcome.deadlocks, 0u);
  EXPECT_GT(outcome.runs, 10u);
}

/// Of two stores that come one behind the other the second stays.
TEST(GateInterleavings, TwoStores) {
  explore(
      [](Memory& memory) {
        for (std::uint32_t value : {7u, 8u})
          memory.inside([value](auto& word) { word.store(value, kRelaxed); });
      },
      8);
}

/// The owner's program sees a store, answers it in the same word, and then forks: it is not done again.
TEST(GateInterleavings, AStoreThatIsAnswered) {
  explore(
      [](Memory& memory) { memory.inside([](auto& word) { word.store(7, kRelaxed); }); }, 1,
      [](Memory& memory) {
        Interleaver::poll_until([&] { return memory.left.load(kRelaxed) == 7; });
        memory.left.store(1, kRelaxed);
      });
}

/// An addition is neither lost nor done twice.
TEST(GateInterleavings, TwoAdditions) {
  explore(
      [](Memory& memory) {
        for (int i = 0; i < 2; ++i) memory.inside([](auto& word) { word.fetch_add(1, kRelaxed); });
      },
      2);
}

/// What is loaded in an era that is still the same is the owner's.
TEST(GateInterleavings, ALoad) {
  explore(
      [](Memory& memory) {
        memory.inside([](auto& word) { word.store(5, kRelaxed); });
        const std::uint32_t loaded = memory.left.load(kRelaxed);
        EXPECT_TRUE(loaded == 5 || !ModelGate::is_unchanged(memory.target));
      },
      5);
}

}  // namespace
}  // namespace dunlin::rma
