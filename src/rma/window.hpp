// A window and what its operations need to know: how the memory of each target is reached, which epochs are
// open, what is still under way (docs/windows.md).
//
// Made by rma/create.cpp; operations are rma/operation.cpp, epochs active.cpp and passive.cpp, operations by
// message messages.cpp.
// Thread safety: under base/big_lock.hpp; what processes share is in rma/segment.hpp.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/big_lock.hpp"
#include "heap/heap.hpp"
#include "object/comm.hpp"
#include "object/group.hpp"
#include "object/win.hpp"
#include "peer/lasting_mapping.hpp"
#include "rma/attachments.hpp"
#include "rma/messages.hpp"
#include "rma/segment.hpp"
#include "rma/signals.hpp"
#include "transport/transport.hpp"

namespace dunlin::rma {

/// One rank's part of the window, as this process reaches it.
struct alignas(256) Part {
  // hot path: all that the shortcut (shortcut.hpp) looks at.  Gathered when an epoch opens and when memory is
  // looked up.
  std::uint64_t begin = 0;        // the address here of displacement 0, or where it would be
  std::uint64_t unit = 1;         // of displacements, bytes
  std::uint64_t words_reach = 0;  // displacements at which 8 bytes may begin
  // The first displacement that was looked up; other than 0 in dynamic windows, whose unit is 1.  Relaxed:
  // where threads take the lock, a shortcut looks at it without, and then finds a `reach` of 0.
  std::atomic<std::uint64_t> first = 0;
  std::byte* first_here = nullptr;     // where that lies here
  std::uint64_t reach = 0;             // bytes from there that a shortcut may use; 0: none now
  std::uint64_t attached_words = 0;    // as `words_reach`, from `first` on, in dynamic windows
  RankBlock* block = nullptr;          // its locks; nullptr: it is on another node
  Attachments* attached = nullptr;     // to a dynamic window of this node
  std::uint32_t attached_version = 0;  // of these, when `mapping` was looked up
  int under_way = 0;                   // operations by message that have not come back

  peer::LastingMapping mapping;    // of the target's window, or of memory that it has attached
  std::uint64_t mapped_bytes = 0;  // from `first` on, of it or of `fixed`

  std::uint64_t address = 0;        // of the first byte, in the target
  std::uint64_t bytes = 0;          // of its window
  std::uint64_t words = 0;          // displacements from `first` on at which 8 bytes begin
  std::uint64_t cookie = 0;         // its Window, for messages to it
  std::byte* fixed = nullptr;       // the first byte, where it lies here for good

  enum class Hold : std::uint8_t { none, shared, exclusive, unchecked };
  Hold hold = Hold::none;              // of its lock, by MPI_Win_lock or lock_all
  bool is_open = false;                // an epoch allows operations
  bool is_known = false;               // `memory` was asked for
  std::uint32_t come_back = 0;         // operations by message that have, so far; wraps
  peer::PeerMemory* memory = nullptr;  // nullptr: it cannot be reached without its help
  std::uint64_t exposed_cookie = 0;    // of its window

