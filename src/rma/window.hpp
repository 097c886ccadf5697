// A window and what its operations need to know: how the memory of each target is reached, which epochs are
// open, what is still under way (docs/windows.md).
//
// Made by rma/create.cpp; operations are rma/operation.cpp, epochs active.cpp and passive.cpp, operations by
// message messages.cpp.
// Thread safety: under base/big_lock.hpp; what processes share is in rma/segment.hpp.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "object/comm.hpp"
#include "object/group.hpp"
#include "object/win.hpp"
#include "peer/lasting_mapping.hpp"
#include "rma/messages.hpp"
#include "rma/segment.hpp"

namespace dunlin::rma {

/// One rank's part of the window, as this process reaches it.
struct Part {
  // hot path: one line, read by every operation.
  std::byte* at = nullptr;     // where the window's first byte lies here; nullptr: ask `mapping`, or further
  std::uint64_t reach = 0;     // bytes that may be used through `at` or `mapping` now; 0: look closer
  std::uint64_t unit = 1;      // of displacements, bytes
  std::uint64_t address = 0;   // of the first byte, in the target
  std::uint64_t bytes = 0;     // of its window
  std::byte* fixed = nullptr;  // as `at`, for memory that stays where it is: this process's own, the segment
  std::uint64_t cookie = 0;    // its Window, for messages to it
  int under_way = 0;           // operations by message that have not come back

  enum class Hold : std::uint8_t { none, shared, exclusive, unchecked };
  Hold hold = Hold::none;              // of its lock, by MPI_Win_lock or lock_all
  bool is_open = false;                // an epoch allows operations
  bool is_mapped = false;              // `mapping` was there at first
  bool is_known = false;               // `memory` and `mapping` were asked for
  peer::PeerMemory* memory = nullptr;  // nullptr: it cannot be reached without its help
  peer::Exposure exposure;
  peer::LastingMapping mapping;
};

/// The epoch in which this process may be an origin.
enum class Epoch : std::uint8_t { none, fence, start, lock, lock_all };

class Window final : public Win {
 public:
  explicit Window(Ref<Comm> members) noexcept;

  Part& part(int rank) noexcept { return parts[std::size_t(rank)]; }
  const Part& part(int rank) const noexcept { return parts[std::size_t(rank)]; }
  /// Whether all these bytes of this process belong to the window.
  bool has(const std::byte* at, std::size_t bytes) const noexcept;
  bool is_dynamic() const noexcept { return flavor == MPI_WIN_FLAVOR_DYNAMIC; }

  /// Operations towards this rank are allowed from now on, or not any more.
  void open(Part& part) noexcept {
    part.is_open = true;
    part.reach = part.at || part.is_mapped ? part.bytes : 0;
  }
  void close(Part& part) noexcept {
    part.is_open = false;
    part.reach = 0;
  }
  void open_all() noexcept {
    for (Part& each : parts) open(each);
  }
  void close_all() noexcept {
    for (Part& each : parts) close(each);
  }

  /// Waits until nothing by message is under way towards this rank, or any.  The first error that
  /// a target found since.
  Err complete(const Part& part) noexcept { return part.under_way ? await(part.under_way) : error(); }
  Err complete_all() noexcept { return under_way ? await(under_way) : error(); }

  /// Programs wait by loops of MPI_Win_flush, MPI_Win_sync or locks, and others wait for them: now and then
  /// such a call polls, and where ranks share cores gives its own away, as MPI_Test does.
  void poll_now_and_then() noexcept {
    if (--calls_until_poll <= 0) poll();
  }

  /// For the report of a wait: which window.
  void explain(WaitReason& reason) const noexcept;

  int calls_until_poll = 1;
  Ref<Comm> comm;           // the window's own: its messages, its barriers
  std::vector<Part> parts;  // by rank
  int under_way = 0;        // of all targets
  Err first_error = Err::ok;
  Epoch epoch = Epoch::none;
  int locks_held = 0;           // Epoch::lock: targets with a hold
  bool can_barrier = false;     // all ranks take part in os::global_barrier
  bool sees_processes = false;  // the pids of all ranks mean something here (no namespaces)

  Segment segment;
  peer::Exposed exposed;                           // of MPI_Win_create
  std::map<std::uintptr_t, std::size_t> attached;  // MPI_Win_attach: address -> bytes

  Ref<Group> accessed;    // of MPI_Win_start
  Ref<Group> exposed_to;  // of MPI_Win_post; its completions are awaited by these
  std::vector<Request*> completions;
  Incoming incoming{*this};  // operations of others by message

 private:
  ~Window() override;
  Err await(const int& count) noexcept;
  void poll() noexcept;
  Err error() noexcept {
    const Err now = first_error;
    first_error = Err::ok;
    return now;
  }
};

/// The window behind a Win: there are no others.
inline Window& window_of(Win& win) noexcept { return static_cast<Window&>(win); }

}  // namespace dunlin::rma
