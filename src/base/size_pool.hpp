// Memory for many small records of mixed sizes (unexpected messages): free lists by steps of 16 bytes, no
// header per record.
//
// Blocks of 32 KiB are carved on demand and kept for reuse; records above `kPooledBytesMax` come from the C
// library. Thread safety: used under base/big_lock.hpp.
#pragma once

#include <cstddef>

namespace dunlin {

class SizePool {
 public:
  static SizePool& shared() noexcept;
  /// 16-byte aligned, or nullptr when memory is out.
  void* take(std::size_t bytes) noexcept {
    const std::size_t step = (bytes + kStepBytes - 1) / kStepBytes;
    if (step >= kSteps) [[unlikely]] return take_large(bytes);
    Free* first = free_[step];
    if (!first) [[unlikely]] return carve(step);
    free_[step] = first->next;
    return first;
  }
  void give_back(void* memory, std::size_t bytes) noexcept {
    const std::size_t step = (bytes + kStepBytes - 1) / kStepBytes;
    if (step >= kSteps) [[unlikely]] return give_back_large(memory);
    auto* freed = static_cast<Free*>(memory);
    freed->next = free_[step];
    free_[step] = freed;
  }

 private:
  struct Free { Free* next; };
  static constexpr std::size_t kStepBytes = 16;
  static constexpr std::size_t kPooledBytesMax = 1024;
  static constexpr std::size_t kSteps = kPooledBytesMax / kStepBytes + 1;
  static constexpr std::size_t kBlockBytes =
      32 << 10;  // below what the shared heap takes: it hands out huge pages

  void* carve(std::size_t step) noexcept;
  static void* take_large(std::size_t bytes) noexcept;
  static void give_back_large(void* memory) noexcept;

  Free* free_[kSteps] = {};
  std::byte* block_ = nullptr;       // what is left of the newest block
  std::size_t block_bytes_ = 0;
};

}  // namespace dunlin
