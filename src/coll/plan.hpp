// One algorithm text, three calling modes (ARCHITECTURE.md, idea 2):
//
//   blocking      run(cx, arguments)                      a run on the stack, every step waits in place
//   nonblocking   begin(cx, arguments, &request)          a run inside a request that progress resumes;
//                 begin_call(comm, ...)                   also while the program computes
//                 (progress/helper.hpp)
//   persistent    prepare(cx, arguments, &request)        the same, started again on the same memory by
//   MPI_Start
//
// `arguments` is a trivially copyable struct of the caller:
//
//   struct Bcast {
//     Block block; int root;
//     static constexpr const char* kName = "broadcast";     // for the report of a hang
//     static constexpr Collective kCall = Collective::bcast;  // optional: the program's call
//     Task start(Cx cx) const noexcept;                     // chooses the algorithm and starts it
//     Held held() const noexcept;                           // what a request must keep alive
//     Agreement agreement(const Cx&) const noexcept;        // optional: what all ranks must give alike; of
//                                                           // calls that may go by domains
//     bool has_arrays() const noexcept;                     // optional, with the next: whether it names
//     void own_arrays(OwnArrays&, const Cx&) noexcept;      // arrays of the program, which this copies
//   };
//
// Used by data_movement.cpp and reductions.cpp for the chapter's calls and by comm/ for the agreements that
// make communicators: there `start` may be any coroutine over the tasks of coll/algorithms, which writes its
// result through pointers in its arguments. A place to do it on is `everywhere(comm)`, or a hand-made Cx for
// a group inside a communicator (`members`).
#pragma once

#include <array>
#include <string>

#include "base/big_lock.hpp"
#include "coll/steps.hpp"
#include "coll/task.hpp"
#include "object/collective_call.hpp"
#include "object/request.hpp"
#include "op/op.hpp"
#include "progress/engine.hpp"
#include "progress/helper.hpp"

namespace dunlin::coll {

/// All ranks of `comm`, with the next collective's tag.
Cx everywhere(Comm& comm) noexcept;

/// Objects that must live until a nonblocking collective is complete, a persistent one is freed.
struct Held {
  std::array<const Object*, 3> objects{};  // may be null
  const MPI_Datatype* types[2] = {};       // arrays of the program, unchanged meanwhile
  int type_counts[2] = {};                 // of each array
  void retain() const noexcept {
    const auto keep = [](const Object* each) {
      if (each) const_cast<Object*>(each)->retain();
    };
    keep(objects[0]), keep(objects[1]), keep(objects[2]);  // no loop: most are known to be null
    if (types[0] || types[1]) [[unlikely]]
      retain_types();
  }
  void release() const noexcept {
    const auto let_go = [](const Object* each) {
      if (each) const_cast<Object*>(each)->release();
    };
    let_go(objects[0]), let_go(objects[1]), let_go(objects[2]);
    if (types[0] || types[1]) [[unlikely]]
      release_types();
  }

 private:
  void retain_types() const noexcept;
  void release_types() const noexcept;
};

/// What all ranks must give to a collective in the same way; compared with DUNLIN_CHECK=collectives.
struct Agreement {
  std::int64_t bytes = -1;      // of the block that they share out or combine; -1: they may differ
  std::uint64_t signature = 0;  // of its elements, see `same`
  std::int32_t operation = -1;  // handle of a predefined operator; 0: a program's function; -1: there is none
  std::int32_t number = 0;      // of the collective, from 1
  CollectiveCall call = {};
  char unused[6] = {};

