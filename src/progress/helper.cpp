#include "progress/helper.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
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
};
Running* running = nullptr;
thread_local bool is_helper = false;

enum class Work : std::uint8_t { none, idle, moved };

/// As long as something moves: whether anything has, and whether work is under way that does not.
Work work(Running& self) noexcept {
  bool has_moved = false;
  for (int idle = 0; idle < (has_moved ? kPollsMax : kPollsFirst); ++idle) {
    BigLock::acquire();
    const Engine::Help help = self.engine.help();
    BigLock::release();
    if (help == Engine::Help::none) return Work::none;
    if (help == Engine::Help::moved) idle = 0, has_moved = true;
    os::pause();
  }
  return has_moved ? Work::moved : Work::idle;
}

void* run(void* argument) noexcept {
  auto& self = *static_cast<Running*>(argument);
  is_helper = true;
  std::int64_t nap_ns = helper_nap_us.get() * 1000;
  // Acquire: pairs with `stop`.
  while (!self.has_to_end.load(std::memory_order_acquire)) {
    self.bell.announce();
    const Work done = work(self);
    const std::int64_t first_ns = helper_nap_us.get() * 1000;
    nap_ns = done == Work::idle ? std::min(2 * nap_ns, kNapsMost * first_ns) : first_ns;
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
  if (running) return running->bell.ring();
  if (Callback::is_under_way() && !BigLock::is_needed()) return;  // a later call makes it
  running = new Running(engine, engine.bell());
  BigLock::add_own_thread();
  const int error = os::start_thread(&running->thread, run, running);
  if (error == 0) return;
  BigLock::remove_own_thread();
  delete std::exchange(running, nullptr);
  log::note("no thread of the library goes on while the program computes: error %d", error);
}

void Helper::ring() noexcept {
  if (running) running->bell.ring();
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
  BigLock::remove_own_thread();
  delete std::exchange(running, nullptr);
}

}  // namespace dunlin::progress
