#include "rma/operation.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/variable.hpp"
#include "copy/copy.hpp"
#include "datatype/cursor.hpp"
#include "protocol/messaging.hpp"
#include "rma/accumulate.hpp"
#include "rma/shortcut.hpp"

namespace dunlin::rma {
namespace {

enum Way : int { kAuto, kCopy, kMessage, kNetwork };
WordVariable way{
    "RMA_WAY", "auto", "auto|copy|message|network",
    "how one-sided operations reach other ranks' windows: by mapping where possible, by copies of "
    "the kernel for put and get, or by messages only; network: as auto, and put and get to other nodes by "
    "RDMA also where that needs the target's process"};

constexpr std::size_t kRunsMax = 64;           // at a time
constexpr std::size_t kChunkBytes = 16 << 10;  // of buffers with gaps, packed

void copy_all(const Source& from, const Target& to, std::size_t bytes) noexcept {
  if (!from.is_contiguous() || !to.is_contiguous()) return copy_range(from, to, 0, bytes);
  if (bytes <= kShortBytesMax) {
    std::memcpy(to.address, from.address, bytes);
    return;
  }
  copy::load_before_stores(to.address, bytes);
  copy::bytes(to.address, from.address, bytes, copy::hint_for(bytes));
}

/// The packed bytes [at, at + bytes) of a buffer: in place where it is contiguous, else copied to `packed`.
const std::byte* packed_part(const Source& data, std::size_t at, std::size_t bytes,
                             std::byte* packed) noexcept {
  if (data.is_contiguous()) return data.address + at;
  Cursor cursor(data);
  cursor.seek(at);
  cursor.pack(packed, bytes);
  return packed;
}

/// The gaps of accumulated buffers cost a copy of 16 KiB at a time; the stack has room for two.
[[gnu::noinline]] void accumulate_pieces(const Operation& operation, std::byte* buffer, ElementLocks& locks,
                                         std::uint64_t first) noexcept {
  alignas(64) std::byte given[kChunkBytes], before[kChunkBytes];
  Cursor there(*operation.type, operation.count, buffer);
  const bool wants = operation.is_wanted;
  const bool writes_in_place = wants && operation.wanted.is_contiguous();
  const auto size = std::size_t(operation.element->size());
  for (std::size_t done = 0; done < operation.bytes;) {
    Piece runs[kRunsMax];
    const std::size_t count = next_runs(there, runs, size, std::min(kChunkBytes, operation.bytes - done));
    const std::size_t bytes = there.position() - done;
    std::byte* const kept = writes_in_place ? operation.wanted.address + done : wants ? before : nullptr;
    const std::byte* const operand =
        operation.is_given ? packed_part(operation.given, done, bytes, given) : nullptr;
    Elements{{runs, count}, *operation.element, locks, first}.combine(*operation.op, operand, kept);
    if (wants && !writes_in_place) {
      Cursor result(operation.wanted);
      result.seek(done);
      result.unpack(before, bytes);
    }
    done += bytes;
  }
}

void apply_accumulate(const Operation& operation, std::byte* buffer, ElementLocks& locks,
                      std::uint64_t first) noexcept {
  const bool is_one_run =
      operation.type->is_contiguous() && operation.given.is_contiguous() && operation.wanted.is_contiguous();
  if (!is_one_run) return accumulate_pieces(operation, buffer, locks, first);
  const Piece run{buffer, operation.bytes};
  Elements{{&run, 1}, *operation.element, locks, first}.combine(
      *operation.op, operation.given.address, operation.is_wanted ? operation.wanted.address : nullptr);
}

/// Asks once how the target's memory is reached.
void find_memory(Window& window, Part& part, int rank) noexcept {
  if (part.is_known) return;
  part.is_known = true;
  protocol::Peers& peers = window.comm->messaging->peers;
  part.memory = peers.memory_of(peers.of(window.comm->target_members[rank]));
  if (part.memory && !window.is_dynamic() && may_use_mappings())
    part.mapping = {*part.memory, {part.address, part.bytes, part.exposed_cookie}};
}

/// All bytes at the target between the first and the last of the operation, in the target's addresses.
std::span<const std::byte> extent_of(const Operation& operation, std::uint64_t bytes) noexcept {
  const auto* const begin = reinterpret_cast<const std::byte*>(operation.address);
  if (operation.type->is_contiguous()) return {begin, bytes};
  return protocol::extent_of(begin, bytes, operation.type, operation.count);
}

/// Has `part.mapping` reach the operation where that is possible: of a dynamic window the memory attached
/// around it.
void look_up(Part& part, const Operation& operation) noexcept {
  const std::span<const std::byte> all = extent_of(operation, operation.bytes);
  const auto at = reinterpret_cast<std::uintptr_t>(all.data());
  const std::uint64_t offset = at - part.from();
  if (part.is_still_attached() && offset < part.mapped_bytes && all.size() <= part.mapped_bytes - offset)
    return;
  part.attached_version = part.attached->version();
  // What lies between two attachments is mapped as well, but for this operation only.
  const Attachments::Range attached = part.attached->find(at, all.size());
  const Attachments::Range range = attached.bytes ? attached : Attachments::Range{at, all.size()};
  part.mapping = {*part.memory, {range.begin, range.bytes, 0}};
  part.first.store(range.begin, std::memory_order_relaxed);
  part.mapped_bytes = attached.bytes;
  if (part.mapping.at() || !attached.bytes) return;
  // Of a large attachment perhaps a part is shared.
  part.mapping = {*part.memory, {at, all.size(), 0}};
  part.first.store(at, std::memory_order_relaxed);
  part.mapped_bytes = 0;
}

bool try_mapped(Window& window, const Operation& operation) noexcept {
  Part& part = window.part(operation.target);
  ElementLocks& locks = part.block->elements;
  if (operation.target == window.comm->rank) {
    apply(operation, reinterpret_cast<std::byte*>(operation.address), locks, part.address);
    return true;
  }
  if (!may_use_mappings()) return false;
  if (part.fixed) {
    apply(operation, part.fixed + (operation.address - part.address), locks, part.address);
    return true;
  }
  find_memory(window, part, operation.target);
  if (!part.memory || !part.memory->can_map()) return false;
  if (part.attached)
    look_up(part, operation);
  else
    part.mapped_bytes = part.bytes;
  part.first_here = part.mapping.at();
  if (!part.first_here) part.mapped_bytes = 0;
  part.words = part.words_in(part.mapped_bytes);
  part.begin = reinterpret_cast<std::uintptr_t>(part.first_here) - part.from();
  window.gather_facts(part);
  if (!part.first_here) return false;
  apply(operation, part.here(operation.address - part.address), locks, part.address);
  return true;
}

/// The next `bytes` bytes of our own buffer, as pieces.
void take_pieces(Cursor& cursor, std::size_t bytes, std::vector<peer::Piece>& pieces) noexcept {
  pieces.clear();
  while (bytes > 0) {
    Piece some[kRunsMax];
    const std::size_t count = cursor.pieces(some, bytes);
    for (const Piece& each : std::span(some, count)) {
      pieces.push_back({each.address, each.bytes});
      bytes -= each.bytes;
    }
  }
}

bool try_copied(Window& window, const Operation& operation) noexcept {
  if (operation.kind != OperationKind::put && operation.kind != OperationKind::get) return false;
  if (way.index() == kMessage) return false;
  Part& part = window.part(operation.target);
  find_memory(window, part, operation.target);
  if (!part.memory || !part.memory->can_copy_anywhere()) return false;
  const bool is_put = operation.kind == OperationKind::put;
  Cursor there(*operation.type, operation.count, reinterpret_cast<void*>(operation.address));
  Cursor here = is_put ? Cursor(operation.given) : Cursor(operation.wanted);
  std::vector<peer::Piece> own;
  std::vector<peer::RemotePiece> remote;
  for (std::size_t done = 0; done < operation.bytes; done = there.position()) {
    Piece runs[kRunsMax];
    const std::size_t count = there.pieces(runs, operation.bytes - done);
    remote.clear();
    for (const Piece& each : std::span(runs, count))
      remote.push_back({reinterpret_cast<std::uintptr_t>(each.address), each.bytes});
    take_pieces(here, there.position() - done, own);
    const bool is_done = is_put ? part.memory->try_write(remote, own, part.exposed_cookie)
                                : part.memory->try_read(own, remote, part.exposed_cookie);
    if (!is_done) return false;
  }
  return true;
}

/// Whether the target, on this node, has attached all bytes of the operation.
Err check_attached(const Attachments& attached, const Operation& operation) noexcept {
  // Most often one attachment has all of it, gaps included.
  const std::span<const std::byte> all = extent_of(operation, operation.bytes);
  if (attached.find(reinterpret_cast<std::uintptr_t>(all.data()), all.size()).bytes > 0) return Err::ok;
  Cursor there(*operation.type, operation.count, reinterpret_cast<void*>(operation.address));
  while (there.position() < operation.bytes) {
    Piece runs[kRunsMax];
    const std::size_t count = there.pieces(runs, operation.bytes - there.position());
    for (const Piece& run : std::span(runs, count))
      if (attached.find(reinterpret_cast<std::uintptr_t>(run.address), run.bytes).bytes == 0)
        return fail(Err::rma_range, "rank %d has not attached all of the %zu bytes at its address %p",
                    operation.target, run.bytes, static_cast<void*>(run.address));
  }
  return Err::ok;
}

/// The bytes from the first to the last of `count` elements, from where their buffer begins.  False: further
/// apart than a process can address.
bool try_find_ends(const Datatype& type, std::int64_t count, std::int64_t& begin,
                   std::int64_t& end) noexcept {
  std::int64_t last;  // where the last element begins
  if (__builtin_mul_overflow(count - 1, type.extent(), &last)) return false;
  return !__builtin_add_overflow(std::min<std::int64_t>(last, 0), type.true_lower_bound(), &begin) &&
         !__builtin_add_overflow(std::max<std::int64_t>(last, 0), type.true_lower_bound(), &end) &&
         !__builtin_add_overflow(end, type.true_extent(), &end);
}

/// Where the operation lies in the target, or why it may not lie there.
Err find_place(const Window& window, Operation& operation, const Part& part,
               std::int64_t displacement) noexcept {
  const std::uint64_t room = std::uint64_t(operation.type->size()) * std::uint64_t(operation.count);
  if (room < operation.bytes)
    return fail(Err::truncate, "the origin has %zu bytes, the target %zu; these must be equal",
                operation.bytes, std::size_t(room));
  if (operation.bytes == 0) return Err::ok;
  std::int64_t offset, begin, end;
  if (__builtin_mul_overflow(displacement, std::int64_t(part.unit), &offset) ||
      !try_find_ends(*operation.type, operation.count, begin, end) ||
      __builtin_add_overflow(begin, offset, &begin) || __builtin_add_overflow(end, offset, &end))
    return fail(
        Err::rma_range,
        "displacement %lld and %lld elements reach further in rank %d's window than a process can address",
        (long long)displacement, (long long)operation.count, operation.target);
  operation.address = part.address + std::uint64_t(offset);
  if (window.is_dynamic()) return part.attached ? check_attached(*part.attached, operation) : Err::ok;
  if (begin >= 0 && std::uint64_t(end) <= part.bytes) return Err::ok;
  return fail(Err::rma_range,
              "the operation reaches the bytes %lld to %lld of the window of rank %d, which has %llu",
              (long long)begin, (long long)end, operation.target, (unsigned long long)part.bytes);
}

}  // namespace

bool may_use_mappings() noexcept { return way.index() == kAuto || way.index() == kNetwork; }

bool may_use(const transport::RemoteAccess& network) noexcept {
  return way.index() == kNetwork || (way.index() != kMessage && network.is_offloaded());
}

void apply(const Operation& operation, std::byte* buffer, ElementLocks& locks,
           std::uint64_t window_address) noexcept {
  DUNLIN_ASSERT(operation.bytes > 0);
  stores_are_pending = true;
  const std::uint64_t first = reinterpret_cast<std::uintptr_t>(buffer) - (operation.address - window_address);
  switch (operation.kind) {
    case OperationKind::put:
      return copy_all(operation.given, target_of(*operation.type, buffer, operation.count), operation.bytes);
    case OperationKind::get:
      return copy_all(source_of(*operation.type, buffer, operation.count), operation.wanted, operation.bytes);
    case OperationKind::accumulate:
      return apply_accumulate(operation, buffer, locks, first);
    case OperationKind::compare_and_swap: {
      const Piece run{buffer, operation.bytes};
      return Elements{{&run, 1}, *operation.element, locks, first}.compare_and_swap(
          operation.expected, operation.given.address, operation.wanted.address);
    }
    default:
      DUNLIN_ASSERT(false);  // locks are no matter of memory
  }
}

Err perform(Window& window, Operation& operation, std::int64_t displacement, Request** request) noexcept {
  const Part& part = window.part(operation.target);
  if (!part.is_open)
    return fail(Err::rma_sync,
                "no epoch is open towards rank %d: call MPI_Win_fence, start, lock or lock_all",
                operation.target);
  if (request && part.hold == Part::Hold::none)  // MPI 5.0, 12.3.5
    return fail(Err::rma_sync, "operations with a request need an epoch of MPI_Win_lock or MPI_Win_lock_all");
  if (const Err e = find_place(window, operation, part, displacement); e != Err::ok) return e;
  // Accumulates of one origin are in order (MPI 5.0, 12.7.2): behind one by message all go by message.
  const bool is_ordered =
      operation.kind == OperationKind::accumulate || operation.kind == OperationKind::compare_and_swap;
  const bool must_follow = is_ordered && part.under_way > 0;
  const bool must_be_sent = must_follow || !part.block;
  if (operation.bytes > 0 &&
      (must_be_sent || (!try_mapped(window, operation) && !try_copied(window, operation)))) {
    if (!window.outgoing.try_move(operation, request)) window.outgoing.send(operation, request);
    return Err::ok;
  }
  if (request) *request = &CompletedRequest::of_sends();
  return Err::ok;
}

}  // namespace dunlin::rma
