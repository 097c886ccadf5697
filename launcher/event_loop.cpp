// Waiting for descriptors; see event_loop.hpp.
#include "launcher/event_loop.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "launcher/give_up.hpp"

namespace dunlin::launcher {

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) give_up("wait for several files at once (epoll_create1)");
}

EventLoop::~EventLoop() { ::close(epoll_); }

bool EventLoop::try_watch(int fd, std::uint32_t events, Handler handler) {
  DUNLIN_ASSERT(fd >= 0);
  DUNLIN_ASSERT(!handlers_.contains(fd));
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) return false;
  handlers_.emplace(fd, std::move(handler));
  return true;
}

void EventLoop::forget(int fd) {
  if (handlers_.erase(fd) > 0) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

bool EventLoop::wait(int timeout_ms) {
  epoll_event events[64];
  const int count = ::epoll_wait(epoll_, events, 64, timeout_ms);
  for (int i = 0; i < count; ++i) {
    const auto found = handlers_.find(events[i].data.fd);
    if (found == handlers_.end()) continue;  // forgotten by a handler before this one
    const Handler handler = found->second;   // a copy: the handler may forget itself
    handler(events[i].events);
  }
  return count > 0;
}

}  // namespace dunlin::launcher
