// A collective algorithm as a coroutine: the promise, and nothing else that depends on how the compiler makes
// coroutines.
//
//   Task barrier_dissemination(Cx cx) {
//     for (int distance = 1; distance < cx.size; distance *= 2) co_await cx.sendrecv(...);
//     co_return Err::ok;
//   }
//
// A task runs at once to its first step that is not ready, and is resumed by Run::advance (steps.cpp), from
// progress only. It may await another task.  An error, of a step or returned, ends the whole run: nothing is
// resumed any more and all frames are destroyed, the youngest first; algorithms therefore have no error
// branches.  In a blocking run every step waits in place and no task is ever suspended, but by an error.
//
// Frames come from the run's arena, found through the first parameter, a `Cx`.  Rules for what GCC 12 gets
// wrong (tests in test/unit/coll/task.cpp): parameters by value and trivially copyable; free functions, no
// lambdas; no temporaries with destructors in an awaited expression; no symmetric transfer.  `Task` is a
// plain handle, so that it is no such temporary.
#pragma once

#include <coroutine>
#include <cstddef>

#include "base/err.hpp"
#include "coll/run.hpp"

namespace dunlin::coll {

class [[nodiscard]] Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  bool is_done() const noexcept { return handle_.done(); }

 private:
  friend struct promise_type;
  friend struct Child;
  Handle handle_;
};

/// What awaiting a task waits for.
struct Child {
  Run* run;
  Task::Handle handle;
  bool await_ready() const noexcept { return run->error == Err::ok && handle.done(); }
  void await_suspend(Task::Handle parent) const noexcept;
  void await_resume() const noexcept {}
};

struct Task::promise_type : Frame {
  template <class Context, class... Others>  // a Cx, which needs the promise before it is complete
  explicit promise_type(const Context& cx, const Others&...) noexcept
      : Frame(*cx.run, Handle::from_promise(*this)) {}

  template <class Context, class... Others>
  static void* operator new(std::size_t bytes, const Context& cx, const Others&...) noexcept {
    void* memory = cx.run->arena.take(bytes);
    if (!memory) cx.run->set_error(Err::no_mem);
    return memory;
  }
  static void operator delete(void*) noexcept {}  // the arena takes everything back at once

  Task get_return_object() noexcept {
    Task task;
    task.handle_ = Handle::from_promise(*this);
    return task;
  }
  static Task get_return_object_on_allocation_failure() noexcept { return Task{}; }

  std::suspend_never initial_suspend() const noexcept { return {}; }
  struct Final {
    bool await_ready() const noexcept { return false; }
    void await_suspend(Handle done) const noexcept { done.promise().run.leaf = done.promise().parent; }
    void await_resume() const noexcept {}
  };
  Final final_suspend() const noexcept { return {}; }
  void return_value(Err error) const noexcept { run.set_error(error); }
  void unhandled_exception() const noexcept { __builtin_trap(); }

  Step await_transform(Step step, int line = __builtin_LINE()) const noexcept {
    run.where = line;
    return step;
  }
  Child await_transform(Task task) const noexcept { return {&run, task.handle_}; }
};

inline void Child::await_suspend(Task::Handle parent) const noexcept {
  if (handle) handle.promise().parent = parent;
}

}  // namespace dunlin::coll
