// Goes from one stack to another: what the interleaver (unit/transport/interleave.hpp) and simulated ranks
// (simulate/fibers.hpp) run on.
//
// The C library's swapcontext does the same, with a system call for the signals that are blocked, and
// AddressSanitizer goes over the whole stack each time.  Both took most of those tests' time.  Processors
// that stacks_x86_64.cpp does not know do it that way (stacks_portable.cpp).
#pragma once

#include <sanitizer/asan_interface.h>
#include <ucontext.h>

#include <cstddef>
#include <span>

namespace dunlin::test {

class Stack {
 public:
  /// The next switch to this calls `body` on that memory, whatever was left there; `body` never returns.
  void begin_on(std::span<std::byte> memory, void (*body)()) {
    ASAN_UNPOISON_MEMORY_REGION(memory.data(), memory.size());  // by who was abandoned there
    prepare(memory, body);
  }
  /// Leaves `from`, which is the caller's own, and goes on in `to`, where that was left.
  static void go(Stack& from, Stack& to);

 private:
  void prepare(std::span<std::byte> memory, void (*body)());

  void* top_ = nullptr;  // x86-64: what is saved lies there
  ucontext_t context_;   // others
};

}  // namespace dunlin::test
