#include "object/comm.hpp"

#include <cstdio>

namespace dunlin {

Comm::~Comm() {
  if (buffer && free_buffer) free_buffer(buffer);
}

void Comm::explain(WaitReason& reason) const noexcept {
  if (name[0])
    std::snprintf(reason.comm, sizeof reason.comm, "%s", name);
  else
    std::snprintf(reason.comm, sizeof reason.comm, "a communicator of %d ranks", size);
}

}  // namespace dunlin
