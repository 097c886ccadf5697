// What the C library holds back of a program's output, for processes that end without `exit`.
#pragma once

namespace dunlin::os {

/// Writes out what stdout and stderr hold.  Does nothing where a signal handler may be running (a signal is
/// blocked), and leaves out a stream that another thread is using: either could wait for ever.
void flush_standard_streams() noexcept;

}  // namespace dunlin::os
