#include "object/comm.hpp"

#include <cstdio>
#include <cstring>

namespace dunlin {

Comm::~Comm() {
  if (buffer && free_buffer) free_buffer(buffer);
}

void Comm::explain(WaitReason& reason) const noexcept {
  reason.context = context;
  reason.started = std::int32_t(collective_count);
  std::memcpy(reason.recent, recent_collectives, sizeof reason.recent);
  if (name[0])
    std::snprintf(reason.comm, sizeof reason.comm, "%.63s", name);
  else
    std::snprintf(reason.comm, sizeof reason.comm, "a communicator of %d ranks", size);
}

}  // namespace dunlin
