// Making and freeing windows (MPI 5.0, 12.2).
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>

#include "base/assert.hpp"
#include "coll/agree.hpp"
#include "coll/functions.hpp"
#include "comm/functions.hpp"
#include "comm/process.hpp"
#include "heap/heap.hpp"
#include "progress/helper.hpp"
#include "protocol/messaging.hpp"
#include "rma/functions.hpp"
#include "rma/hints.hpp"
#include "rma/operation.hpp"
#include "rma/shortcut.hpp"
#include "rma/window.hpp"

namespace dunlin::rma {
namespace {

/// A forked child does not have the segments: its calls go the general way, which refuses them.
void close_shortcuts_in_child() noexcept {
  for (Window* each : all_windows()) {
    each->epoch = Epoch::none;
    each->close_all();
  }
}

/// Once, before the first operation.
void prepare_shortcuts() noexcept {
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, close_shortcuts_in_child);
  for (std::size_t handle = 1; handle < kTypeHandlesEnd; ++handle)
    if (const auto* type = from_handle<Datatype>(reinterpret_cast<MPI_Datatype>(handle))) {
      bytes_of_handle[handle] = type->is_plain() ? std::uint8_t(type->size()) : 0;
      word_of_handle[handle] = std::uint8_t(word_bytes_of(type->basic()));
    }
  BigLock::set_when_needed(&close_shortcuts);
}

/// What each rank tells the others of its part.
struct Told {
  peer::Exposure exposure;
  std::uint64_t unit;
  std::uint64_t cookie;
  std::uint64_t is_open_to_network = 0;
  transport::RemoteBuffer for_network = {};
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

/// Peers hear how many windows others may write in memory that the program has from elsewhere, and may send
/// (peer::Mapping::may_take_over).
void count_open(const Window& window, int change) noexcept {
  const bool lies_in_own_memory =
      window.is_dynamic() || (window.flavor == MPI_WIN_FLAVOR_CREATE && window.bytes > 0);
  heap::Control* const control = heap::face().control();
  // Relaxed: what the ranks tell each other orders it before operations.
  if (lies_in_own_memory && control)
    control->open_windows.fetch_add(std::uint32_t(change), std::memory_order_relaxed);
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

/// The ranks of the window on this node.
Err find_node(Window& window) noexcept {
  const boot::NodeMap& nodes = window.comm->process->node_map;
  const int* const members = window.comm->target_members;
  const auto is_here = [&](int member) noexcept {
    return nodes.node_of(member) == nodes.node_of(members[0]);
  };
  window.node = window.comm;
  if (std::all_of(members, members + window.size, is_here)) return Err::ok;
  Comm* node = nullptr;
  if (const Err e = comm::comm_split_type(*window.comm, MPI_COMM_TYPE_SHARED, 0, nullptr, &node);
      e != Err::ok)
    return e;
  window.node = Ref<Comm>::adopt(node);
  return Err::ok;
}

/// Collective: what the ranks of a node share.
Err open_segment(Window& window, std::int64_t own_bytes, bool is_packed) noexcept {
  Err error = window.segment.open(*window.node, own_bytes, is_packed);
  if (window.has_other_nodes()) error = coll::agree(*window.comm, error, "making the window");
  if (error != Err::ok) return error;
  for (int rank = 0; rank < window.node->size; ++rank) {
    const int member = window.node->target_members[rank];
    const int of_window = window.comm->group->rank_of(member);
    Part& part = window.part(of_window);
    part.block = &window.segment.block(rank);
    Signalled& signalled = window.signalled[std::size_t(of_window)];
    signalled.to = &window.segment.signals(window.node->rank, rank);
    signalled.from = &window.segment.signals(rank, window.node->rank);
    std::byte* const memory = window.segment.memory_of(rank);
    if (is_in_segment(window.flavor)) part.fixed = memory;
    if (window.is_dynamic()) part.attached = reinterpret_cast<Attachments*>(memory);
  }
  return Err::ok;
}

/// Where the network of ranks on other nodes works by itself, it may from now on.  Memory is attached and
/// detached by one rank alone: who has its name of before would reach what is not there any more (decision
/// 0022).
bool try_open_to_network(Window& window) noexcept {
  if (window.is_dynamic() || window.bytes == 0) return false;
  const auto is_elsewhere = [](const Part& part) noexcept { return !part.block; };
  const auto first = std::find_if(window.parts.begin(), window.parts.end(), is_elsewhere);
  if (first == window.parts.end()) return false;
  const int member = window.comm->target_members[first - window.parts.begin()];
  transport::RemoteAccess* const network = window.comm->messaging->peers.of(member).remote;
  return network && may_use(*network) &&
         window.open_to_network.try_open(*network, window.base, std::size_t(window.bytes));
}

void tell_each_other(Window& window) noexcept {
  Part& own = window.part(window.comm->rank);
  own.address = reinterpret_cast<std::uintptr_t>(window.base);
  own.bytes = window.is_dynamic() ? UINT64_MAX : std::uint64_t(window.bytes);
  own.fixed = static_cast<std::byte*>(window.base);
  Told mine{window.exposed.exposure(), std::uint64_t(window.displacement_unit),
            reinterpret_cast<std::uintptr_t>(&window)};
  mine.exposure.at = own.address;
  mine.exposure.bytes = own.bytes;
  mine.is_open_to_network = try_open_to_network(window);
  mine.for_network = window.open_to_network.first_byte();
  // From here on operations of ranks that are further may come, and wait for nothing else.
  const std::vector<Told> all = coll::gather_all(*window.comm, mine);
  window.sees_processes = true;
  for (int rank = 0; rank < window.size; ++rank) {
    const Told& told = all[std::size_t(rank)];
    Part& part = window.part(rank);
    part.exposed_cookie = told.exposure.cookie;
    part.address = told.exposure.at;
    part.bytes = told.exposure.bytes;
    part.unit = told.unit;
    part.cookie = told.cookie;
    if (part.fixed && (may_use_mappings() || rank == window.comm->rank)) {
      part.first_here = part.fixed;
      part.begin = reinterpret_cast<std::uintptr_t>(part.fixed);
      part.mapped_bytes = part.bytes;
      part.words = part.words_in(part.bytes);
    }
    if (!part.block) {
      if (!told.is_open_to_network) continue;
      window.networks.resize(std::size_t(window.size));
      window.networks[std::size_t(rank)] = told.for_network;
      continue;
    }
    const pid_t process = part.block->process.load(std::memory_order_relaxed);  // written before
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
  count_open(*window, 1);
  set_hints(*window, info);
  const bool is_packed =
      wanted.flavor == MPI_WIN_FLAVOR_SHARED && !has_hint(*window, "alloc_shared_noncontig");
  const bool is_own = is_in_segment(wanted.flavor);
  const std::int64_t own_bytes = is_own                 ? wanted.bytes
                                 : window->is_dynamic() ? std::int64_t(sizeof(Attachments))
                                                        : 0;
  if (const Err e = find_node(*window); e != Err::ok) return e;
  if (wanted.flavor == MPI_WIN_FLAVOR_SHARED && window->has_other_nodes())
    return fail(Err::rma_shared,
                "the ranks of the communicator are on several nodes; MPI_Comm_split_type with "
                "MPI_COMM_TYPE_SHARED finds those that share memory");
  if (const Err e = open_segment(*window, own_bytes, is_packed); e != Err::ok) return e;
  if (is_own)
    window->base = window->part(comm->rank).fixed;
  else if (!window->is_dynamic()) {
    if (may_be_mapped(*window)) window->kept.keep(wanted.base, std::size_t(wanted.bytes));
    window->exposed = peer::Exposed(wanted.base, std::size_t(wanted.bytes));
  }
  hear_requests(*comm->messaging);
  prepare_shortcuts();
  if (!is_own) watch_forks();
  tell_each_other(*window);
  const bool needs_help = needs_help_for(*window, window->base, wanted.bytes);  // of a dynamic one: 0 bytes
  if (window->has_other_nodes()) comm->engine->expect_help(1);
  *win = window.detach();
  if (needs_help) want_help(window_of(**win));
  return Err::ok;
}

}  // namespace

std::uint8_t bytes_of_handle[kTypeHandlesEnd] = {};
std::uint8_t word_of_handle[kTypeHandlesEnd] = {};

std::vector<Window*>& all_windows() noexcept {
  static std::vector<Window*> all;
  return all;
}

bool needs_help_for(const Window& window, void* base, std::int64_t bytes) noexcept {
  if (window.size == 1 || has_hint(window, "no_locks")) return false;
  if (window.has_other_nodes()) return true;  // for its lock at least
  if (bytes == 0) return false;
  if (!may_use_mappings()) return true;
  const Source all{static_cast<const std::byte*>(base), std::size_t(bytes)};
  return !is_in_segment(window.flavor) && !window.comm->messaging->peers.is_mappable(all);
}

bool needs_help(const Window& window) noexcept {
  if (!window.is_dynamic()) return needs_help_for(window, window.base, window.bytes);
  return window.part(window.comm->rank).attached->has([&](const Attachments::Range& range) noexcept {
    return needs_help_for(window, reinterpret_cast<void*>(range.begin), std::int64_t(range.bytes));
  });
}

bool may_be_mapped(const Window& window) noexcept { return window.node->size > 1 && may_use_mappings(); }

void want_help(const Window& window) noexcept {
  progress::Helper::want(*window.comm->engine, progress::Helper::For::others);
}

Window::Window(Ref<Comm> members) noexcept
    : comm(std::move(members)), parts(std::size_t(comm->size)), signalled(parts.size()) {
  size = comm->size;
  model = MPI_WIN_UNIFIED;
  all_windows().push_back(this);
}

Window::~Window() {
  count_open(*this, -1);
  std::erase(all_windows(), this);
}

void close_shortcuts() noexcept {
  for (Window* each : all_windows()) {
    for (Part& part : each->parts) each->gather_facts(part);
    each->gather_facts();
  }
}

void Window::await(int rank) noexcept {
  struct Awaited {
    const Window& window;
    const int rank;
    const std::uint32_t last;  // operations to this rank come back in order
    int left() const noexcept { return int(last - window.part(rank).come_back); }
  } const awaited{*this, rank, part(rank).come_back + unsigned(part(rank).under_way)};
  comm->engine->wait_until(
      [](const void* a) noexcept { return static_cast<const Awaited*>(a)->left() <= 0; }, &awaited,
      [](const void* a, WaitReason& reason) noexcept {
        const auto& awaited = *static_cast<const Awaited*>(a);
        awaited.window.explain(reason);
        reason.peer = awaited.window.comm->target_members[awaited.rank];
        if (awaited.window.outgoing.awaits_lock(awaited.rank))
          std::snprintf(reason.what, sizeof reason.what, "the lock of rank %d's memory, on another node",
                        awaited.rank);
        else
          std::snprintf(reason.what, sizeof reason.what,
                        "%d one-sided operations that are under way", awaited.left());
      });
}

void Window::wake(int rank) const noexcept {
  const int first = rank == FairLock::kEverybody ? 0 : rank;
  const int last = rank == FairLock::kEverybody ? size - 1 : rank;
  protocol::Peers& peers = comm->messaging->peers;
  for (int each = first; each <= last; ++each) {
    if (!part(each).block) continue;
    protocol::Peer& peer = peers.of(comm->target_members[each]);
    if (peer.shm) peer.shm->wake();
    // It may have asked for a rank of another node (messages.hpp) and compute now.
    if (has_other_nodes() && peers.shared_memory()) peers.shared_memory()->bell(peer.index).ring();
  }
}

void Window::explain(WaitReason& reason) const noexcept {
  comm->explain(reason);
  if (name[0]) std::snprintf(reason.comm, sizeof reason.comm, "%.63s", name);
}

void Window::poll() noexcept {
  // Polling gives the CPU away where ranks share CPUs.  At every fourth call instead, a counter that 8
  // ranks on 2 CPUs share took 76 ns an operation instead of 17 (AMD Zen 4).  Where each has its own CPU
  // nobody waits for that, and a poll is 250 instructions.
  constexpr int kCallsPerPollShared = 64, kCallsPerPoll = 256;
  calls_until_poll = comm->engine->is_oversubscribed() ? kCallsPerPollShared : kCallsPerPoll;
  comm->engine->poll_for_test(this, [](const void* window, WaitReason& reason) noexcept {
    std::snprintf(reason.what, sizeof reason.what, "a change of its memory");
    static_cast<const Window*>(window)->explain(reason);
  });
}

Err win_create(void* base, MPI_Aint size, std::int64_t disp_unit, Info* info, Comm& comm,
               Win** win) noexcept {
  if (!base && size > 0) return fail(Err::arg, "argument base is a null pointer, but size is not 0");
  if (size > 0 && reinterpret_cast<std::uintptr_t>(base) + std::uint64_t(size) < std::uint64_t(size))
    return fail(Err::base, "argument base is %p; no %lld bytes lie there", base, (long long)size);
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
  if (window.is_exposed) return fail(Err::rma_sync, "MPI_Win_post was not followed by MPI_Win_wait");
  if (const Err e = win.attributes.erase_all(win); e != Err::ok) return e;
  const Err error = window.complete_all();
  // What others still want from us they have got when they come to the barrier; that our answers have left
  // completely we may learn later.
  if (const Err e = coll::barrier(*window.comm); e != Err::ok) return e;
  window.incoming.finish();
  if (window.has_other_nodes()) window.comm->engine->expect_help(-1);
  win.release();
  return error;
}

}  // namespace dunlin::rma
