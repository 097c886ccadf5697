// How long the kernel lets this thread run before another one that is ready on the same CPU has its turn.
#pragma once

#include <cstdint>

namespace dunlin::os {

/// Shortens the turns of the calling thread, and of what it starts from now on, to `ns`; the kernel takes 100
/// us to 100 ms.  Its share of the CPU stays.  False where that is refused, where the thread is scheduled by
/// another policy than the usual ones, and where its turns are as short already.  Before Linux 6.12 nothing
/// changes.
bool try_shorten_time_slice(std::int64_t ns) noexcept;

/// As long as it lives, the thread that makes it, and what it starts, have turns as the system gives them,
/// where this process has shortened its own.
class UsualTurns {
 public:
  UsualTurns() noexcept;
  ~UsualTurns();
  UsualTurns(const UsualTurns&) = delete;

 private:
  std::int64_t short_ns_ = 0;  // 0: they were not shortened
};

/// The length of its turns in ns; 0 where the kernel does not tell.
std::int64_t time_slice() noexcept;

}  // namespace dunlin::os
