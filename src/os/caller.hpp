// Who called this library: the outermost of its functions on the stack of the calling thread, and the place
// in the program that called it.
#pragma once

#include <cstdint>

namespace dunlin::os {

struct Caller {
  const char* function =
      "";                 // of this library, as the linker knows it ("PMPI_Recv"); "" where nobody can tell
  const char* file = "";  // the program or library that called
  std::uintptr_t address = 0;  // in `file`, as debuggers count: what the call returns to; 0: unknown
};

/// Walks the stack from the inside to the first function of another library; some microseconds.  From a
/// signal handler, `skipped` frames of the handler and of the kernel come first.  All empty where the
/// innermost of the others is none of this library.
Caller find_caller(int skipped = 0) noexcept;

}  // namespace dunlin::os
