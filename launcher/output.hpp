// Standard output and standard error of the ranks: read from each rank's pipes, cut into lines, and written
// by whole lines, so that lines of two ranks never mix.  Used by supervisor.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/event_loop.hpp"
#include "launcher/sink.hpp"

namespace dunlin::launcher {

/// Rules.  A line is held back until its end (up to 16 MiB: then it goes out in pieces), but not for longer
/// than 100 ms: it may be a question or a row of dots.  While such a line is unfinished, on a terminal or
/// with tags lines of other ranks begin on a new line.  Elsewhere the output stays the program's own byte by
/// byte: there other ranks wait up to two seconds for the line's end, then follow right behind.  A terminal
/// is given to ranks as a terminal, so that C programs flush their lines.  A job of one rank without tags
/// writes straight to mpirun's descriptors.
class Output {
 public:
  Output(EventLoop& loop, int ranks, bool is_tagged);
  ~Output();

  /// What a new rank should get as its descriptors 1 and 2; the caller closes them after the start if they
  /// are above 2.
  int open_stdout(int rank);
  /// Where both go to the same place, they are one stream, so that their order is kept.
  int open_stderr(int rank, int its_stdout);

  /// Ranks' terminals get the size of mpirun's, which has changed.
  void follow_size();
  /// Reads what a rank has written so far; after its end that is everything.
  void drain(int rank);
  /// A line of mpirun's own on standard error ("mpirun: " is put before it).
  void say(const std::string& text);
  /// Milliseconds until `show_unfinished` has something to do; -1: nothing is held back.
  long wait_ms() const noexcept;
  /// Shows the lines that have been held back long enough.
  void show_unfinished();
  /// True when every stream has come to its end (nobody can write any more).
  bool is_over() const noexcept { return open_streams_ == 0; }
  /// After the end of all who write: passes on what has room; true when nothing is left.
  bool try_finish();
  /// Grows with every byte that a reader takes.
  std::size_t taken_bytes() const noexcept;
  /// Says how much nobody has read.
  void give_up();
  /// 0, or mpirun's exit code where something that a rank wrote did not reach its place.
  int exit_code() const noexcept;

 private:
  struct Stream {
    int rank = 0;
    int fd = -1;
    Sink* sink = nullptr;
    std::string held;     // not passed on yet
    long held_at_ms = 0;  // when it came; 0: nothing is held
    bool is_watched = false;
  };

  bool writes_itself(const Sink& sink) const noexcept;
  int add_stream(int rank, Sink& sink, const int ends[2]);
  void watch(Stream& stream);
  bool read_some(Stream& stream);
  void take(Stream& stream, std::string_view text);
  void pass_on(Stream& stream, std::size_t bytes);
  bool breaks_lines(const Sink& sink) const noexcept { return is_tagged_ || sink.is_terminal(); }
  bool is_line_free(const Stream& stream) const noexcept;
  std::string tagged(const Stream& stream, std::string_view text) const;
  void close(Stream& stream);
  void resume(Sink& sink);
  void hold(Stream& stream);

  EventLoop& loop_;
  int ranks_;
  bool is_tagged_;
  int open_streams_ = 0;
  long show_at_ms_ = 0;              // when `show_unfinished` should look next; 0: nothing is held
  std::unique_ptr<Sink> out_, err_;  // err_ is null when both descriptors are the same file
  Sink* stdout_;
  Sink* stderr_;
  std::vector<std::unique_ptr<Stream>> streams_;  // in the order of their start: two for each rank
};

}  // namespace dunlin::launcher
