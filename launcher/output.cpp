// Output of the ranks by whole lines; see output.hpp.
#include "launcher/output.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/assert.hpp"

namespace dunlin::launcher {
namespace {

constexpr std::size_t kLineBytesMax = std::size_t{16} << 20;

bool is_same_file(int a, int b) noexcept {
  struct stat first, second;
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino && first.st_rdev == second.st_rdev;
}

/// A terminal of its own for a rank: (our end, its end), passing bytes on unchanged.  False when there is
/// none left.
bool try_open_terminal(int ends[2], int like) noexcept {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0) return false;
  int slave = -1;
  if (::grantpt(master) == 0 && ::unlockpt(master) == 0)
    slave = ::ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) {
    ::close(master);
    return false;
  }
  termios mode;
  if (::tcgetattr(slave, &mode) == 0) {
    ::cfmakeraw(&mode);
    ::tcsetattr(slave, TCSANOW, &mode);
  }
  winsize size;
  if (::ioctl(like, TIOCGWINSZ, &size) == 0) ::ioctl(slave, TIOCSWINSZ, &size);
  ends[0] = master;
  ends[1] = slave;
  return true;
}

}  // namespace

Output::Output(EventLoop& loop, int ranks, bool is_tagged)
    : loop_(loop), ranks_(ranks), is_tagged_(is_tagged) {
  out_ = std::make_unique<Sink>(STDOUT_FILENO, loop);
  if (!is_same_file(STDOUT_FILENO, STDERR_FILENO)) err_ = std::make_unique<Sink>(STDERR_FILENO, loop);
  stdout_ = out_.get();
  stderr_ = err_ ? err_.get() : out_.get();
  for (Sink* sink : {out_.get(), err_.get()})
    if (sink) sink->on_room = [this, sink] { resume(*sink); };
}

Output::~Output() {
  for (const auto& stream : streams_)
    if (stream->fd >= 0) close(*stream);
}

int Output::open_stdout(int rank) {
  if (ranks_ == 1 && !is_tagged_) return STDOUT_FILENO;
  int ends[2];
  if (stdout_->is_terminal() && try_open_terminal(ends, STDOUT_FILENO))
    return add_stream(rank, *stdout_, ends);
  return ::pipe2(ends, O_CLOEXEC) == 0 ? add_stream(rank, *stdout_, ends) : -1;
}

int Output::open_stderr(int rank) {
  if (ranks_ == 1 && !is_tagged_) return STDERR_FILENO;
  int ends[2];
  return ::pipe2(ends, O_CLOEXEC) == 0 ? add_stream(rank, *stderr_, ends) : -1;
}

int Output::add_stream(int rank, Sink& sink, const int ends[2]) {
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  auto stream = std::make_unique<Stream>();
  stream->rank = rank;
  stream->fd = ends[0];
  stream->sink = &sink;
  watch(*stream);
  streams_.push_back(std::move(stream));
  ++open_streams_;
  return ends[1];
}

void Output::watch(Stream& stream) {
  stream.is_watched = loop_.try_watch(stream.fd, EPOLLIN, [this, &stream](std::uint32_t) {
    read_some(stream);
    if (stream.fd >= 0 && stream.sink->is_full()) {  // back-pressure: the rank waits in its write
      loop_.forget(stream.fd);
      stream.is_watched = false;
    }
  });
}

void Output::resume(Sink& sink) {
  for (const auto& stream : streams_) {
    if (stream->sink != &sink || stream->fd < 0) continue;
    if (sink.is_broken())
      close(*stream);  // the reader is gone: ranks get SIGPIPE, as they would without mpirun
    else if (!stream->is_watched)
      watch(*stream);
  }
}

/// One read; false when there is nothing (more) to read now.
bool Output::read_some(Stream& stream) {
  char block[65536];
  const ssize_t got = ::read(stream.fd, block, sizeof block);
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && errno == EAGAIN) return false;
  if (got > 0) take(stream, {block, std::size_t(got)});
  if (got <= 0 || stream.sink->is_broken()) {  // EIO is the end of a terminal
    close(stream);
    return false;
  }
  return true;
}

void Output::take(Stream& stream, std::string_view text) {
  const std::size_t end = text.rfind('\n');
  if (end == std::string_view::npos) {
    stream.held.append(text);
    if (stream.held.size() > kLineBytesMax) {
      emit(stream, stream.held);
      stream.held.clear();
    }
    return;
  }
  stream.held.append(text.substr(0, end + 1));
  emit(stream, stream.held);
  stream.held.assign(text.substr(end + 1));
}

void Output::emit(Stream& stream, std::string_view text) {
  Sink& sink = *stream.sink;
  if (text.empty()) return;
  if (sink.unfinished_line_of && sink.unfinished_line_of != &stream) {
    sink.write("\n");
    sink.unfinished_line_of = nullptr;
  }
  if (!is_tagged_) {
    sink.write(text);
  } else {
    const std::string tag = '[' + std::to_string(stream.rank) + "] ";
    std::string tagged;
    bool is_at_start = sink.unfinished_line_of == nullptr;
    for (std::string_view rest = text; !rest.empty(); is_at_start = true) {
      const std::string_view line =
          rest.substr(0, rest.find('\n') + 1);  // all of it when there is no line end
      const std::string_view part = line.empty() ? rest : line;
      if (is_at_start) tagged += tag;
      tagged += part;
      rest.remove_prefix(part.size());
    }
    sink.write(tagged);
  }
  sink.unfinished_line_of = text.back() == '\n' ? nullptr : &stream;
}

void Output::close(Stream& stream) {
  emit(stream, stream.held);
  stream.held.clear();
  loop_.forget(stream.fd);
  ::close(stream.fd);
  stream.fd = -1;
  --open_streams_;
}

void Output::drain(int rank) {
  for (const auto& stream : streams_) {
    if (stream->rank != rank) continue;
    while (stream->fd >= 0 && !stream->sink->is_full() && read_some(*stream)) {
    }
  }
}

void Output::say(const std::string& text) {
  if (stderr_->unfinished_line_of) stderr_->write("\n");
  stderr_->unfinished_line_of = nullptr;
  stderr_->write("mpirun: " + text + "\n");
}

bool Output::has_question() const noexcept {
  for (const auto& stream : streams_)
    if (stream->rank == 0 && !stream->held.empty() && stream->sink->is_terminal()) return true;
  return false;
}

void Output::show_question() {
  for (const auto& stream : streams_) {
    if (stream->rank != 0 || !stream->sink->is_terminal()) continue;
    emit(*stream, stream->held);
    stream->held.clear();
  }
}

void Output::finish(int timeout_ms) {
  for (const auto& stream : streams_) {
    while (stream->fd >= 0 && read_some(*stream))
      if (stream->sink->is_full()) stream->sink->finish(timeout_ms);
    if (stream->fd >= 0) close(*stream);
  }
  stdout_->finish(timeout_ms);
  stderr_->finish(timeout_ms);
}

}  // namespace dunlin::launcher
