// One collective under way in this process: its memory, its outstanding messages, its frames, its error.
//
// Made by coll/plan.hpp, used by tasks through `Cx` (coll/steps.hpp).  A run is blocking, then every step
// waits in place; or parked, then `advance` is called by progress until it answers that the run has ended.
// Thread safety: used under base/big_lock.hpp, which waits inside a blocking step give up.
#pragma once

#include <coroutine>
#include <cstdint>

#include "base/err.hpp"
#include "coll/arena.hpp"
#include "coll/region.hpp"
#include "protocol/requests.hpp"

namespace dunlin::progress {
class Engine;
}

namespace dunlin::coll {

class Run;

/// Of the tags of persistent operations: they live long, and are kept apart from those that wrap around.
inline constexpr std::int32_t kPersistent = 1 << 30;

/// The part of a coroutine's promise that needs no coroutine to be understood.
struct Frame {
  Frame(Run& run, std::coroutine_handle<> handle) noexcept;
  Run& run;
  const std::coroutine_handle<> handle;
  std::coroutine_handle<> parent;  // who awaits this one; empty until then
  Frame* const older;              // made before this one and not destroyed yet
};

/// What awaiting a step waits for: that all messages of the run are through, and its flags up.
struct Step {
  Run* run;
  inline bool await_ready() const noexcept;
  void await_suspend(std::coroutine_handle<> task) const noexcept;
  void await_resume() const noexcept {}
};

class Run {
 public:
  Run(progress::Engine& engine, bool is_blocking, std::byte* memory, std::size_t memory_bytes) noexcept
      : arena(memory, memory_bytes), engine(engine), is_blocking(is_blocking) {}
  /// The run must have ended.  All its tasks are done then and hold nothing, if it was right.
  ~Run() {
    if (leaf || error != Err::ok) [[unlikely]]
      destroy_frames();
  }

  Arena arena;
  progress::Engine& engine;
  const bool is_blocking;
  Err error = Err::ok;           // the first one; ends the run
  int where = 0;                 // source line of the last step, for the report of a hang
  std::coroutine_handle<> leaf;  // to be resumed when the step is ready
  Frame* newest = nullptr;       // all frames, youngest first

  void set_error(Err detected) noexcept {
    if (error == Err::ok) error = detected;
  }
  /// Of data that is not as long as this rank expects.  The run goes on, as other ranks wait for what it has
  /// still to give, and ends with this error.
  [[gnu::cold]] void note_wrong_length(Err detected) noexcept;
  /// After the last step: the error it ends with.
  Err conclude() noexcept {
    if (wrong_length_ != Err::ok) [[unlikely]]
      set_error(fail(wrong_length_, "%s", wrong_length_text_));
    return error;
  }

  /// Starts messages; they are through when `is_quiet`.  Ranks are those of `comm`.
  void post_send(Comm& comm, Plane plane, const Source& data, int to, int tag) noexcept;
  void post_receive(Comm& comm, Plane plane, const Target& data, int from, int tag) noexcept;
  /// The next step waits for these, too; after an error they may never go up.  `is_awaited`: other ranks wait
  /// for what this one does behind them.
  void await(const Flags& flags, const Comm& comm, const int* members, int tag,
             bool is_awaited = true) noexcept {
    if (flags.is_empty() || error != Err::ok) return;
    flags_ = flags;
    is_awaited_ = is_awaited;
    flags_comm_ = &comm;
    flags_members_ = members;
    flags_tag_ = tag;
  }
  /// Whether nothing has been begun since the last step that could be waited for.
  bool has_nothing_to_wait_for() const noexcept {
    return flags_.is_empty() && !sends_ && !receives_ && !is_deferred_ && error == Err::ok;
  }
  /// Whether nothing but flags is awaited.
  bool awaits_flags_only() const noexcept { return !flags_.is_empty() && !sends_ && !receives_; }
  /// Whether others may wait for what this rank does behind its present step.
  bool is_awaited() const noexcept { return is_awaited_ || !awaits_flags_only(); }
  /// Whether all messages are through and all flags up; notes errors.
  bool is_quiet() noexcept { return ((!sends_ && !receives_) || sweep()) && flags_.are_up(); }
  /// Waits in place until that is so.
  void wait() noexcept;
  /// Whether the run goes on at once; a blocking one waits first.
  bool is_step_ready() noexcept;
  /// What an outstanding message waits for, receives first: their source is the rank to look at; or a flag.
  void explain(WaitReason& reason) const noexcept;

  enum class Progress : std::uint8_t { idle, advanced, ended };
  /// Resumes what can be resumed.  After `ended`, `error` is the result, and `reset` may follow.
  Progress advance() noexcept;
  /// Destroys all frames and takes all memory back: ready for another round.
  void reset() noexcept {
    DUNLIN_ASSERT(!sends_ && !receives_ && !is_deferred_);
    if (leaf || error != Err::ok) [[unlikely]]
      destroy_frames();
    newest = nullptr;
    unused_sends_ = nullptr;
    unused_receives_ = nullptr;
    is_cancelled_ = false;
    wrong_length_ = Err::ok;
    error = Err::ok;
    arena.rewind();
  }

 private:
  template <class T>
  struct Operation {
    T request;
    Operation* next = nullptr;
  };
  using Send = Operation<protocol::SendRequest>;
  using Receive = Operation<protocol::ReceiveRequest>;

  struct Deferred {
    Comm* comm;
    Plane plane;
    Target data;
    int from, tag;
  };

  void start_receive(Comm& comm, Plane plane, const Target& data, int from, int tag) noexcept;
  void start_deferred() noexcept;
  void finish_deferred() noexcept;
  /// Of a run that an error has ended: some are suspended, and hold something.
  [[gnu::cold]] void destroy_frames() noexcept;
  void wait_for_flags() noexcept;
  bool sweep() noexcept;
  void cancel_all() noexcept;
  template <class T>
  Operation<T>* make(Operation<T>*& unused) noexcept;
  template <class T>
  void sweep(Operation<T>*& list, Operation<T>*& unused) noexcept;
  /// A message is through.
  void end(const protocol::SendRequest& send) noexcept;
  void end(const protocol::ReceiveRequest& receive) noexcept;

  // Of a blocking run: its first receive, not announced to matching yet.  If it is still the only one when
  // the run waits, it needs neither a request nor a queue.
  bool is_deferred_ = false;
  Deferred deferred_;
  Flags flags_;
  const Comm* flags_comm_ = nullptr;    // whose members raise them:
  const int* flags_members_ = nullptr;  // these ranks; null: all
  int flags_tag_ = 0;
  bool is_awaited_ = true;
  Send* sends_ = nullptr;  // outstanding
  Receive* receives_ = nullptr;
  Send* unused_sends_ = nullptr;  // memory of finished ones
  Receive* unused_receives_ = nullptr;
  bool is_cancelled_ = false;                // an error came: what can be taken back has been
  Err wrong_length_ = Err::ok;               // the first one noted, and
  const char* wrong_length_text_ = nullptr;  // its sentence, in the arena
};

inline Frame::Frame(Run& run, std::coroutine_handle<> handle) noexcept
    : run(run), handle(handle), older(run.newest) {
  run.newest = this;
}

inline bool Step::await_ready() const noexcept {
  return run->has_nothing_to_wait_for() || run->is_step_ready();
}
inline void Step::await_suspend(std::coroutine_handle<> task) const noexcept { run->leaf = task; }

}  // namespace dunlin::coll
