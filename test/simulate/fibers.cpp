#include "test/simulate/fibers.hpp"

#include <cstdlib>

namespace dunlin::test {
namespace {

Fibers* current = nullptr;  // a stack begins without arguments

// A wait that went to sleep would hold up all ranks.
constexpr std::uint64_t kNeverSleep = 1'000'000'000'000;

}

Fibers::Fibers(World& world, std::function<void(int)> body)
    : settings_({{"SPIN_POLLS", kNeverSleep},
                 {"SPIN_POLLS_SHARED", kNeverSleep},
                 {"SPIN_POLLS_BESIDE", kNeverSleep}}),
      world_(world),
      body_(std::move(body)),
      fibers_(std::size_t(world.size())) {
  world_.network().give_way = [this] { give_way(); };
  for (Fiber& each : fibers_) {
    each.memory = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
    each.stack.begin_on({each.memory.get(), kStackBytes}, &Fibers::enter);
  }
}

Fibers::~Fibers() {
  world_.network().give_way = nullptr;
  progress::Engine::set_of_process(nullptr);
}

void Fibers::enter() {
  Fibers& self = *current;
  const int rank = self.running_;
  self.body_(rank);
  self.fibers_[std::size_t(rank)].is_done = true;
  Stack::go(self.fibers_[std::size_t(rank)].stack, self.scheduler_);
  std::abort();  // nobody comes back
}

void Fibers::give_way() {
  if (running_ < 0) return;  // the scheduler itself polls
  Stack::go(fibers_[std::size_t(running_)].stack, scheduler_);
}

void Fibers::run() {
  const std::uint64_t idle_switches_max = 1000 * fibers_.size() + 10'000;
  std::uint64_t idle_switches = 0, moves = 0;
  std::size_t left = fibers_.size();
  current = this;
  while (left > 0) {
    const std::size_t next = world_.network().roll(fibers_.size());
    if (fibers_[next].is_done) {
      (void)world_.engine(int(next)).poll();  // as in MPI_Finalize: others may still wait for its answers
      continue;
    }
    running_ = int(next);
    progress::Engine::set_of_process(&world_.engine(running_));
    Stack::go(scheduler_, fibers_[next].stack);
    running_ = -1;
    if (fibers_[next].is_done) --left;
    idle_switches = moves == world_.moves() ? idle_switches + 1 : 0;
    moves = world_.moves();
    if (idle_switches < idle_switches_max) continue;
    for (std::size_t rank = 0; rank < fibers_.size(); ++rank)
      if (!fibers_[rank].is_done) {
        ADD_FAILURE() << "rank " << rank << " hangs; seed " << world_.network().weather().seed;
        (void)fibers_[rank].memory.release();
      }
    return;
  }
}

}  // namespace dunlin::test
