// Hands an open file descriptor (a memfd) from one process of a machine to others, without a file.
// Used by boot/node_segment.cpp and memory/ (heap segments of the node's ranks).
//
// The giver publishes the descriptor under a name that the caller makes unique and hard to guess and tells
// the takers (through boot put/get or shared memory).  Way: SCM_RIGHTS over an abstract Unix socket, both
// ends checked by SO_PEERCRED for the same user; /proc/PID/fd/N is tried first where it is permitted, since
// it needs no service by the giver.  Abstract sockets are per network namespace: ranks in containers of
// their own need the shortcut.
#pragma once

#include <string>
#include <string_view>

#include "base/err.hpp"

namespace dunlin::os {

/// Offers one descriptor to any number of takers of the same user.
/// Thread safety: one thread at a time.
class DescriptorOffer {
 public:
  DescriptorOffer() = default;
  DescriptorOffer(DescriptorOffer&& other) noexcept;
  DescriptorOffer& operator=(DescriptorOffer&& other) noexcept;
  DescriptorOffer(const DescriptorOffer&) = delete;
  ~DescriptorOffer();

  /// Starts to offer `fd` (stays owned by the caller, must stay open as long as the offer).
  static Result<DescriptorOffer> open(int fd) noexcept;

  /// What takers need: pid, descriptor number and socket name as one word without blanks.
  const std::string& ticket() const noexcept { return ticket_; }

  /// Serves takers who are waiting now; returns how many.  Never blocks.
  int serve() noexcept;
  /// Serves until `takers` were served or `timeout_ms` passed; returns how many.
  int serve(int takers, int timeout_ms) noexcept;

 private:
  int listener_ = -1;
  int fd_ = -1;
  std::string ticket_;
};

/// Takes the descriptor of a ticket; a new descriptor of this process, close-on-exec.  `*by_socket` (when
/// not null) tells whether the giver had to serve it.
Result<int> take_descriptor(std::string_view ticket, int timeout_ms, bool* by_socket = nullptr) noexcept;

}  // namespace dunlin::os
