// Simulated ranks that make blocking calls: each runs on a stack of its own and gives way at every poll of
// its transport, and sometimes while it maps or copies a peer's memory.
//
//   Fibers fibers(world, [&](int rank) { coll::barrier(world.comm(rank)); });
//   fibers.run();
//
// Who runs next is up to the world's dice.  When nothing has moved for long, the test fails and names the
// seed; the stacks of the ranks that hang are then abandoned.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "test/simulate/settings.hpp"
#include "test/simulate/world.hpp"
#include "test/stacks.hpp"

namespace dunlin::test {

class Fibers {
 public:
  Fibers(World& world, std::function<void(int rank)> body);
  ~Fibers();
  void run();

 private:
  static constexpr std::size_t kStackBytes = 256 << 10;
  struct Fiber {
    Stack stack;
    std::unique_ptr<std::byte[]> memory;  // of the stack
    bool is_done = false;
  };
  [[noreturn]] static void enter();
  void give_way();

  const Settings settings_;
  World& world_;
  const std::function<void(int)> body_;
  std::vector<Fiber> fibers_;  // by rank
  Stack scheduler_;
  int running_ = -1;  // rank
};

}  // namespace dunlin::test
