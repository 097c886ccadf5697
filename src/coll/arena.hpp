// Memory of one running collective: coroutine frames, operations under way and scratch buffers, given back
// all at once.
//
// Starts in memory of its owner (the stack of a blocking call, the request of a nonblocking one) and goes on
// in blocks from the C library.  After `rewind` the same sequence of `take` finds the same memory, so that a
// persistent collective allocates in its first round only.  Called by coll/steps.hpp. Thread safety: used by
// one collective, under base/big_lock.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/assert.hpp"

namespace dunlin::coll {

class Arena {
 public:
  Arena(std::byte* memory, std::size_t bytes) noexcept
      : own_(memory), own_bytes_(bytes), at_(memory), end_(memory + bytes) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { free_blocks(); }

  /// 16-byte aligned, uninitialised; nullptr when memory is out.
  void* take(std::size_t bytes) noexcept {
    const std::size_t step = (bytes + kAlignment - 1) & ~(kAlignment - 1);
    if (step > std::size_t(end_ - at_)) [[unlikely]]
      return take_from_next_block(step);
    void* taken = at_;
    at_ += step;
    return taken;
  }

  /// Takes everything back; the blocks are kept.
  void rewind() noexcept {
    current_ = nullptr;
    at_ = own_;
    end_ = own_ + own_bytes_;
  }

 private:
  static constexpr std::size_t kAlignment = 16;
  static constexpr std::size_t kBlockBytesMin = 4096;
  struct alignas(16) Block {
    Block* next;
    std::size_t bytes;  // behind this header
  };

  /// The block behind the current one where it is large enough, else a new one put there.
  [[gnu::noinline]] void* take_from_next_block(std::size_t bytes) noexcept {
    Block** link = current_ ? &current_->next : &first_;
    if (!*link || (*link)->bytes < bytes) {
      const std::size_t block_bytes = bytes > kBlockBytesMin ? bytes : kBlockBytesMin;
      void* memory =
          block_bytes > SIZE_MAX - sizeof(Block) ? nullptr : std::malloc(sizeof(Block) + block_bytes);
      if (!memory) return nullptr;
      *link = ::new (memory) Block{*link, block_bytes};
    }
    current_ = *link;
    at_ = reinterpret_cast<std::byte*>(current_ + 1);
    end_ = at_ + current_->bytes;
    void* taken = at_;
    at_ += bytes;
    DUNLIN_ASSERT(at_ <= end_);
    return taken;
  }

  void free_blocks() noexcept {
    for (Block* each = first_; each;) {
      Block* next = each->next;
      std::free(each);
      each = next;
    }
  }

  std::byte* const own_;
  const std::size_t own_bytes_;
  std::byte* at_;
  std::byte* end_;
  Block* first_ = nullptr;
  Block* current_ = nullptr;  // nullptr: still in the owner's memory
};

}  // namespace dunlin::coll
