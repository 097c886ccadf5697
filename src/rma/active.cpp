// Epochs in which the targets take part (MPI 5.0, 12.5.1 and 12.5.2): MPI_Win_fence is a barrier, post,
// start, complete and wait are empty messages between the processes concerned.
//
// Cost: fence, a barrier; the others, a message of no bytes to each process of the group.
#include <atomic>
#include <cstdio>

#include "coll/functions.hpp"
#include "progress/engine.hpp"
#include "pt2pt/functions.hpp"
#include "rma/functions.hpp"
#include "rma/tags.hpp"
#include "rma/window.hpp"

namespace dunlin::rma {
namespace {

/// Operations that were done by loads and stores come before what tells others that they are over, a message
/// or a flag, and after what has told us.
void order_memory() noexcept { std::atomic_thread_fence(std::memory_order_acq_rel); }

void forget(Request* request) noexcept {
  if (!request->is_static) request->release();
}

/// The window's ranks of the members of a group.
Err ranks_of(const Window& window, const Group& group, std::vector<int>& ranks) noexcept {
  for (const int member : group.span()) {
    const int rank = window.comm->group->rank_of(member);
    if (rank < 0) return fail(Err::group, "argument group has a process that is not of the window");
    ranks.push_back(rank);
  }
  return Err::ok;
}

Err tell(Window& window, const std::vector<int>& ranks, int tag) noexcept {
  const Datatype& byte = *from_handle<Datatype>(MPI_BYTE);
  for (const int rank : ranks) {
    Request* request = nullptr;
    if (const Err e = pt2pt::isend(nullptr, 0, byte, rank, tag, *window.comm, &request); e != Err::ok)
      return e;
    if (!request->is_static) request->let_go();
  }
  return Err::ok;
}

Err hear(Window& window, const std::vector<int>& ranks, int tag, std::vector<Request*>& requests) noexcept {
  const Datatype& byte = *from_handle<Datatype>(MPI_BYTE);
  for (const int rank : ranks) {
    Request* request = nullptr;
    if (const Err e = pt2pt::irecv(nullptr, 0, byte, rank, tag, *window.comm, &request); e != Err::ok)
      return e;
    requests.push_back(request);
  }
  return Err::ok;
}

constexpr const char* kCompletion = "its MPI_Win_complete";

/// What a wait for a word of another rank is for.
struct Awaited {
  const Window& window;
  const Request& word;
  const char* what;

  static bool is_here(const void* self) noexcept {
    return static_cast<const Awaited*>(self)->word.is_complete;
  }
  static void explain(const void* self, WaitReason& reason) noexcept {
    const auto& [window, word, what] = *static_cast<const Awaited*>(self);
    word.explain(reason);
    window.explain(reason);
    std::snprintf(reason.what, sizeof reason.what, "%s", what);
    reason.tag = WaitReason::kNone;
  }
};

void await(Window& window, std::vector<Request*>& words, const char* what) noexcept {
  for (Request* each : words) {
    const Awaited awaited{window, *each, what};
    window.comm->engine->wait_until(&Awaited::is_here, &awaited, &Awaited::explain);
    forget(each);
  }
  words.clear();
}

}  // namespace

Err win_fence(int assertions, Win& win) noexcept {
  if (const Err e = check_assertions(assertions); e != Err::ok) return e;
  Window& window = window_of(win);
  if (window.epoch != Epoch::none && window.epoch != Epoch::fence)
    return fail(Err::rma_sync, "an epoch of MPI_Win_start or MPI_Win_lock is open");
  if (window.exposed_to) return fail(Err::rma_sync, "MPI_Win_post was not followed by MPI_Win_wait");
  const Err error = window.complete_all();
  order_memory();
  if (const Err e = coll::barrier(*window.comm); e != Err::ok) return e;
  order_memory();
  const bool is_last = assertions & MPI_MODE_NOSUCCEED;
  if (is_last)
    window.close_all();
  else if (window.epoch != Epoch::fence)
    window.open_all();
  window.epoch = is_last ? Epoch::none : Epoch::fence;
  return error;
}

Err win_start(Group& group, int assertions, Win& win) noexcept {
  if (const Err e = check_assertions(assertions); e != Err::ok) return e;
  Window& window = window_of(win);
  if (window.epoch != Epoch::none && window.epoch != Epoch::fence)
    return fail(Err::rma_sync, "another epoch is open already");
  std::vector<int> ranks;
  if (const Err e = ranks_of(window, group, ranks); e != Err::ok) return e;
  if (!(assertions & MPI_MODE_NOCHECK)) {
    std::vector<Request*> posts;
    if (const Err e = hear(window, ranks, kPostTag, posts); e != Err::ok) return e;
    await(window, posts, "its MPI_Win_post");
  }
  window.close_all();  // that of a fence ends without one
  for (const int rank : ranks) window.open(window.part(rank));
  window.accessed = Ref<Group>(&group);
  window.epoch = Epoch::start;
  return Err::ok;
}

Err win_complete(Win& win) noexcept {
  Window& window = window_of(win);
  if (window.epoch != Epoch::start) return fail(Err::rma_sync, "MPI_Win_start was not called before");
  const Err error = window.complete_all();
  order_memory();
  std::vector<int> ranks;
  if (const Err e = ranks_of(window, *window.accessed, ranks); e != Err::ok) return e;
  window.close_all();
  window.accessed = {};
  window.epoch = Epoch::none;
  if (const Err e = tell(window, ranks, kCompleteTag); e != Err::ok) return e;
  return error;
}

Err win_post(Group& group, int assertions, Win& win) noexcept {
  if (const Err e = check_assertions(assertions); e != Err::ok) return e;
  Window& window = window_of(win);
  if (window.exposed_to) return fail(Err::rma_sync, "MPI_Win_post was called before without MPI_Win_wait");
  std::vector<int> ranks;
  if (const Err e = ranks_of(window, group, ranks); e != Err::ok) return e;
  order_memory();
  window.exposed_to = Ref<Group>(&group);
  if (const Err e = hear(window, ranks, kCompleteTag, window.completions); e != Err::ok) return e;
  return assertions & MPI_MODE_NOCHECK ? Err::ok : tell(window, ranks, kPostTag);
}

Err win_wait(Win& win) noexcept {
  Window& window = window_of(win);
  if (!window.exposed_to) return fail(Err::rma_sync, "MPI_Win_post was not called before");
  await(window, window.completions, kCompletion);
  window.exposed_to = {};
  order_memory();
  return Err::ok;
}

Err win_test(Win& win, int* flag) noexcept {
  Window& window = window_of(win);
  if (!window.exposed_to) return fail(Err::rma_sync, "MPI_Win_post was not called before");
  const auto first_missing = [&]() -> const Request* {
    for (const Request* each : window.completions)
      if (!each->is_complete) return each;
    return nullptr;
  };
  if (const Request* missing = first_missing()) {
    const Awaited awaited{window, *missing, kCompletion};
    window.comm->engine->poll_for_test(&awaited, &Awaited::explain);
  }
  *flag = first_missing() == nullptr;
  return *flag ? win_wait(win) : Err::ok;
}

}  // namespace dunlin::rma
