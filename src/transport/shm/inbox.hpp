// The inbox of one process: a lock-free queue of cells that any rank of the node appends to (Buntinas,
// Mercier, Gropp: "Design and evaluation of Nemesis", 2006; rows N1, N2 of docs/sources.md).
//
// Carries the first few messages of a pair of ranks, so that pairs that talk rarely need no ring and the
// receiver need not poll one.  Called by channel.cpp (appending) and transport.cpp (reading).
//
// Cells lie in their *sender's* region: it takes and gets back its own cells without meeting other
// senders, and one receiver that does not poll can hold up only cells that were meant for it.
//
// Thread safety: any number of writers (`append`), one reader (InboxReader), in different processes.
// Invariants:
//  1. `tail` is the cell appended last, 0 when the queue is empty.  Writers exchange it; only the reader sets
//     it to 0.
//  2. `head` is written by the writer that found `tail` 0, and set to 0 by the reader before that can happen
//     again.
//  3. A cell belongs to its sender while `is_taken` is 0; to the queue from `append` on; the reader gives it
//     back once nobody can link to it any more: its `next` is set, or `tail` moved from it to 0.
//  4. Cells are named by their offset in the segment; 0 is none.  All-zero memory is an empty queue and free
//     cells.
//
// Few cache misses: an append to an empty queue touches one foreign line (head and tail together); the
// reader of a queue that is not empty looks only at cells and keeps its place (`last_`) in its own
// memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"
#include "transport/shm/hardware.hpp"
#include "transport/transport.hpp"

namespace dunlin::transport::shm {

template <class M>
struct alignas(64) BasicInboxWords {
  typename M::template Atomic<std::uint64_t> head;
  typename M::template Atomic<std::uint64_t> tail;
};

/// A message in the inbox: 48 bytes, then the payload.  Written by the sender unless said otherwise.
template <class M>
struct alignas(16) BasicCell {
  typename M::template Atomic<std::uint64_t>
      next;  // offset of the next cell; the next sender, cleared by the reader
  typename M::template Atomic<std::uint32_t> is_taken;  // 1 from try_take to the reader's give_back
  std::uint32_t sender;                                 // local rank
  std::uint64_t context;
  std::int32_t source;
  std::int32_t tag;
  std::uint32_t bytes;
  MessageKind kind;
  bool is_promotion;  // no message: from here on the pair uses its ring
  std::uint64_t unused;

  std::byte* payload() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

template <class M>
BasicCell<M>& cell_at(std::byte* segment, std::uint64_t offset) noexcept {
  return *reinterpret_cast<BasicCell<M>*>(segment + offset);
}

/// Appends a filled cell.
template <class M>
void append(BasicInboxWords<M>& words, std::byte* segment, std::uint64_t offset) noexcept {
  DUNLIN_ASSERT(offset != 0);
  // W1 (pairs with W2 in another writer and R3 in the reader): release hands our cell's fields to the
  // writer that links behind it; acquire orders our store to `head` behind the reader's clearing of it
  // (invariant 2), and our link behind the clearing of `next` when that cell was used before.
  const std::uint64_t previous = words.tail.exchange(offset, std::memory_order_acq_rel);
  if (previous == 0) {
    // W2 (pairs with R1 in try_read): the cell's fields are visible no later than its offset.
    words.head.store(offset, std::memory_order_release);
  } else {
    // W3 (pairs with R2 in try_read): as W2.
    cell_at<M>(segment, previous).next.store(offset, std::memory_order_release);
  }
}

template <class M>
class BasicInboxReader {
 public:
  BasicInboxReader(BasicInboxWords<M>& words, std::byte* segment) noexcept
      : words_(words), segment_(segment) {}

  /// Hands the next cell to `deliver(BasicCell<M>&)` and gives it back to its sender; false when none is
  /// there.
  template <class Deliver>
  bool try_read(Deliver&& deliver) noexcept {
    std::uint64_t offset = 0;
    if (last_ == 0) {
      // R1 (pairs with W2 in append): the fields of the first cell.
      offset = words_.head.load(std::memory_order_acquire);
      if (offset == 0) return false;
      // Relaxed: the next writer to store here is ordered behind R3's release.
      words_.head.store(0, std::memory_order_relaxed);
    } else {
      // R2 (pairs with W3 in append): the fields of the next cell.
      offset = cell_at<M>(segment_, last_).next.load(std::memory_order_acquire);
      if (offset == 0) return false;  // its writer has taken its place in the queue but not linked itself yet
      give_back(last_);
    }
    deliver(cell_at<M>(segment_, offset));
    // R3 (pairs with W1 in append): release orders our clearing of `head` before the store of the next
    // first writer. When another writer came in between, the cell stays with us until that has linked
    // behind it.
    std::uint64_t expected = offset;
    const bool is_last = words_.tail.compare_exchange_strong(expected, 0, std::memory_order_acq_rel,
                                                             std::memory_order_relaxed);
    last_ = is_last ? 0 : offset;
    if (is_last) give_back(offset);
    return true;
  }

 private:
  void give_back(std::uint64_t offset) noexcept {
    BasicCell<M>& cell = cell_at<M>(segment_, offset);
    cell.next.store(0, std::memory_order_relaxed);  // ordered by the release below
    // W4 (pairs with R4 in CellPool::try_take): our reads of the cell come before its next use.
    cell.is_taken.store(0, std::memory_order_release);
  }

  BasicInboxWords<M>& words_;
  std::byte* segment_;
  std::uint64_t last_ = 0;  // delivered, but others may still link behind it
};

/// The cells of one sender, in its region.
/// Thread safety: one process takes; the readers give back, each cell by one of them.
template <class M>
class BasicCellPool {
 public:
  BasicCellPool() = default;
  BasicCellPool(std::byte* segment, std::uint64_t offset, std::uint64_t cell_bytes,
                std::uint64_t cells) noexcept
      : segment_(segment), offset_(offset), cell_bytes_(cell_bytes), cells_(cells) {}

  std::size_t payload_bytes_max() const noexcept { return cell_bytes_ - sizeof(BasicCell<M>); }

  /// Offset of a free cell, now taken; 0 when the next few are all in use.
  std::uint64_t try_take() noexcept {
    constexpr std::uint64_t kTriesMax = 4;
    for (std::uint64_t tries = 0; tries < kTriesMax && tries < cells_; ++tries) {
      const std::uint64_t offset = offset_ + next_ * cell_bytes_;
      next_ = next_ + 1 == cells_ ? 0 : next_ + 1;
      BasicCell<M>& cell = cell_at<M>(segment_, offset);
      // R4 (pairs with W4 in give_back).
      if (cell.is_taken.load(std::memory_order_acquire) != 0) continue;
      cell.is_taken.store(1, std::memory_order_relaxed);  // nobody else looks at it while it is free
      return offset;
    }
    return 0;
  }

 private:
  std::byte* segment_ = nullptr;
  std::uint64_t offset_ = 0;
  std::uint64_t cell_bytes_ = 0;
  std::uint64_t cells_ = 0;
  std::uint64_t next_ = 0;
};

using InboxWords = BasicInboxWords<Hardware>;
using Cell = BasicCell<Hardware>;
using InboxReader = BasicInboxReader<Hardware>;
using CellPool = BasicCellPool<Hardware>;

static_assert(sizeof(Cell) == 48);
static_assert(sizeof(InboxWords) == 64);

}  // namespace dunlin::transport::shm
