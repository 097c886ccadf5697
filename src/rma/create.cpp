// Making and freeing windows (MPI 5.0, 12.2).
#include <signal.h>

#include <cstdio>

#include "base/assert.hpp"
#include "coll/agree.hpp"
#include "coll/functions.hpp"
#include "comm/functions.hpp"
#include "os/membarrier.hpp"
#include "progress/engine.hpp"
#include "protocol/messaging.hpp"
#include "rma/functions.hpp"
#include "rma/gate.hpp"
#include "rma/hints.hpp"
#include "rma/operation.hpp"
#include "rma/window.hpp"

namespace dunlin::rma {
namespace {

/// What each rank tells the others of its part.
struct Told {
  peer::Exposure exposure;
  std::uint64_t unit;
  std::uint64_t cookie;
  std::uint64_t can_barrier;
};

struct Wanted {
  int flavor;
  void* base;  // of the program's memory, or nullptr
  std::int64_t bytes;
  std::int64_t unit;
};

bool is_in_segment(int flavor) noexcept {
  return flavor == MPI_WIN_FLAVOR_ALLOCATE || flavor == MPI_WIN_FLAVOR_SHARED;
}

Err check(const Wanted& wanted, const Comm& comm) noexcept {
  if (comm.is_inter()) return fail(Err::comm, "argument comm is an inter-communicator, which has no windows");
  if (wanted.bytes < 0)
    return fail(Err::size, "argument size is %lld; it must not be negative", (long long)wanted.bytes);
  if (wanted.unit <= 0 || wanted.unit > INT32_MAX)
    return fail(Err::disp, "argument disp_unit is %lld; it must be positive and fit an int",
                (long long)wanted.unit);
  return Err::ok;
}

void tell_each_other(Window& window) noexcept {
  Told mine{window.exposed.exposure(), std::uint64_t(window.displacement_unit),
            reinterpret_cast<std::uintptr_t>(&window), os::register_for_global_barrier()};
  mine.exposure.at = reinterpret_cast<std::uintptr_t>(window.base);
  mine.exposure.bytes = window.is_dynamic() ? UINT64_MAX : std::uint64_t(window.bytes);
  const std::vector<Told> all = coll::gather_all(*window.comm, mine);
  window.can_barrier = window.sees_processes = true;
  for (int rank = 0; rank < window.size; ++rank) {
    const Told& told = all[std::size_t(rank)];
    Part& part = window.part(rank);
    part.exposure = told.exposure;
    part.address = told.exposure.at;
    part.bytes = told.exposure.bytes;
    part.unit = told.unit;
    part.cookie = told.cookie;
    if (rank == window.comm->rank) part.fixed = static_cast<std::byte*>(window.base);
    if (is_in_segment(window.flavor)) part.fixed = window.segment.memory_of(rank);
    if (may_use_mappings() || rank == window.comm->rank) part.at = part.fixed;
    window.can_barrier = window.can_barrier && told.can_barrier;
    const pid_t process =
        window.segment.block(rank).process.load(std::memory_order_relaxed);  // written before
    window.sees_processes = window.sees_processes && kill(process, 0) == 0;
  }
}

/// Collective; the outcome is the same on all ranks.
Err make(const Wanted& wanted, Info* info, Comm& parent, Win** win) noexcept {
  if (const Err e = check(wanted, parent); e != Err::ok) return e;
  Comm* comm = nullptr;
  if (const Err e = comm::comm_create(parent, *parent.group, &comm); e != Err::ok) return e;
  std::snprintf(comm->name, sizeof comm->name, "a window of %d ranks", comm->size);  // for reports of waits
  auto window = Ref<Window>::adopt(new Window(Ref<Comm>::adopt(comm)));
  window->errhandler = Ref<Errhandler>(&errors_are_fatal());  // whatever the communicator's (MPI 5.0, 9.3)
  window->flavor = wanted.flavor;
  window->base = wanted.base;
  window->bytes = wanted.bytes;
  window->displacement_unit = int(wanted.unit);
  set_hints(*window, info);
  const bool is_packed =
      wanted.flavor == MPI_WIN_FLAVOR_SHARED && !has_hint(*window, "alloc_shared_noncontig");
  const bool is_own = is_in_segment(wanted.flavor);
  if (const Err e = window->segment.open(*comm, is_own ? wanted.bytes : 0, is_packed); e != Err::ok) return e;
  if (is_own)
    window->base = window->segment.memory_of(comm->rank);
  else if (!window->is_dynamic())
    window->exposed = peer::Exposed(wanted.base, std::size_t(wanted.bytes));
  hear_requests(*comm->messaging);
  tell_each_other(*window);
  if (!is_own) watch_forks(*window);
  *win = window.detach();
  return Err::ok;
}

}  // namespace

Window::Window(Ref<Comm> members) noexcept : comm(std::move(members)), parts(std::size_t(comm->size)) {
  size = comm->size;
  model = MPI_WIN_UNIFIED;
}

Window::~Window() { forget_forks(*this); }

bool Window::has(const std::byte* at, std::size_t length) const noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (!is_dynamic()) {
    const std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(base);
    return offset <= std::uintptr_t(bytes) && length <= std::uintptr_t(bytes) - offset;
  }
  auto after = attached.upper_bound(address);
  if (after == attached.begin()) return false;
  const auto& [begin, attached_bytes] = *--after;
  return address - begin <= attached_bytes && length <= attached_bytes - (address - begin);
}

