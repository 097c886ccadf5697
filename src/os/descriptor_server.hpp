// A thread that hands out descriptors of this process to others of the same user, by SCM_RIGHTS over an
// abstract Unix socket: for processes whose descriptors nobody may open through /proc (not dumpable, other
// process namespace).
//
// Used by peer/peer_control.cpp.  The other end of it is `take_served_descriptor`.
#pragma once

#include <cstdint>

namespace dunlin::os {

/// Starts to serve under `key`, which is random and goes to the takers by another way.  `may_give` tells
/// whether descriptor `number` is one of those to be had; it is called by the thread.  The thread sleeps
/// until it is asked, takes no signals and lives as long as the process.  False when there can be no socket
/// or thread.
bool serve_descriptors(std::uint64_t key, bool (*may_give)(int number) noexcept) noexcept;

/// Asks the process that serves under `key` for its descriptor `number`; a new descriptor of this process,
/// close-on-exec, or -1 with errno.  Waits a second at most.
int take_served_descriptor(std::uint64_t key, int number) noexcept;

}  // namespace dunlin::os
