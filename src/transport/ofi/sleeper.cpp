#include "transport/ofi/sleeper.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <utility>

#include "os/futex.hpp"
#include "os/thread.hpp"

namespace dunlin::transport::ofi {
namespace {

constexpr std::int64_t kForEverNs = 3'600'000'000'000;

}  // namespace

Sleeper::Sleeper(int news_fd) noexcept
    : news_fd_(news_fd), wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Sleeper::~Sleeper() {
  end_watch();
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

void Sleeper::end_watch() noexcept {
  if (!std::exchange(has_thread_, false)) return;
  state_.store(kEnding, std::memory_order_release);
  os::futex_wake(state_, 1);
  is_woken_.store(true, std::memory_order_relaxed);  // as in `wake`
  (void)::eventfd_write(wake_fd_, 1);
  ::pthread_join(thread_, nullptr);
  state_.store(kIdle, std::memory_order_relaxed);  // nobody else looks
  clear();
}

void Sleeper::sleep(std::int64_t timeout_ns) noexcept {
  pollfd both[] = {{news_fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}};
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  (void)::ppoll(both, 2, &timeout, nullptr);
}

void Sleeper::wake() noexcept {
  // Relaxed: the descriptor carries the news, the flag only says that it does.
  if (!is_woken_.exchange(true, std::memory_order_relaxed)) (void)::eventfd_write(wake_fd_, 1);
}

void Sleeper::clear() noexcept {
  if (!is_woken_.exchange(false, std::memory_order_relaxed)) return;
  eventfd_t ignored;
  (void)::eventfd_read(wake_fd_, &ignored);
}

bool Sleeper::try_watch(transport::Transport& place) noexcept {
  if (!can_sleep()) return false;
  place_.store(&place, std::memory_order_relaxed);  // before W1
  // W1 (pairs with W2): the place is known before the thread watches.  Where it watches already, news that it
  // has seen end this sleep, which was announced before.
  if (state_.exchange(kWatching, std::memory_order_acq_rel) == kIdle) os::futex_wake(state_, 1);
  if (has_thread_) return true;
  has_thread_ = os::start_thread(&thread_, &run, this) == 0;
  return has_thread_;
}

void* Sleeper::run(void* sleeper) noexcept {
  static_cast<Sleeper*>(sleeper)->watch_for_ever();
  return nullptr;
}

void Sleeper::watch_for_ever() noexcept {
  for (;;) {
    const std::uint32_t state = state_.load(std::memory_order_acquire);  // W2
    if (state == kEnding) return;
    if (state == kIdle) {
      os::futex_wait(state_, kIdle, kForEverNs);
      continue;
    }
    pollfd both[] = {{news_fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}};
    if (::poll(both, 2, -1) <= 0) continue;
    // First idle, then the wake-up: a watch that begins between the two is a new one.
    std::uint32_t watching = kWatching;
    if (!state_.compare_exchange_strong(watching, kIdle, std::memory_order_acq_rel)) continue;
    place_.load(std::memory_order_relaxed)->wake();
  }
}

}  // namespace dunlin::transport::ofi