  std::uint64_t words_in(std::uint64_t of_bytes) const noexcept {
    return of_bytes < sizeof(std::uint64_t) ? 0 : (of_bytes - sizeof(std::uint64_t)) / unit + 1;
  }
  std::uint64_t from() const noexcept { return first.load(std::memory_order_relaxed); }
  /// Of a dynamic window: whether what was looked up is attached still; to be asked before it is used.
  [[gnu::always_inline]] bool is_still_attached() const noexcept {
    return attached->version() == attached_version;
  }
  /// So many bytes behind `begin`.
  std::byte* here(std::uint64_t offset) const noexcept {
    return reinterpret_cast<std::byte*>(begin + offset);
  }
};
static_assert(sizeof(Part) == 256);

/// 1: a load may still overtake a plain store into some window, which is what a flush is about; else 0.
/// Atomic instructions wait for earlier stores by themselves.
[[gnu::visibility("hidden")]] inline std::uint8_t stores_are_pending = 0;
/// For where they are.
[[gnu::always_inline]] inline void order_stores() noexcept {
  __atomic_fetch_sub(&stores_are_pending, 1, __ATOMIC_SEQ_CST);  // a fence as well, in one instruction
}

/// Memory of this process in a window, open for the network of ranks on other nodes.
class OpenToNetwork {
 public:
  OpenToNetwork() = default;
  OpenToNetwork(const OpenToNetwork&) = delete;
  ~OpenToNetwork() {
    if (opened_) network_->close(opened_);
  }
  bool try_open(transport::RemoteAccess& network, void* at, std::size_t bytes) noexcept {
    network_ = &network;
    opened_ = network.try_open_for_all(static_cast<std::byte*>(at), bytes, first_byte_);
    return opened_ != 0;
  }
  /// As operations of others name it.
  const transport::RemoteBuffer& first_byte() const noexcept { return first_byte_; }

 private:
  transport::RemoteAccess* network_ = nullptr;
  transport::RemoteBuffer first_byte_;
  std::uint64_t opened_ = 0;  // 0: it is not
};

/// The epoch in which this process may be an origin.
enum class Epoch : std::uint8_t { none, fence, start, lock, lock_all };

class Window final : public Win {
 public:
  explicit Window(Ref<Comm> members) noexcept;

  Part& part(int rank) noexcept { return parts[std::size_t(rank)]; }
  const Part& part(int rank) const noexcept { return parts[std::size_t(rank)]; }
  bool is_dynamic() const noexcept { return flavor == MPI_WIN_FLAVOR_DYNAMIC; }
  /// Of this process.
  RankBlock& own_block() const noexcept { return *part(comm->rank).block; }

  /// Operations towards this rank are allowed from now on, or not any more.
  void open(Part& part) noexcept {
    part.is_open = true;
    gather_facts(part);
  }
  void close(Part& part) noexcept {
    part.is_open = false;
    gather_facts(part);
  }
  void open_all() noexcept {
    for (Part& each : parts) open(each);
    gather_facts();
  }
  void close_all() noexcept {
    for (Part& each : parts) close(each);
    gather_facts();
  }
  /// What shortcuts may do towards this rank.  Where several threads call they stay closed: nothing of what
  /// they look at is written then.
  void gather_facts(Part& part) noexcept {
    const bool is_allowed = part.is_open && !BigLock::is_needed();
    if (!is_allowed && part.reach == 0) return;
    // Behind an operation by message accumulates go the same way: they stay in order.
    const bool is_allowed_now = is_allowed && part.under_way == 0;
    part.reach = is_allowed_now ? part.mapped_bytes : 0;
    part.words_reach = is_allowed_now && !part.attached ? part.words : 0;
    part.attached_words = is_allowed_now && part.attached ? part.words : 0;
  }
  /// Whether flushes of any target have nothing to do.
  void gather_facts() noexcept {
    const bool has_nothing = epoch == Epoch::lock_all && under_way == 0 && first_error == Err::ok;
    const unsigned now = has_nothing && !BigLock::is_needed() ? unsigned(size) : 0;
    if (flushable != now) flushable = now;
  }

  /// Waits until what is under way by message now, towards this rank or any, has come back; not for what
  /// other threads begin meanwhile.  The first error that a target found since.
  Err complete(int rank) noexcept {
    if (part(rank).under_way) await(rank);
    return error();
  }
  Err complete_all() noexcept {
    await_all();
    return error();
  }
  /// The same, but the error is left to the next call that completes operations.
  void await(int rank) noexcept;
  void await_all() noexcept {
    for (int rank = 0; rank < size && under_way; ++rank)
      if (part(rank).under_way) await(rank);
  }