  /// All give a block of as many elements of the same sort.
  static Agreement same(const Block& block) noexcept;
  static Agreement same(const Block& block, const Op& op) noexcept;
};

extern const bool are_collectives_checked;
/// Says in what a rank's left neighbor differs.
Err compare(const Cx& cx, const Agreement& mine, const Agreement& theirs) noexcept;

/// Compares with the neighbors first: whoever differs has one that differs from it.
template <class Arguments>
Task checked(Cx cx, Arguments arguments) {
  Agreement mine = arguments.agreement(cx), theirs;
  mine.number = (cx.tag & ~kPersistent) + 1;
  mine.call = cx.comm->recent_collectives[unsigned(cx.tag) % kCallsRemembered];
  const Source out{reinterpret_cast<const std::byte*>(&mine), sizeof mine, nullptr, 0};
  const Target in{reinterpret_cast<std::byte*>(&theirs), sizeof theirs, nullptr, 0};
  co_await cx.sendrecv(out, cx.wrapped(cx.rank + 1), in, cx.wrapped(cx.rank - 1));
  if (const Err error = compare(cx, mine, theirs); error != Err::ok) co_return error;
  // Turns of shared memory are taken in the order of calls, and other calls have come meanwhile.
  co_await arguments.start(cx.apart());
  co_return Err::ok;
}

/// Memory for frames and messages, beyond which it comes from the heap: on the stack of a blocking call,
/// enough for a short gatherv of 16 ranks; in a request, for the common short collectives.
inline constexpr std::size_t kBlockingPlanBytes = 4096, kPlanBytes = 1536;

/// Remembers the call for the report of ranks that call different collectives.
template <class Arguments>
void note_call(const Cx& cx, const Arguments& arguments, bool is_nonblocking) noexcept {
  if constexpr (requires { Arguments::kCall; }) {
    int root = -1;
    if constexpr (requires { arguments.root; })
      if (!cx.comm->is_inter()) root = arguments.root;
    cx.comm->recent_collectives[unsigned(cx.tag) % kCallsRemembered] =
        CollectiveCall::of(Arguments::kCall, is_nonblocking, root);
  }
}

/// Over several domains: a call has two turns of its rank's domain, however many its algorithm takes.  That
/// depends on lengths, and ranks that give different ones would meet each other's later collectives for ever.
template <class Arguments>
Task in_domains(Cx cx, Arguments arguments) {
  const Reservation first = cx.reserve(), second = cx.reserve();
  cx.number = first.number();
  co_await arguments.start(cx);
  co_await cx.until(first.can_leave());
  first.leave();
  co_await cx.until(second.can_leave());
  second.leave();
  co_return Err::ok;
}

/// Chooses the algorithm and starts it, where DUNLIN_CHECK=collectives asks for it after a comparison.
template <class Arguments>
Task start(const Cx& cx, const Arguments& arguments) noexcept {
  if constexpr (requires { arguments.agreement(cx); }) {
    if (are_collectives_checked && cx.size > 1 && !cx.comm->is_inter()) [[unlikely]]
      return checked(cx, arguments);
    if (cx.hierarchy && cx.region) [[unlikely]]
      return in_domains(cx, arguments);
  }
  return arguments.start(cx);
}

template <class Arguments>
Err run_steps(Cx cx, const Arguments& arguments) noexcept {
  alignas(16) std::byte memory[kBlockingPlanBytes];
  Run run(*cx.comm->engine, true, memory, sizeof memory);
  cx.run = &run;
  (void)coll::start(cx, arguments);
  if (run.error != Err::ok) [[unlikely]]
    run.wait();
  return run.conclude();
}

/// Whether it has an operator of the program's.
template <class Arguments>
bool calls_program(const Arguments& arguments) noexcept {
  if constexpr (requires { arguments.r.op; }) return !arguments.r.op->is_predefined();
  return false;
}

template <class Arguments>
Err run(const Cx& cx, const Arguments& arguments) noexcept {
  note_call(cx, arguments, false);
  // Threads may free what the program's arrays name, and its operator itself and its datatype.
  const bool are_kept = BigLock::has_threads() || calls_program(arguments);
  if (are_kept) [[unlikely]]
    arguments.held().retain();
  const Err error = run_steps(cx, arguments);
  if (are_kept) [[unlikely]]
    arguments.held().release();
  return error;
}

/// A run that outlives its call, with its first memory.
struct LastingRun : Pooled {
  explicit LastingRun(progress::Engine& engine) noexcept : run(engine, false, memory, sizeof memory) {}
  Run run;
  alignas(16) std::byte memory[kPlanBytes];
};

/// What nonblocking and persistent collectives share.
class CollectiveRequest : public Request, public progress::Pollable {
 public:
  Err begin_round() noexcept override;
  /// Its run has been started.
  void go_on() noexcept;
  bool wants_help() const noexcept override {
    return !is_complete && !calls_program_ && run_->run.is_awaited();
  }
  void look_first() noexcept override {
    if (run_->run.awaits_flags_only()) run_->run.engine.poll_alone(*this);
  }
  Outcome poll() noexcept override;
  void explain(WaitReason& reason) const noexcept override;
  /// After an error: its sentence is told to the thread that asks, which need not be the one that found it.
  Err query(void* status) noexcept override;

