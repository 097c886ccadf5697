// Waits for descriptors and calls whoever asked; the only place where mpirun sleeps.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

namespace dunlin::launcher {

/// Thread safety: mpirun has one thread.
class EventLoop {
 public:
  using Handler = std::function<void(std::uint32_t events)>;

  EventLoop();
  EventLoop(const EventLoop&) = delete;
  ~EventLoop();

  /// Calls `handler` while `fd` has one of `events` (EPOLLIN, EPOLLOUT).  False for files that are always
  /// ready and cannot be waited for (regular files, /dev/null).
  bool try_watch(int fd, std::uint32_t events, Handler handler);
  /// Stops that; no effect when `fd` is not watched.  Before `fd` is closed.
  void forget(int fd);

  /// Waits once, at most `timeout_ms` (-1: without limit), and calls handlers; they may watch and forget any
  /// descriptor.  True when something happened.
  bool wait(int timeout_ms);

 private:
  int epoll_;
  std::unordered_map<int, Handler> handlers_;
};

}  // namespace dunlin::launcher
