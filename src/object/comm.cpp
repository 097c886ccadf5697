#include "object/comm.hpp"

#include <cstdio>
#include <cstring>

namespace dunlin {

Comm::Comm() noexcept : Object(Kind::comm), previous_(last_) {
  (last_ ? last_->next_ : first_) = this;
  last_ = this;
}

Comm::~Comm() {
  if (buffer && free_buffer) free_buffer(buffer);
  (previous_ ? previous_->next_ : first_) = next_;
  (next_ ? next_->previous_ : last_) = previous_;
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
