// Epochs in which the targets take part (MPI 5.0, 12.5.1 and 12.5.2): MPI_Win_fence is a barrier, post,
// start, complete and wait are words in shared memory (signals.hpp), to other nodes empty messages.
//
// Cost: fence, a barrier, of two ranks of a node a line written and one read; the others, a line written or
// read for each process of the group, or a message of no bytes.
#include <atomic>
#include <cstdio>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "coll/functions.hpp"
#include "os/cpu.hpp"
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

int tag_of(Signals::Kind kind) noexcept { return kind == Signals::post ? kPostTag : kCompleteTag; }

const char* what_is(Signals::Kind kind) noexcept {
  switch (kind) {
    case Signals::post:
      return "its MPI_Win_post";
    case Signals::complete:
      return "its MPI_Win_complete";
    default:
      return "its MPI_Win_fence";
  }
}

/// The window's ranks of the members of a group.
Err ranks_of(const Window& window, const Group& group, std::vector<int>& ranks) noexcept {
  ranks.clear();
  for (const int member : group.span()) {
    const int rank = window.comm->group->rank_of(member);
    if (rank < 0) return fail(Err::group, "argument group has a process that is not of the window");
    ranks.push_back(rank);
  }
  return Err::ok;
}

/// MPI_Win_post or MPI_Win_complete, which means that all have heard the one before: the next line is fetched
/// while others look at this one.
Err tell(Window& window, std::span<const int> ranks, Signals::Kind kind) noexcept {
  const Datatype& byte = *from_handle<Datatype>(MPI_BYTE);
  for (const int rank : ranks) {
    if (Signalled& here = window.signalled[std::size_t(rank)]; here.to) {
      here.give(kind);
      here.prepare(kind);
      window.wake(rank);
      continue;
    }
    Request* request = nullptr;
    if (const Err e = pt2pt::isend(nullptr, 0, byte, rank, tag_of(kind), *window.comm, &request);
        e != Err::ok)
      return e;
    if (!request->is_static) request->let_go();
  }
  return Err::ok;
}

/// Of those on other nodes.
Err hear(Window& window, const std::vector<int>& ranks, Signals::Kind kind,
         std::vector<Request*>& requests) noexcept {
  const Datatype& byte = *from_handle<Datatype>(MPI_BYTE);
  for (const int rank : ranks) {
    if (window.signalled[std::size_t(rank)].from) continue;
    Request* request = nullptr;
    if (const Err e = pt2pt::irecv(nullptr, 0, byte, rank, tag_of(kind), *window.comm, &request);
        e != Err::ok)
      return e;
    requests.push_back(request);
  }
  return Err::ok;
}

/// What a wait for another rank is for.
struct Awaited {
  const Window& window;
  const Signals::Kind kind;
  const int rank;                // of this node, or ...
  const Request* const message;  // ... of another one, which sends this

  bool is_here() const noexcept {
    return message ? message->is_complete : window.signalled[std::size_t(rank)].has_come(kind);
  }
  static bool is_here(const void* self) noexcept { return static_cast<const Awaited*>(self)->is_here(); }
  /// Of this node; -1: of another one.
  int peer() const noexcept {
    if (message) return -1;
    return window.comm->messaging->peers.of(window.comm->target_members[rank]).index;
  }
  static void explain(const void* self, WaitReason& reason) noexcept {
    const auto& [window, kind, rank, message] = *static_cast<const Awaited*>(self);
    if (message)
      message->explain(reason);
    else
      reason.peer = window.comm->target_members[rank];
    window.explain(reason);
    std::snprintf(reason.what, sizeof reason.what, "%s", what_is(kind));
    reason.tag = WaitReason::kNone;
  }
};

/// Looks at the word alone for a while, as a collective does: a round of polls takes longer than the word.
/// Where ranks share CPUs this one's goes to another first, which may be the one that it waits for.
void await(const Awaited& awaited) noexcept {
  progress::Engine& engine = *awaited.window.comm->engine;
  const bool gives_way = engine.is_oversubscribed() && !BigLock::is_needed();
  for (int looks = engine.polls_direct(); !awaited.message && looks > 0; --looks) {
    if (awaited.is_here()) return engine.end_direct();
    if (gives_way)
      engine.give_way();
    else
      os::pause();
  }
  engine.wait_until(&Awaited::is_here, &awaited, &Awaited::explain, awaited.peer());
}

/// Waits for a signal of a rank of this node.
void await(Window& window, int rank, Signals::Kind kind) noexcept {
  await({window, kind, rank, nullptr});
  ++window.signalled[std::size_t(rank)].heard[kind];
}

