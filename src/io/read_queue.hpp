// Reads that the kernel has in hand at once (io_uring), so that a disk is asked for all of them, and the
// program's call only leaves them here.
//
// Used by io/storage.cpp; io/worker.hpp does what this one does not take.
// Thread safety: `try_queue` by any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "io/worker.hpp"

namespace dunlin::io {

/// One piece of memory that is filled from one run of a file.
struct Read : Job {
  int descriptor = -1;
  std::byte* at = nullptr;
  std::size_t bytes = 0;  // at most kCallBytes
  std::int64_t offset = 0;
};

/// True: when the job is done, all bytes are there, or the worker has done its work because they did not come
/// so.  False: nothing was begun, as there is no such queue.
bool try_queue(Read& read) noexcept;

}  // namespace dunlin::io