 protected:
  /// `calls_program`: its operator is a function of the program's.
  CollectiveRequest(const Cx& cx, LastingRun* run, const char* name, bool calls_program) noexcept;
  ~CollectiveRequest() override {
    delete run_;
    if (cx_.region && cx_.track > 0) cx_.region->give_back_track(cx_.track);
  }
  virtual void start_task(const Cx& cx) noexcept = 0;

 private:
  LastingRun* const run_;  // owned
  Cx cx_;
  const char* const name_;
  const bool calls_program_;
  std::string error_text_;
};

/// Whether it names arrays of the program's.
template <class Arguments>
bool has_arrays(const Arguments& arguments) noexcept {
  constexpr bool owns_arrays = requires(Arguments a, OwnArrays& arrays, Cx cx) { a.own_arrays(arrays, cx); };
  if constexpr (owns_arrays)
    return arguments.has_arrays();
  else
    return false;
}

template <class Arguments>
class CollectiveRequestOf final : public CollectiveRequest {
 public:
  CollectiveRequestOf(const Cx& cx, LastingRun* run, const Arguments& arguments) noexcept
      : CollectiveRequest(cx, run, Arguments::kName, calls_program(arguments)), arguments_(arguments) {
    if constexpr (requires { arguments_.own_arrays(arrays_, cx); })
      if (arguments.has_arrays()) arguments_.own_arrays(arrays_, cx);
    arguments_.held().retain();
  }

 private:
  ~CollectiveRequestOf() override { arguments_.held().release(); }
  void start_task(const Cx& cx) noexcept override { (void)coll::start(cx, arguments_); }
  OwnArrays arrays_;
  Arguments arguments_;
};

template <class Arguments>
Err begin(const Cx& cx, const Arguments& arguments, Request** request) noexcept {
  note_call(cx, arguments, true);
  auto* made = new CollectiveRequestOf<Arguments>(cx, new LastingRun(*cx.comm->engine), arguments);
  *request = made;
  return made->begin_round();
}

/// Without a request of its own where it is over at once, as for the last member to arrive.  Not for those
/// that keep copies of arrays or call functions of the program's, which may free what the arguments name.
template <class Arguments>
Err begin_lightly(Cx cx, const Arguments& arguments, Request** request) noexcept {
  note_call(cx, arguments, true);
  auto* const lasting = new LastingRun(*cx.comm->engine);
  cx.run = &lasting->run;
  (void)coll::start(cx, arguments);
  if (lasting->run.advance() == Run::Progress::ended && lasting->run.error == Err::ok) {
    delete lasting;
    *request = &CompletedRequest::of_sends();
    return Err::ok;
  }
  auto* made = new CollectiveRequestOf<Arguments>(cx, lasting, arguments);
  *request = made;
  made->go_on();
  return Err::ok;
}

/// The same as a call of the program's: it may go on while the program computes.  The last thing in that
/// call.
template <class Arguments>
Err begin_call(Comm& comm, const Arguments& arguments, Request** request) noexcept {
  const bool is_light = !has_arrays(arguments) && !calls_program(arguments);
  const Cx cx = everywhere(comm);
  const Err error = is_light ? begin_lightly(cx, arguments, request) : begin(cx, arguments, request);
  if (error == Err::ok && (*request)->wants_help())
    progress::Helper::want(*comm.engine, progress::Helper::For::overlap);
  return error;
}

/// Gives a persistent operation a track of the region that no member uses; where there is none, takes the
/// region away.  Waits for all that share it.
Err agree_on_track(Cx& cx) noexcept;

template <class Arguments>
Err prepare(Cx cx, const Arguments& arguments, Request** request) noexcept {
  note_call(cx, arguments, true);
  if (cx.region)
    if (const Err error = agree_on_track(cx); error != Err::ok) return error;
  cx.tag |= kPersistent;
  auto* made = new CollectiveRequestOf<Arguments>(cx, new LastingRun(*cx.comm->engine), arguments);
  made->is_persistent = true;
  made->is_active = false;
  *request = made;
  return Err::ok;
}

}  // namespace dunlin::coll
