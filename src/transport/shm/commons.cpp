// Giving the shared memory of a communicator that is gone to another; see commons.hpp.
#include "transport/shm/commons.hpp"

#include <cstring>

namespace dunlin::transport::shm {

bool Commons::try_clear() noexcept {
  const std::uint32_t gone = head()->gone.load(std::memory_order_acquire);  // pairs with G1
  if (gone == 0 || gone != head()->members.load(std::memory_order_relaxed)) return false;
  clear();
  return true;
}

void Commons::clear() noexcept { std::memset(base_, 0, lines_bytes(members_max_)); }

}  // namespace dunlin::transport::shm
