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

/// Rules.  A line is held back until its end, however long (up to 16 MiB: then it goes out in pieces).
/// What a rank leaves without a line end when it ends goes out as it is.  On a terminal an unfinished line
/// of rank 0 is shown after 100 ms of silence, since it may be a question.  A terminal is given to ranks as
/// a terminal, so that C programs flush their lines.  A job of one rank without tags writes straight to
/// mpirun's descriptors.
class Output {
 public:
  Output(EventLoop& loop, int ranks, bool is_tagged);
  ~Output();

  /// What a new rank should get as its descriptors 1 and 2; the caller closes them after the start if they
  /// are above 2.
  int open_stdout(int rank);
  int open_stderr(int rank);

  /// Reads what a rank has written so far; after its end that is everything.
  void drain(int rank);
  /// A line of mpirun's own on standard error ("mpirun: " is put before it).
  void say(const std::string& text);
  /// True while a rank's question may have to be shown after kQuestionMs of silence; then call show_question.
  static constexpr int kQuestionMs = 100;
  bool has_question() const noexcept;
  void show_question();
  /// True when every stream has come to its end (nobody can write any more).
  bool is_over() const noexcept { return open_streams_ == 0; }
  /// Writes out everything that is left; waits for slow readers at most `timeout_ms` each time.
  void finish(int timeout_ms);

 private:
  struct Stream {
    int rank = 0;
    int fd = -1;
    Sink* sink = nullptr;
    std::string held;  // an unfinished line
    bool is_watched = false;
  };

  int add_stream(int rank, Sink& sink, const int ends[2]);
  void watch(Stream& stream);
  bool read_some(Stream& stream);
  void take(Stream& stream, std::string_view text);
  void emit(Stream& stream, std::string_view text);
  void close(Stream& stream);
  void resume(Sink& sink);

  EventLoop& loop_;
  int ranks_;
  bool is_tagged_;
  int open_streams_ = 0;
  std::unique_ptr<Sink> out_, err_;  // err_ is null when both descriptors are the same file
  Sink* stdout_;
  Sink* stderr_;
  std::vector<std::unique_ptr<Stream>> streams_;  // in the order of their start: two for each rank
};

}  // namespace dunlin::launcher
