// Output of the ranks by whole lines; see output.hpp.
#include "launcher/output.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/assert.hpp"
#include "launcher/clock.hpp"

namespace dunlin::launcher {
namespace {

constexpr std::size_t kLineBytesMax = std::size_t{16} << 20;  // a longer one is not kept whole
constexpr std::size_t kHeldBytesMax = std::size_t{64} << 20;  // of all ranks
constexpr long kUnfinishedMs = 100;  // a line without end is shown then
constexpr long kPatienceMs = 2000;   // other ranks wait so long for the end of a line that is shown

bool is_same_file(int a, int b) noexcept {
  struct stat first, second;
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino && first.st_rdev == second.st_rdev;
}

void copy_size(int from, int to) noexcept {
  winsize size;
  if (::ioctl(from, TIOCGWINSZ, &size) == 0) ::ioctl(to, TIOCSWINSZ, &size);
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
  copy_size(like, slave);
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
  if (err_)
    out_->on_error = [this] {
      say(std::string("cannot write standard output: ") + std::strerror(out_->error()) + "; output is lost");
    };
}

Output::~Output() {
  for (const auto& stream : streams_)
    if (stream->fd >= 0) close(*stream);
}

/// Not to a terminal: it stops whoever writes to it from another group than mpirun's (stty tostop).
bool Output::writes_itself(const Sink& sink) const noexcept {
  return ranks_ == 1 && !is_tagged_ && !sink.is_terminal();
}

int Output::open_stdout(int rank) {
  if (writes_itself(*stdout_)) return STDOUT_FILENO;
  int ends[2];
  if (stdout_->is_terminal() && try_open_terminal(ends, STDOUT_FILENO))
    return add_stream(rank, *stdout_, ends);
  return ::pipe2(ends, O_CLOEXEC) == 0 ? add_stream(rank, *stdout_, ends) : -1;
}

int Output::open_stderr(int rank, int its_stdout) {
  if (writes_itself(*stderr_)) return STDERR_FILENO;
  if (stderr_ == stdout_) return ::fcntl(its_stdout, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
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

void Output::follow_size() {
  for (const auto& stream : streams_)
    if (stream->fd >= 0 && stream->sink->is_terminal()) copy_size(STDOUT_FILENO, stream->fd);
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
  static char block[65536];  // one thread, and the stack may be small
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
  stream.held.append(text);
  const bool is_its_line = stream.sink->unfinished_line_of == &stream;
  if (is_its_line || stream.held.size() > std::min(kLineBytesMax, kHeldBytesMax / std::size_t(ranks_)))
    pass_on(stream, stream.held.size());
  else if (is_line_free(stream))
    pass_on(stream, stream.held.rfind('\n') + 1);
  else
    hold(stream);
}

/// Notes when what is held came, if it is new.
void Output::hold(Stream& stream) {
  if (stream.held_at_ms == 0) stream.held_at_ms = now_ms();
  if (show_at_ms_ == 0) show_at_ms_ = stream.held_at_ms + kUnfinishedMs;
}

/// Whether text of this stream may follow what its sink has got last.
bool Output::is_line_free(const Stream& stream) const noexcept {
  const Sink& sink = *stream.sink;
  return !sink.unfinished_line_of || sink.unfinished_line_of == &stream || breaks_lines(sink) ||
         now_ms() >= sink.unfinished_since_ms + kPatienceMs;
}

/// Hands the first bytes that are held to the sink; none is right, too.
void Output::pass_on(Stream& stream, std::size_t bytes) {
  Sink& sink = *stream.sink;
  if (bytes > 0) {
    const std::string_view text(stream.held.data(), bytes);
    const bool has_line_end = text.find('\n') != std::string_view::npos;
    const bool is_behind_another = sink.unfinished_line_of && sink.unfinished_line_of != &stream;
    // Dots of several ranks may share a line of a terminal; whole lines and tags may not.
    if (is_behind_another && breaks_lines(sink) && (has_line_end || is_tagged_)) {
      sink.write("\n");
      sink.unfinished_line_of = nullptr;
    }
    if (is_tagged_)
      sink.write(tagged(stream, text));
    else
      sink.write(text);
    sink.unfinished_line_of = text.back() == '\n' ? nullptr : &stream;
    sink.unfinished_since_ms = now_ms();
    stream.held.erase(0, bytes);
    stream.held_at_ms = 0;
  }
  if (!stream.held.empty()) hold(stream);
}

std::string Output::tagged(const Stream& stream, std::string_view text) const {
  const std::string tag = '[' + std::to_string(stream.rank) + "] ";
  std::string lines;
  bool is_at_start = stream.sink->unfinished_line_of == nullptr;
  for (std::string_view rest = text; !rest.empty(); is_at_start = true) {
    const std::size_t bytes = std::min(rest.find('\n'), rest.size() - 1) + 1;
    if (is_at_start) lines += tag;
    lines += rest.substr(0, bytes);
    rest.remove_prefix(bytes);
  }
  return lines;
}

/// What is held stays until its line is free.
void Output::close(Stream& stream) {
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

long Output::wait_ms() const noexcept { return show_at_ms_ == 0 ? -1 : std::max(0L, show_at_ms_ - now_ms()); }

void Output::show_unfinished() {
  const long now = now_ms();
  if (show_at_ms_ == 0 || now < show_at_ms_) return;
  show_at_ms_ = 0;
  for (const auto& stream : streams_) {
    if (stream->held.empty()) continue;
    const bool is_due = stream->fd < 0 || now >= stream->held_at_ms + kUnfinishedMs;
    if (is_line_free(*stream)) pass_on(*stream, is_due ? stream->held.size() : stream->held.rfind('\n') + 1);
    if (!stream->held.empty()) show_at_ms_ = now + kUnfinishedMs / 2;
  }
}

bool Output::try_finish() {
  for (const auto& stream : streams_) {
    while (stream->fd >= 0 && !stream->sink->is_full())
      if (!read_some(*stream) && stream->fd >= 0) close(*stream);
    if (stream->fd < 0 && !stream->held.empty()) pass_on(*stream, stream->held.size());
  }
  return is_over() && stdout_->is_empty() && stderr_->is_empty();
}

void Output::give_up() {
  const std::size_t bytes = stdout_->waiting_bytes() + (err_ ? err_->waiting_bytes() : 0);
  if (stderr_->is_empty()) say(std::to_string(bytes) + " bytes of output are lost: nobody read them");
}

int Output::exit_code() const noexcept {
  for (const Sink* sink : {stdout_, stderr_})
    if (sink->error() != 0) return sink->error() == EPIPE ? 128 + SIGPIPE : 1;
  return 0;
}

std::size_t Output::taken_bytes() const noexcept {
  return out_->taken_bytes() + (err_ ? err_->taken_bytes() : 0);
}

}  // namespace dunlin::launcher
