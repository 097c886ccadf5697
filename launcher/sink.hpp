// One place that output goes to: mpirun's standard output or standard error.  Fed by output.cpp.
#pragma once

#include <string>
#include <string_view>

#include "launcher/event_loop.hpp"

namespace dunlin::launcher {

/// Never blocks mpirun, however slow the reader is: what cannot be written waits here, and a sink that is
/// full makes output.cpp stop reading from the ranks.  The descriptor is shared with the shell and others,
/// so it is not made nonblocking; it is asked before each write instead.
class Sink {
 public:
  Sink(int fd, EventLoop& loop);
  ~Sink();
  Sink(const Sink&) = delete;

  int fd() const noexcept { return fd_; }
  bool is_terminal() const noexcept { return is_terminal_; }
  void write(std::string_view text);
  bool is_full() const noexcept { return queue_.size() - written_ > kQueueBytesMax; }
  bool is_empty() const noexcept { return queue_.size() == written_; }
  /// The reader is gone; everything written is dropped.
  bool is_broken() const noexcept { return is_broken_; }
  /// Writes what is left, waiting at most `timeout_ms` for the reader.
  void finish(int timeout_ms);

  /// Called when a full sink has room again.
  std::function<void()> on_room;
  /// Whose line is unfinished at the end of what was written (any address, null for nobody).
  const void* unfinished_line_of = nullptr;

 private:
  static constexpr std::size_t kQueueBytesMax = std::size_t{1} << 20;  // reading stops above; bounds memory
  void write_some();
  void watch();

  int fd_;
  EventLoop& loop_;
  std::string queue_;
  std::size_t written_ = 0;  // bytes of queue_ that are out
  bool is_terminal_;
  bool is_always_ready_ = false;  // regular files: the kernel has no way to wait for them
  bool is_watched_ = false;
  bool is_broken_ = false;
};

}  // namespace dunlin::launcher
