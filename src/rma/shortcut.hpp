// The shortest way of a short one-sided operation: where the target's memory lies here and an epoch is open,
// one load or store.
//
// Called by the C bindings before anything else.  A shortcut has no opinion on errors, layouts or threads:
// whatever it does not recognise at once it declines, and the call goes the general way (operation.cpp).
// hot path: MPI_Put of 8 bytes takes 91 instructions, MPI_Win_flush 28 (callgrind, GCC 12).
// Thread safety: only where base/big_lock.hpp is not needed.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/copy_short.hpp"
#include "datatype/datatype.hpp"
#include "op/op.hpp"
#include "rma/accumulate.hpp"
#include "rma/gate.hpp"
#include "rma/window.hpp"

namespace dunlin::rma {

inline constexpr std::uint64_t kShortBytesMax = 64;

/// Does `use(place)` at `offset` from the first byte of a part that a fork may freeze.  False: it has been.
template <class Use>
[[gnu::noinline]] bool try_behind_gate(Window& window, int target_rank, std::uint64_t offset,
                                       std::uint64_t bytes, const Use& use) noexcept {
  const Inside inside(window, target_rank);
  std::byte* const first = window.part(target_rank).mapping.at();
  if (first) use(Piece{first + offset, bytes});
  return first != nullptr;
}

/// Does `use(place)` where `count` elements of `type`, which both sides describe alike, lie at the target.
/// False: declined.
template <class Use>
[[gnu::always_inline]] inline bool try_at_place(const void* buffer, std::int64_t count, const Datatype* type,
                                                int target_rank, MPI_Aint target_disp,
                                                std::int64_t target_count, const Datatype* target_type,
                                                Win* win, const Use& use) noexcept {
  if (!win || !type || type != target_type || !type->is_plain() || count != target_count) return false;
  if (unsigned(target_rank) >= unsigned(win->size)) return false;
  const std::uint64_t bytes = std::uint64_t(count) * std::uint64_t(type->size());
  if (bytes > kShortBytesMax || reinterpret_cast<std::uintptr_t>(buffer) <= 1) return false;
  Window& window = window_of(*win);
  const Part& part = window.part(target_rank);
  // A displacement that is negative or too far is a large offset; `reach` is 0 where something has to be
  // looked at first.
  std::uint64_t offset;
  if (__builtin_mul_overflow(std::uint64_t(target_disp), part.unit, &offset)) return false;
  if (offset >= part.reach || bytes > part.reach - offset) return false;
  if (part.at) [[likely]] {
    use(Piece{part.at + offset, bytes});
    return true;
  }
  return try_behind_gate(window, target_rank, offset, bytes, use);
}

/// True: it is done.
[[gnu::always_inline]] inline bool try_put_short(const void* origin, std::int64_t count, const Datatype* type,
                                                 int target_rank, MPI_Aint target_disp,
                                                 std::int64_t target_count, const Datatype* target_type,
                                                 Win* win) noexcept {
  return try_at_place(origin, count, type, target_rank, target_disp, target_count, target_type, win,
                      [origin](const Piece& place) noexcept {
                        copy_short(place.address, static_cast<const std::byte*>(origin), place.bytes);
                      });
}

[[gnu::always_inline]] inline bool try_get_short(void* origin, std::int64_t count, const Datatype* type,
                                                 int target_rank, MPI_Aint target_disp,
                                                 std::int64_t target_count, const Datatype* target_type,
                                                 Win* win) noexcept {
  return try_at_place(origin, count, type, target_rank, target_disp, target_count, target_type, win,
                      [origin](const Piece& place) noexcept {
                        copy_short(static_cast<std::byte*>(origin), place.address, place.bytes);
                      });
}

/// Elements of one predefined type, and an operator that is defined for it.
[[gnu::always_inline]] inline bool try_combine_short(const void* origin, std::byte* result,
                                                     std::int64_t count, const Datatype* type,
                                                     int target_rank, MPI_Aint target_disp,
                                                     std::int64_t target_count, const Datatype* target_type,
                                                     const Op* op, Win* win) noexcept {
  if (!op || !type || !op->kernel(*type).two) return false;
  return try_at_place(
      origin, count, type, target_rank, target_disp, target_count, target_type, win,
      [&](const Piece& place) noexcept {
        ShortLock& lock = window_of(*win).segment.block(target_rank).elements;
        Elements{{&place, 1}, *type, lock}.combine(*op, static_cast<const std::byte*>(origin), result);
      });
}

[[gnu::always_inline]] inline bool try_accumulate_short(const void* origin, std::int64_t count,
                                                        const Datatype* type, int target_rank,
                                                        MPI_Aint target_disp, std::int64_t target_count,
                                                        const Datatype* target_type, const Op* op,
                                                        Win* win) noexcept {
  return try_combine_short(origin, nullptr, count, type, target_rank, target_disp, target_count, target_type,
                           op, win);
}

[[gnu::always_inline]] inline bool try_fetch_and_op_short(const void* origin, void* result,
                                                          const Datatype* type, int target_rank,
                                                          MPI_Aint target_disp, const Op* op,
                                                          Win* win) noexcept {
  return reinterpret_cast<std::uintptr_t>(result) > 1 &&
         try_combine_short(origin, static_cast<std::byte*>(result), 1, type, target_rank, target_disp, 1,
                           type, op, win);
}

[[gnu::always_inline]] inline bool try_compare_and_swap_short(const void* origin, const void* compare,
                                                              void* result, const Datatype* type,
                                                              int target_rank, MPI_Aint target_disp,
                                                              Win* win) noexcept {
  if (!type || type->basic() == Basic::none || reinterpret_cast<std::uintptr_t>(compare) <= 1 ||
      reinterpret_cast<std::uintptr_t>(result) <= 1)
    return false;
  return try_at_place(
      origin, 1, type, target_rank, target_disp, 1, type, win, [&](const Piece& place) noexcept {
        ShortLock& lock = window_of(*win).segment.block(target_rank).elements;
        Elements{{&place, 1}, *type, lock}.compare_and_swap(static_cast<const std::byte*>(compare),
                                                            static_cast<const std::byte*>(origin),
                                                            static_cast<std::byte*>(result));
      });
}

/// Nothing by message is under way, and the target is locked: only the order is left.
[[gnu::always_inline]] inline bool try_flush_short(int rank, Win* win) noexcept {
  if (!win || unsigned(rank) >= unsigned(win->size)) return false;
  Window& window = window_of(*win);
  if (window.under_way != 0 || window.first_error != Err::ok || window.part(rank).hold == Part::Hold::none)
    return false;
  if (window.calls_until_poll <= 1) return false;
  --window.calls_until_poll;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return true;
}

}  // namespace dunlin::rma
