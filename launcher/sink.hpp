// One place that output goes to: mpirun's standard output or standard error.  Fed by output.cpp.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "launcher/event_loop.hpp"

namespace dunlin::launcher {

/// Never blocks mpirun, however slow the reader is: what cannot be written waits here, and a sink that is
/// full makes output.cpp stop reading from the ranks.  The descriptor is shared with the shell and others,
/// so it is not made nonblocking: a pipe or terminal is opened once more for that.  Where that is refused
/// (sockets, another user's terminal), the descriptor is asked before each write.
class Sink {
 public:
  Sink(int fd, EventLoop& loop);
  ~Sink();
  Sink(const Sink&) = delete;

  bool is_terminal() const noexcept { return is_terminal_; }
  void write(std::string_view text);
  bool is_full() const noexcept { return queue_.size() - written_ > kQueueBytesMax; }
  bool is_empty() const noexcept { return queue_.size() == written_; }
  std::size_t waiting_bytes() const noexcept { return queue_.size() - written_; }
  /// The reader has gone; everything written is dropped.
  bool is_broken() const noexcept { return is_broken_; }
  /// The errno of the first write that failed, 0 when none did: then output is lost.
  int error() const noexcept { return error_; }
  /// Grows with every byte that a reader takes.
  std::size_t taken_bytes() const noexcept { return taken_bytes_; }

  /// Called when a full sink has room again.
  std::function<void()> on_room;
  /// Called at the first write that fails.
  std::function<void()> on_error;
  /// Whose line is unfinished at the end of what was written (any address, null for nobody), and since when.
  const void* unfinished_line_of = nullptr;
  std::int64_t unfinished_since_ms = 0;

 private:
  static constexpr std::size_t kQueueBytesMax = std::size_t{1} << 20;  // reading stops above; bounds memory
  void write_some();
  void fail(int error);
  void watch();

  int fd_;  // a description of our own where one could be opened
  EventLoop& loop_;
  std::string queue_;
  std::size_t written_ = 0;  // bytes of queue_ that are out
  std::size_t taken_bytes_ = 0;
  int error_ = 0;
  bool is_terminal_;
  bool is_own_ = false;           // fd_ is ours, nonblocking
  bool is_always_ready_ = false;  // regular files: the kernel has no way to wait for them
  bool is_watched_ = false;
  bool is_broken_ = false;
};

}  // namespace dunlin::launcher
