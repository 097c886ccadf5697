// Which interface of this machine reaches other nodes, found out by trying (docs/network.md).
//
// The first rank of each node opens a door, whose text boot/ carries; who has several interfaces to choose
// from tries to connect from each of them to the door of the next node.  So an interface that is up and leads
// nowhere, as those of containers, tunnels and unplugged lines, is not taken though it is listed first.
// Used by runtime/ (the door) and fabric.cpp (who tries).  Thread safety: none, at init.
#pragma once

#include <sys/socket.h>

#include <span>
#include <string>
#include <string_view>

namespace dunlin::transport::ofi {

/// Where others may try to connect to as long as this lives.  Nobody is let in.
class Door {
 public:
  Door() noexcept;
  Door(const Door&) = delete;
  ~Door();
  /// Of up to 500 bytes: its port, and the addresses of this machine that mean something elsewhere, if any.
  std::string text() const;

 private:
  int fd_ = -1;
};

/// Index of the first of `candidates`, addresses of this machine, from which the door of another one was
/// reached within DUNLIN_OFI_PROBE_MS; -1 where none was, or the door is no other machine's.  Those behind it
/// are waited for only where those before it answer late.  Cost: a connection for each candidate and address.
int first_that_reaches(std::span<const sockaddr_storage> candidates, std::string_view door) noexcept;

}  // namespace dunlin::transport::ofi