Err Window::await(const int& count) noexcept {
  comm->engine->wait_until([](const void* n) noexcept { return *static_cast<const int*>(n) == 0; }, &count,
                           [](const void*, WaitReason& reason) noexcept {
                             std::snprintf(reason.what, sizeof reason.what,
                                           "one-sided operations that their targets carry out");
                           });
  return error();
}

void Window::explain(WaitReason& reason) const noexcept {
  comm->explain(reason);
  if (name[0]) std::snprintf(reason.comm, sizeof reason.comm, "%.63s", name);
}

void Window::poll() noexcept {
  constexpr int kCallsPerPoll = 64, kCallsPerPollShared = 4;
  calls_until_poll = comm->engine->is_oversubscribed() ? kCallsPerPollShared : kCallsPerPoll;
  comm->engine->poll_for_test(this, [](const void* window, WaitReason& reason) noexcept {
    std::snprintf(reason.what, sizeof reason.what, "a change of its memory");
    static_cast<const Window*>(window)->explain(reason);
  });
}

Err win_create(void* base, MPI_Aint size, std::int64_t disp_unit, Info* info, Comm& comm,
               Win** win) noexcept {
  if (!base && size > 0) return fail(Err::arg, "argument base is a null pointer, but size is not 0");
  return make({MPI_WIN_FLAVOR_CREATE, base, size, disp_unit}, info, comm, win);
}

Err win_allocate(MPI_Aint size, std::int64_t disp_unit, Info* info, Comm& comm, void* baseptr,
                 Win** win) noexcept {
  const Err error = make({MPI_WIN_FLAVOR_ALLOCATE, nullptr, size, disp_unit}, info, comm, win);
  if (error == Err::ok) *static_cast<void**>(baseptr) = (*win)->base;
  return error;
}

Err win_allocate_shared(MPI_Aint size, std::int64_t disp_unit, Info* info, Comm& comm, void* baseptr,
                        Win** win) noexcept {
  const Err error = make({MPI_WIN_FLAVOR_SHARED, nullptr, size, disp_unit}, info, comm, win);
  if (error == Err::ok) *static_cast<void**>(baseptr) = (*win)->base;
  return error;
}

Err win_create_dynamic(Info* info, Comm& comm, Win** win) noexcept {
  return make({MPI_WIN_FLAVOR_DYNAMIC, nullptr, 0, 1}, info, comm, win);
}

Err win_free(Win& win) noexcept {
  Window& window = window_of(win);
  if (window.epoch != Epoch::none && window.epoch != Epoch::fence)
    return fail(Err::rma_sync, "an epoch of this process is still open");
  if (window.exposed_to) return fail(Err::rma_sync, "MPI_Win_post was not followed by MPI_Win_wait");
  if (const Err e = win.attributes.erase_all(win); e != Err::ok) return e;
  const Err error = window.complete_all();
  // What others still want from us they have got when they come to the barrier; that our answers have left
  // completely we may learn later.
  if (const Err e = coll::barrier(*window.comm); e != Err::ok) return e;
  window.incoming.finish();
  win.release();
  return error;
}

}  // namespace dunlin::rma
