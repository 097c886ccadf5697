// Standard output or standard error of mpirun; see sink.hpp.
#include "launcher/sink.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace dunlin::launcher {
namespace {

// A pipe that polls writable takes this much without blocking (PIPE_BUF).
constexpr std::size_t kBytesAtOnce = 4096;

bool can_be_polled(int fd) noexcept {
  struct stat status;
  return ::fstat(fd, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode);
}

/// A nonblocking description of the same pipe or terminal; -1 where there is none to be had.  Not of a file:
/// it would have a position of its own.
int open_again(int fd) noexcept {
  struct stat status;
  if (::fstat(fd, &status) != 0 || !(S_ISFIFO(status.st_mode) || ::isatty(fd) == 1)) return -1;
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  return ::open(name.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

}  // namespace

Sink::Sink(int fd, EventLoop& loop)
    : fd_(fd), loop_(loop), is_terminal_(::isatty(fd) == 1), is_always_ready_(!can_be_polled(fd)) {
  const int own = open_again(fd);
  is_own_ = own >= 0;
  if (is_own_) fd_ = own;
}

Sink::~Sink() {
  if (is_watched_) loop_.forget(fd_);
  if (is_own_) ::close(fd_);
}

void Sink::write(std::string_view text) {
  if (is_broken_) return;
  queue_.append(text);
  if (!is_watched_) write_some();
}

void Sink::write_some() {
  while (!is_empty()) {
    std::size_t bytes = queue_.size() - written_;
    if (!is_own_ && !is_always_ready_) {
      pollfd ready{fd_, POLLOUT, 0};
      if (::poll(&ready, 1, 0) == 0) return watch();
      bytes = std::min(bytes, kBytesAtOnce);
    }
    const ssize_t out = ::write(fd_, queue_.data() + written_, bytes);
    if (out < 0 && errno == EINTR) continue;
    if (out < 0 && errno == EAGAIN) return watch();
    if (out < 0) return fail(errno);
    written_ += std::size_t(out);
    taken_bytes_ += std::size_t(out);
  }
  queue_.clear();
  written_ = 0;
}

/// What waits is lost.  Without a reader nothing can come after it; a full disk may have room again later.
void Sink::fail(int error) {
  is_broken_ = error == EPIPE;
  queue_.clear();
  written_ = 0;
  if (error_ != 0) return;
  error_ = error;
  if (on_error) on_error();
}

void Sink::watch() {
  // Move the rest to the front now and then, so that the queue does not grow with what is out already.
  if (written_ > kQueueBytesMax) {
    queue_.erase(0, written_);
    written_ = 0;
  }
  if (is_watched_) return;
  is_watched_ = loop_.try_watch(fd_, EPOLLOUT, [this](std::uint32_t) {
    const bool was_full = is_full();
    write_some();
    if (is_empty()) {
      loop_.forget(fd_);
      is_watched_ = false;
    }
    if ((was_full && !is_full()) || is_broken_)
      if (on_room) on_room();
  });
  is_always_ready_ = is_always_ready_ || !is_watched_;
}

}  // namespace dunlin::launcher
