// Who called this library: the outermost of its functions on the stack of the calling thread, the place that
// called it, and who called that one: where a program has functions or a library around MPI's calls, the
// second place says more.
#pragma once

#include <cstdint>

namespace dunlin::os {

struct Caller {
  const char* function =
      "";                 // of this library, as the linker knows it ("PMPI_Recv"); "" where nobody can tell
  const char* file = "";  // the program or library that called
  std::uintptr_t address = 0;  // in `file`, as debuggers count: what the call returns to; 0: unknown
  bool is_program = false;     // `file` is the program, by the name that it was started with
  // In the program: what the function that called returns to, or the library that did; 0: there is nothing.
  std::uintptr_t outer_address = 0;
};

/// Walks the stack from the inside to the first function of another library; some microseconds.  From a
/// signal handler, `skipped` frames of the handler and of the kernel come first.  All empty where the
/// innermost of the others is none of this library.
Caller find_caller(int skipped = 0) noexcept;

}  // namespace dunlin::os
