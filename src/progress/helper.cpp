#include "progress/helper.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "base/big_lock.hpp"
#include "base/callback.hpp"
#include "base/log.hpp"
#include "base/variable.hpp"
#include "os/cpu.hpp"
#include "os/thread.hpp"
#include "transport/shm/bell.hpp"

namespace dunlin::progress {
namespace {

enum Mode : int { kAuto, kAlways, kNever };
WordVariable mode{
    "HELPER", "auto", "auto|always|never",
    "whether a thread of the library goes on while the program computes: with one-sided operations that need "
    "it where ranks do not share CPUs, with nonblocking collectives where they leave a CPU free (auto), "
    "wherever it is of use (always), or never"};
IntVariable helper_nap_us{"HELPER_NAP_US", 50, "us",
                   "how long the library's thread sleeps first while work that it expects does not move; "
                   "doubles up to 100 times that",
                   1};

constexpr int kPollsMax = 200;  // in which nothing moves, before a sleep
constexpr int kPollsFirst = 3;  // the same before anything has moved
constexpr std::int64_t kNapsMost = 100;

/// Of this process, while the thread exists.
struct Running {
  Running(Engine& engine, transport::shm::Bell* bell) noexcept : engine(engine), bell(bell ? *bell : own) {}
  Engine& engine;
  transport::shm::Bell own = {};
  transport::shm::Bell& bell;
  pthread_t thread = {};
  std::atomic<bool> has_to_end = false;
  std::atomic<bool> serves_others = false;  // from now on it waits for the lock
  // Under the lock:
  bool is_to_be_rung = false;      // by the next operation: always where it sleeps until rung
  std::uint64_t begun = 0;         // operations that the program has begun
  std::uint64_t begun_before = 0;  // when it looked last
};
Running* running = nullptr;
thread_local bool is_helper = false;

enum class Work : std::uint8_t { none, idle, moved };

/// None: no work is under way, nor has the program begun any since the last look.
///
/// To be rung costs the program a system call.  One that waits for each operation at once has it do so in
/// vain: so a ring holds until a look that found the lock free has seen that the program computes while an
/// operation is under way, or until it has begun no further one; until then the helper looks by itself, ever
/// more seldom.
Work look(Running& self, bool was_free) noexcept {
  const Engine::Help help = self.engine.help();
  const bool has_begun = self.begun != std::exchange(self.begun_before, self.begun);
  if (help == Engine::Help::moved) return Work::moved;
  if (help == Engine::Help::refused || (help == Engine::Help::none && has_begun)) return Work::idle;
  const bool is_over = help == Engine::Help::none;
  self.is_to_be_rung |= was_free || is_over;
  return is_over ? Work::none : Work::idle;
}

/// As long as something moves, and where it does not wait for the lock, no thread of the program wants that:
/// such a call may go on with all there is.  Whether anything has moved, and whether it is to come again.
Work work(Running& self, bool waits) noexcept {
  bool has_moved = false;
  for (int idle = 0; idle < (has_moved ? kPollsMax : kPollsFirst); ++idle) {
    if (waits)
      BigLock::acquire();
    else if (!BigLock::try_acquire())
      break;
    const Work done = look(self, !waits);
    BigLock::release();
    if (done == Work::none) return Work::none;
    if (done == Work::moved) idle = 0, has_moved = true;
    os::pause();
  }
  return has_moved ? Work::moved : Work::idle;
}

void* run(void* argument) noexcept {
  auto& self = *static_cast<Running*>(argument);
  is_helper = true;
  const std::int64_t first_ns = helper_nap_us.get() * 1000, most_ns = kNapsMost * first_ns;
  std::int64_t nap_ns = first_ns;
  // Acquire: pairs with `stop`.
  while (!self.has_to_end.load(std::memory_order_acquire)) {
    const bool is_rung = self.bell.announce();
    // Calls that hold the lock and never poll would keep a helper out that only tries.  Relaxed: who sets it
    // rings.
    const bool waits = self.serves_others.load(std::memory_order_relaxed) || nap_ns == most_ns;
    const Work done = work(self, waits);
    nap_ns = done == Work::idle && !is_rung ? std::min(2 * nap_ns, most_ns) : first_ns;
    if (self.has_to_end.load(std::memory_order_acquire)) break;
    self.bell.sleep(done == Work::none ? INT64_MAX : nap_ns);
  }
  self.bell.withdraw();
  return nullptr;
}

}  // namespace

void Helper::want(Engine& engine, For whom) noexcept {
  const bool has_core = whom == For::others ? !engine.is_oversubscribed() : engine.has_free_core();
  if (mode.index() == kNever || (mode.index() == kAuto && !has_core)) return;
  if (running) {
    ++running->begun;
    if (whom == For::others) running->serves_others.store(true, std::memory_order_relaxed);
    if (whom == For::others || running->is_to_be_rung) running->bell.ring();
    running->is_to_be_rung = false;
    return;
  }
  if (Callback::is_under_way() && !BigLock::is_needed()) return;  // a later call makes it
  running = new Running(engine, engine.bell());
  running->serves_others.store(whom == For::others, std::memory_order_relaxed);
  BigLock::set_helped(true);
  const int error = os::start_thread(&running->thread, run, running);
  if (error == 0) return;
  BigLock::set_helped(false);
  delete std::exchange(running, nullptr);
  log::note("no thread of the library goes on while the program computes: error %d", error);
}

bool Helper::is_there() noexcept { return running != nullptr; }
bool Helper::is_this_thread() noexcept { return is_helper; }

void Helper::stop() noexcept {
  if (!running) return;
  running->has_to_end.store(true, std::memory_order_release);
  running->bell.ring();
  const int levels = BigLock::release_all();
  pthread_join(running->thread, nullptr);
  BigLock::reacquire(levels);
  BigLock::set_helped(false);
  delete std::exchange(running, nullptr);
}

}  // namespace dunlin::progress