/// Waits for one signal of each, or its message.
void await(Window& window, const std::vector<int>& ranks, std::vector<Request*>& messages,
           Signals::Kind kind) noexcept {
  for (const int rank : ranks) {
    if (window.signalled[std::size_t(rank)].from) await(window, rank, kind);
  }
  for (Request* each : messages) {
    await({window, kind, MPI_PROC_NULL, each});
    forget(each);
  }
  messages.clear();
}

/// The first whose MPI_Win_complete is missing.
std::optional<Awaited> first_missing(const Window& window) noexcept {
  for (const int rank : window.exposed_to)
    if (const Signalled& each = window.signalled[std::size_t(rank)];
        each.from && !each.has_come(Signals::complete))
      return Awaited{window, Signals::complete, rank, nullptr};
  for (const Request* each : window.completions)
    if (!each->is_complete) return Awaited{window, Signals::complete, MPI_PROC_NULL, each};
  return std::nullopt;
}

/// All ranks of the window have come.  Two of a node need no more than a word of each.  Not looked at before
/// a pause, as in a collective: both have just written their line, and who looks before its writer's cache
/// has it makes it be fetched twice.
Err meet(Window& window) noexcept {
  const int other = 1 - window.comm->rank;
  if (window.size != 2 || !window.signalled[std::size_t(other)].to) return coll::barrier(*window.comm);
  Signalled& signalled = window.signalled[std::size_t(other)];
  signalled.give(Signals::fence);
  window.wake(other);
  os::pause();
  await(window, other, Signals::fence);
  signalled.prepare(Signals::fence);
  return Err::ok;
}

}  // namespace

Err win_fence(int assertions, Win& win) noexcept {
  if (const Err e = check_assertions(assertions); e != Err::ok) return e;
  Window& window = window_of(win);
  if (window.epoch != Epoch::none && window.epoch != Epoch::fence)
    return fail(Err::rma_sync, "an epoch of MPI_Win_start or MPI_Win_lock is open");
  if (window.is_exposed) return fail(Err::rma_sync, "MPI_Win_post was not followed by MPI_Win_wait");
  const Err error = window.complete_all();
  order_memory();
  if (const Err e = meet(window); e != Err::ok) return e;
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
  std::vector<int> ranks = std::move(window.accessed);  // with its room
  if (const Err e = ranks_of(window, group, ranks); e != Err::ok) return e;
  if (!(assertions & MPI_MODE_NOCHECK)) {
    std::vector<Request*> posts;
    if (const Err e = hear(window, ranks, Signals::post, posts); e != Err::ok) return e;
    await(window, ranks, posts, Signals::post);
  }
  if (window.epoch == Epoch::fence) window.close_all();  // it ends without another fence
  for (const int rank : ranks) window.open(window.part(rank));
  window.accessed = std::move(ranks);
  window.epoch = Epoch::start;
  return Err::ok;
}

Err win_complete(Win& win) noexcept {
  Window& window = window_of(win);
  if (window.epoch != Epoch::start) return fail(Err::rma_sync, "MPI_Win_start was not called before");
  const Err error = window.complete_all();
  order_memory();
  for (const int rank : window.accessed) window.close(window.part(rank));
  window.epoch = Epoch::none;
  if (const Err e = tell(window, window.accessed, Signals::complete); e != Err::ok) return e;
  return error;
}

Err win_post(Group& group, int assertions, Win& win) noexcept {
  if (const Err e = check_assertions(assertions); e != Err::ok) return e;
  Window& window = window_of(win);
  if (window.is_exposed) return fail(Err::rma_sync, "MPI_Win_post was called before without MPI_Win_wait");
  std::vector<int> ranks = std::move(window.exposed_to);  // with its room
  if (const Err e = ranks_of(window, group, ranks); e != Err::ok) return e;
  order_memory();
  if (const Err e = hear(window, ranks, Signals::complete, window.completions); e != Err::ok) return e;
  window.exposed_to = std::move(ranks);
  window.is_exposed = true;
  return assertions & MPI_MODE_NOCHECK ? Err::ok : tell(window, window.exposed_to, Signals::post);
}

Err win_wait(Win& win) noexcept {
  Window& window = window_of(win);
  if (!window.is_exposed) return fail(Err::rma_sync, "MPI_Win_post was not called before");
  await(window, window.exposed_to, window.completions, Signals::complete);
  window.is_exposed = false;
  order_memory();
  return Err::ok;
}

Err win_test(Win& win, int* flag) noexcept {
  Window& window = window_of(win);
  if (!window.is_exposed) return fail(Err::rma_sync, "MPI_Win_post was not called before");
  if (const std::optional<Awaited> missing = first_missing(window))
    window.comm->engine->poll_for_test(&*missing, &Awaited::explain);
  *flag = !first_missing(window);
  return *flag ? win_wait(win) : Err::ok;
}

}  // namespace dunlin::rma
