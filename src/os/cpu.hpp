// What a processor offers beside computing: a hint for loops that wait, its clock, its caches.
#pragma once

#include <cstddef>
#include <cstdint>

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

/// A hint that another core reads this line next: where the processor can, it moves to a cache that both
/// share. Elsewhere the instruction does nothing.
inline void hand_over([[maybe_unused]] const void* line) noexcept {
#if defined(__x86_64__)
  asm volatile(".byte 0x0f, 0x1c, 0x00" : : "a"(line) : "memory");  // cldemote (%rax)
#endif
}

/// A hint that this core writes the line soon: it is taken from the other caches meanwhile.
inline void prepare_to_write(const void* line) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw (%0)" : : "r"(line));
#else
  __builtin_prefetch(line, 1);
#endif
}

/// A clock to time single loads with: everything before is done, nothing behind has begun.  0 where there is
/// none.
inline std::uint64_t cycles() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_lfence();
  const std::uint64_t now = __builtin_ia32_rdtsc();
  __builtin_ia32_lfence();
  return now;
#elif defined(__aarch64__)
  std::uint64_t now;
  asm volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(now)::"memory");
  return now;
#else
  return 0;
#endif
}

/// Writes a line back to memory and drops it from all caches.
inline void flush_line(const void* line) noexcept {
#if defined(__x86_64__)
  __builtin_ia32_mfence();
  __builtin_ia32_clflush(line);
  __builtin_ia32_mfence();
#elif defined(__aarch64__)
  asm volatile("dc civac, %0; dsb ish" ::"r"(line) : "memory");
#endif
}

/// Whether stores to many lines that this core has written, and another has read since, wait for each other
/// (AMD, whose caches keep such lines as "owned"); to lines that another core wrote last they overlap.
bool stores_slowly_to_owned_lines() noexcept;

/// Bytes of this processor's cache of level 2 or 3, as /sys tells them (the C library's figures are those of
/// all sockets on some processors); 0 where it does not.
std::size_t cache_bytes(int level) noexcept;

}  // namespace dunlin::os
