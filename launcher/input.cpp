// Standard input of rank 0; see input.hpp.
#include "launcher/input.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

namespace dunlin::launcher {
namespace {

constexpr long kLookMs = 300;  // from a shell's "fg" until what is typed reaches rank 0

/// There is no background on a terminal that does not control this session (under setsid, "su -c").
bool is_foreground() noexcept {
  const pid_t group = ::tcgetpgrp(STDIN_FILENO);
  return group == ::getpgrp() || (group < 0 && errno == ENOTTY);
}

}  // namespace

Input::Input(EventLoop& loop) : loop_(loop) {}

Input::~Input() {
  if (is_terminal_watched_) loop_.forget(STDIN_FILENO);
  close_pipe();
}

int Input::open_for_rank0() {
  if (::isatty(STDIN_FILENO) != 1) return STDIN_FILENO;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return STDIN_FILENO;
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  pipe_ = ends[1];
  look();
  return ends[0];
}

bool Input::wants_terminal() const noexcept {
  return pipe_ >= 0 && !is_terminal_watched_ && !is_at_end_ && waiting_.empty();
}

long Input::wait_ms() const noexcept { return wants_terminal() ? kLookMs : -1; }

void Input::look() {
  if (wants_terminal() && is_foreground()) watch_terminal();
}

void Input::watch_terminal() {
  is_terminal_watched_ = loop_.try_watch(STDIN_FILENO, EPOLLIN, [this](std::uint32_t) { read_terminal(); });
}

void Input::read_terminal() {
  if (is_foreground()) {
    char block[4096];
    const ssize_t got = ::read(STDIN_FILENO, block, sizeof block);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;  // the latter: another process was faster
    if (got < 0 && errno == EIO && !is_foreground()) return;     // sent to the background meanwhile
    if (got <= 0) is_at_end_ = true;
    if (got > 0) waiting_.append(block, std::size_t(got));
    write_pipe();
    if (waiting_.empty() && !is_at_end_) return;
  }
  loop_.forget(STDIN_FILENO);
  is_terminal_watched_ = false;
}

void Input::write_pipe() {
  while (pipe_ >= 0 && !waiting_.empty()) {
    const ssize_t out = ::write(pipe_, waiting_.data(), waiting_.size());
    if (out < 0 && errno == EAGAIN) {
      if (!is_pipe_watched_)
        is_pipe_watched_ = loop_.try_watch(pipe_, EPOLLOUT, [this](std::uint32_t) { write_pipe(); });
      return;
    }
    if (out < 0) {  // rank 0 is gone or has closed its input
      waiting_.clear();
      is_at_end_ = true;
      break;
    }
    waiting_.erase(0, std::size_t(out));
  }
  if (is_at_end_) return close_pipe();
  if (is_pipe_watched_) loop_.forget(pipe_);
  is_pipe_watched_ = false;
  look();
}

void Input::close_pipe() {
  if (pipe_ < 0) return;
  loop_.forget(pipe_);
  is_pipe_watched_ = false;
  ::close(pipe_);
  pipe_ = -1;
}

}  // namespace dunlin::launcher