  /// Programs wait by loops of MPI_Win_flush, MPI_Win_sync or locks, and others wait for them: now and then
  /// such a call polls, and where ranks share CPUs gives its own away, as MPI_Test does.
  void poll_now_and_then() noexcept {
    if (--calls_until_poll < 0) poll();
  }

  /// Has a rank of this node look again at what it waits for, or all of them (FairLock::kEverybody).
  void wake(int rank) const noexcept;

  /// For the report of a wait: which window.
  void explain(WaitReason& reason) const noexcept;

  /// Whether some ranks reach others by messages only.
  bool has_other_nodes() const noexcept { return node->size < size; }

  const Ref<Comm> comm;  // the window's own: its messages, its barriers
  Ref<Comm> node;        // of its ranks, those on this node: the segment is theirs

  // hot path: read by every flush.
  unsigned flushable = 0;  // ranks that may be flushed by a fence of the processor: all or none
  int calls_until_poll = 0;
  std::vector<Part> parts;  // by rank

  int under_way = 0;  // of all targets
  Err first_error = Err::ok;
  Epoch epoch = Epoch::none;
  int locks_held = 0;             // Epoch::lock: targets with a hold
  bool is_nobody_locked = false;  // MPI_Win_lock of MPI_PROC_NULL
  bool sees_processes = false;    // the pids of all ranks mean something here (no namespaces)

  Segment segment;
  heap::Kept kept;                              // of MPI_Win_create
  std::map<std::uintptr_t, heap::Kept> kept_attachments;  // by where they begin
  peer::Exposed exposed;                        // of MPI_Win_create
  OpenToNetwork open_to_network;
  // By rank, the first byte of its memory; of those whose memory the network does not reach nothing.  Empty:
  // of nobody's.
  std::vector<std::optional<transport::RemoteBuffer>> networks;
  std::vector<std::uint64_t> attached_nothing;  // MPI_Win_attach of no bytes: the addresses

  std::vector<Signalled> signalled;   // by rank
  std::vector<int> accessed;          // the ranks of MPI_Win_start
  std::vector<int> exposed_to;        // those of MPI_Win_post, while ...
  bool is_exposed = false;            // ... MPI_Win_wait has not ended it
  std::vector<Request*> completions;  // messages of those on other nodes
  Outgoing outgoing{*this};  // operations of this process by message
  Incoming incoming{*this};  // those of others

 private:
  ~Window() override;
  void poll() noexcept;
  Err error() noexcept {
    const Err now = first_error;
    first_error = Err::ok;
    gather_facts();
    return now;
  }
};

/// Of this process (in a simulation, of all its ranks); under base/big_lock.hpp.
std::vector<Window*>& all_windows() noexcept;

/// The window behind a Win: there are no others.
inline Window& window_of(Win& win) noexcept { return static_cast<Window&>(win); }

/// Of the calls that open and close epochs (MPI 5.0, 12.5.5): any that the standard knows may be given to
/// any.
inline Err check_assertions(int assertions) noexcept {
  constexpr int kAll =
      MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
  if ((assertions & ~kAll) == 0) return Err::ok;
  return fail(Err::assertion, "argument assert is 0x%x, which has bits that no MPI_MODE_ constant has",
              unsigned(assertions));
}

/// Whether others may need this process for operations on these bytes of it while it computes.
bool needs_help_for(const Window& window, void* base, std::int64_t bytes) noexcept;
/// The same of all its memory in the window, which a fork may have frozen for who comes new.
bool needs_help(const Window& window) noexcept;
/// Whether others may map this process's memory in the window: then it is kept over forks, before they may.
bool may_be_mapped(const Window& window) noexcept;
/// To be called last, where it does: makes the helper thread (progress/helper.hpp) if that is allowed.
void want_help(const Window& window) noexcept;

/// Has every fork of this process end with `want_help` where a window needs it (fork.cpp).
void watch_forks() noexcept;

/// From now on several threads may call: shortcuts, which take no lock, are closed.
void close_shortcuts() noexcept;

}  // namespace dunlin::rma
