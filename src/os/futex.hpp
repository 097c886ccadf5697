// Sleeping on a word in memory that several processes share.
//
// `std::atomic::wait` uses the process-private futex and would never be woken by another process.
#pragma once

#include <atomic>
#include <cstdint>

namespace dunlin::os {

/// Sleeps while `word` equals `expected`, at most `timeout_ns`.  Returns on a wake-up, a signal, the
/// time, or at once when the word differs already.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::int64_t timeout_ns) noexcept;

/// Wakes up to `sleepers` of those that sleep on `word`.
void futex_wake(const std::atomic<std::uint32_t>& word, int sleepers) noexcept;

}  // namespace dunlin::os
