// One algorithm text, three calling modes (ARCHITECTURE.md, idea 2):
//
//   blocking      run(cx, arguments)                      a run on the stack, every step waits in place
//   nonblocking   begin(cx, arguments, &request)          a run inside a request that progress resumes
//   persistent    prepare(cx, arguments, &request)        the same, started again on the same memory by
//   MPI_Start
//
// `arguments` is a trivially copyable struct of the caller:
//
//   struct Bcast {
//     Block block; int root;
//     static constexpr const char* kName = "broadcast";     // for the report of a hang
//     Task start(Cx cx) const noexcept;                     // chooses the algorithm and starts it
//     Held held() const noexcept;                           // what a request must keep alive
//     void own_arrays(OwnArrays&, const Cx&) noexcept;      // optional: copies arrays of the program
//   };
//
// Used by data_movement.cpp and reductions.cpp for the chapter's calls and by comm/ for the agreements that
// make communicators: there `start` may be any coroutine over the tasks of coll/algorithms, which writes its
// result through pointers in its arguments. A place to do it on is `everywhere(comm)`, or a hand-made Cx for
// a group inside a communicator (`members`).
#pragma once

#include <array>

#include "base/big_lock.hpp"
#include "coll/steps.hpp"
#include "coll/task.hpp"
#include "object/request.hpp"
#include "progress/engine.hpp"

namespace dunlin::coll {

/// All ranks of `comm`, with the next collective's tag.
Cx everywhere(Comm& comm) noexcept;

/// Objects that must live until a nonblocking collective is complete, a persistent one is freed.
struct Held {
  std::array<const Object*, 3> objects{};  // may be null
  const MPI_Datatype* types[2] = {};       // arrays of the program, unchanged meanwhile
  int type_counts[2] = {};                 // of each array
  void retain() const noexcept;
  void release() const noexcept;
};

/// Memory for frames and messages of the common short collectives; beyond it comes from the heap.
inline constexpr std::size_t kPlanBytes = 1536;

template <class Arguments>
Err run_steps(Cx cx, const Arguments& arguments) noexcept {
  alignas(16) std::byte memory[kPlanBytes];
  Run run(*cx.comm->engine, true, memory, sizeof memory);
  cx.run = &run;
  (void)arguments.start(cx);
  if (run.error != Err::ok) [[unlikely]]
    run.wait();
  return run.error;
}

template <class Arguments>
Err run(const Cx& cx, const Arguments& arguments) noexcept {
  const bool has_threads = BigLock::is_needed();  // they may free what the program's arrays name
  if (has_threads) [[unlikely]]
    arguments.held().retain();
  const Err error = run_steps(cx, arguments);
  if (has_threads) [[unlikely]]
    arguments.held().release();
  return error;
}

/// What nonblocking and persistent collectives share.
class CollectiveRequest : public Request, public progress::Pollable {
 public:
  Err start() noexcept override;
  Outcome poll() noexcept override;
  void explain(WaitReason& reason) const noexcept override;

 protected:
  CollectiveRequest(const Cx& cx, const char* name) noexcept;
  ~CollectiveRequest() override = default;
  virtual void start_task(const Cx& cx) noexcept = 0;

 private:
  alignas(16) std::byte memory_[kPlanBytes];
  Run run_;
  Cx cx_;
  const char* const name_;
};

template <class Arguments>
class CollectiveRequestOf final : public CollectiveRequest {
 public:
  CollectiveRequestOf(const Cx& cx, const Arguments& arguments) noexcept
      : CollectiveRequest(cx, Arguments::kName), arguments_(arguments) {
    if constexpr (requires { arguments_.own_arrays(arrays_, cx); }) arguments_.own_arrays(arrays_, cx);
    arguments_.held().retain();
  }

 private:
  ~CollectiveRequestOf() override { arguments_.held().release(); }
  void start_task(const Cx& cx) noexcept override { (void)arguments_.start(cx); }
  OwnArrays arrays_;
  Arguments arguments_;
};

template <class Arguments>
Err begin(const Cx& cx, const Arguments& arguments, Request** request) noexcept {
  auto* made = new CollectiveRequestOf<Arguments>(cx, arguments);
  *request = made;
  return made->start();
}

template <class Arguments>
Err prepare(Cx cx, const Arguments& arguments, Request** request) noexcept {
  constexpr std::int32_t kPersistent =
      1 << 30;  // such a tag lives long: kept apart from those that wrap around
  cx.tag |= kPersistent;
  if (cx.region) cx.track = cx.region->take_track();
  if (cx.track < 0) cx.region = nullptr;
  auto* made = new CollectiveRequestOf<Arguments>(cx, arguments);
  made->is_persistent = true;
  made->is_active = false;
  *request = made;
  return Err::ok;
}

}  // namespace dunlin::coll
