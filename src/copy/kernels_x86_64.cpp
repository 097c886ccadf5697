// Copy kernels for x86-64: AVX-512, AVX2 or SSE2 loops.
//
// All loops move 256 bytes a turn with unaligned loads and stores; the rest goes by one overlapping block.
// Streaming kernels align the destination first, because a partly filled line costs a read of memory.
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "copy/kernels.hpp"

namespace dunlin::copy {
namespace {

constexpr std::size_t kTurnBytes = 256;

[[gnu::target("avx512f")]] void lines_avx512(std::byte* to, const std::byte* from,
                                             std::size_t bytes) noexcept {
  std::size_t at = 0;
  for (; at + kTurnBytes <= bytes; at += kTurnBytes) {
    const __m512i a = _mm512_loadu_si512(from + at);
    const __m512i b = _mm512_loadu_si512(from + at + 64);
    const __m512i c = _mm512_loadu_si512(from + at + 128);
    const __m512i d = _mm512_loadu_si512(from + at + 192);
    _mm512_storeu_si512(to + at, a);
    _mm512_storeu_si512(to + at + 64, b);
    _mm512_storeu_si512(to + at + 128, c);
    _mm512_storeu_si512(to + at + 192, d);
  }
  std::memcpy(to + at, from + at, bytes - at);
}

[[gnu::target("avx2")]] void lines_avx2(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::size_t at = 0;
  for (; at + kTurnBytes <= bytes; at += kTurnBytes)
    for (std::size_t line = 0; line < kTurnBytes; line += 128) {
      const auto* source = reinterpret_cast<const __m256i*>(from + at + line);
      auto* target = reinterpret_cast<__m256i*>(to + at + line);
      const __m256i a = _mm256_loadu_si256(source);
      const __m256i b = _mm256_loadu_si256(source + 1);
      const __m256i c = _mm256_loadu_si256(source + 2);
      const __m256i d = _mm256_loadu_si256(source + 3);
      _mm256_storeu_si256(target, a);
      _mm256_storeu_si256(target + 1, b);
      _mm256_storeu_si256(target + 2, c);
      _mm256_storeu_si256(target + 3, d);
    }
  std::memcpy(to + at, from + at, bytes - at);
}

void lines_baseline(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}

/// Copies up to the next 64-byte boundary of the destination; returns how many bytes that were.
std::size_t copy_to_boundary(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % 64;
  if (head > bytes) head = bytes;
  std::memcpy(to, from, head);
  return head;
}

[[gnu::target("avx512f")]] void streaming_avx512(std::byte* to, const std::byte* from,
                                                 std::size_t bytes) noexcept {
  std::size_t at = copy_to_boundary(to, from, bytes);
  for (; at + kTurnBytes <= bytes; at += kTurnBytes) {
    const __m512i a = _mm512_loadu_si512(from + at);
    const __m512i b = _mm512_loadu_si512(from + at + 64);
    const __m512i c = _mm512_loadu_si512(from + at + 128);
    const __m512i d = _mm512_loadu_si512(from + at + 192);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), a);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at + 64), b);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at + 128), c);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at + 192), d);
  }
  for (; at + 64 <= bytes; at += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from + at));
  std::memcpy(to + at, from + at, bytes - at);
  _mm_sfence();
}

[[gnu::target("avx2")]] void streaming_avx2(std::byte* to, const std::byte* from,
                                            std::size_t bytes) noexcept {
  std::size_t at = copy_to_boundary(to, from, bytes);
  for (; at + 64 <= bytes; at += 64) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at), a);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at + 32), b);
  }
  std::memcpy(to + at, from + at, bytes - at);
  _mm_sfence();
}

void streaming_baseline(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::size_t at = copy_to_boundary(to, from, bytes);
  for (; at + 64 <= bytes; at += 64)
    for (std::size_t part = 0; part < 64; part += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at + part),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + part)));
  std::memcpy(to + at, from + at, bytes - at);
  _mm_sfence();
}

}  // namespace

Kernels detect_kernels() noexcept {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return {"avx512", lines_avx512, streaming_avx512};
  if (__builtin_cpu_supports("avx2")) return {"avx2", lines_avx2, streaming_avx2};
  return {"baseline", lines_baseline, streaming_baseline};
}

}  // namespace dunlin::copy
