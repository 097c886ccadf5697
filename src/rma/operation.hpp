// One one-sided operation, from the arguments of the call to the bytes at the target.
//
// Called by communication.cpp, which has checked arguments; carried out by operation.cpp, by one of four
// ways, in this order:
//
//   mapped    the target's memory maps: loads, stores and atomics by the origin
//   copied    put and get: the kernel copies (peer::PeerMemory)
//   network   put and get without gaps to another node, whose network works by itself: its writes and reads
//             (transport::RemoteAccess)
//   message   the target does it, inside any of its waits (messages.hpp)
//
// DUNLIN_RMA_WAY leaves the first out, or all but the last.
// Thread safety: under base/big_lock.hpp.
#pragma once

#include "datatype/data.hpp"
#include "datatype/datatype.hpp"
#include "op/op.hpp"
#include "rma/window.hpp"

namespace dunlin::rma {

/// The last three concern the lock of a target on another node; they have no data.
enum class OperationKind : std::uint32_t {
  put,
  get,
  accumulate,
  compare_and_swap,
  lock_shared,
  lock_exclusive,
  unlock,
};

struct Operation {
  OperationKind kind;
  int target;
  Source given = {};                    // put, accumulate: what goes there; compare_and_swap: the new value
  Target wanted = {};                   // get: where it comes; accumulate: what was there, where asked for
  const std::byte* expected = nullptr;  // compare_and_swap
  const Op* op = nullptr;               // accumulate
  const Datatype* element = nullptr;    // accumulate, compare_and_swap: the predefined type
  std::uint64_t address = 0;            // in the target, of the buffer of ...
  const Datatype* type = nullptr;       // ... this type
  std::int64_t count = 0;
  std::size_t bytes = 0;  // packed, of each side

  // A buffer may begin at address 0 (MPI_BOTTOM).
  bool is_given = false;   // `given` means something: not with MPI_NO_OP
  bool is_wanted = false;  // `wanted` means something
};

/// `displacement`, `type` and `count` are the target's; everything else stands in `operation`.  With
/// `request` the operation is what that request waits for.
Err perform(Window& window, Operation& operation, std::int64_t displacement, Request** request) noexcept;

/// Whether DUNLIN_RMA_WAY lets operations use mappings.
bool may_use_mappings() noexcept;
/// Whether it lets them use the network's own.
bool may_use(const transport::RemoteAccess& network) noexcept;

/// Applies it to memory that is addressable here: `buffer` stands for `operation.address`.  `locks` are the
/// target's, whose window begins at `window_address` there.
void apply(const Operation& operation, std::byte* buffer, ElementLocks& locks,
           std::uint64_t window_address) noexcept;

}  // namespace dunlin::rma
