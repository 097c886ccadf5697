// What a processor offers to a waiting loop.
#pragma once

namespace dunlin::os {

/// One hint to the processor that this loop polls.  One per poll is best by far: none steals the line between
/// the stores that fill it, more than one adds latency.
inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace dunlin::os
