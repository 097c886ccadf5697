#include "base/size_pool.hpp"

#include <cstdlib>

namespace dunlin {

SizePool& SizePool::shared() noexcept {
  static SizePool pool;
  return pool;
}

void* SizePool::carve(std::size_t step) noexcept {
  const std::size_t bytes = step * kStepBytes;
  if (block_bytes_ < bytes) {  // the rest of the old block, below 1 KiB, is given up
    block_ = static_cast<std::byte*>(std::aligned_alloc(kStepBytes, kBlockBytes));
    block_bytes_ = block_ ? kBlockBytes : 0;
    if (!block_) return nullptr;
  }
  std::byte* taken = block_;
  block_ += bytes;
  block_bytes_ -= bytes;
  return taken;
}

void* SizePool::take_large(std::size_t bytes) noexcept { return std::malloc(bytes); }
void SizePool::give_back_large(void* memory) noexcept { std::free(memory); }

}  // namespace dunlin
