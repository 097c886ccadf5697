// What the C library and gfortran's hold back of a program's output, for processes that end without `exit`.
#pragma once

namespace dunlin::os {

/// Writes out what stdout, stderr and Fortran's units hold.  Does nothing where a signal handler may be
/// running (a signal is blocked), leaves out a stream that another thread is using, and waits a second for a
/// unit: each could wait for ever.
void flush_standard_streams() noexcept;

}  // namespace dunlin::os
