// See stacks.hpp.  Saved are the registers that a function has to keep for its caller; not the modes of
// floating-point arithmetic, which no test changes.
#include <cstdint>

#include "test/stacks.hpp"

extern "C" void dunlin_test_switch_stacks(void** from, void* to);

asm(R"(
.text
.globl dunlin_test_switch_stacks
.hidden dunlin_test_switch_stacks
.type dunlin_test_switch_stacks, @function
dunlin_test_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size dunlin_test_switch_stacks, . - dunlin_test_switch_stacks
)");

namespace dunlin::test {

void Stack::prepare(std::span<std::byte> memory, void (*body)()) {
  constexpr int kSaved = 6;
  const auto end = reinterpret_cast<std::uintptr_t>(memory.data() + memory.size()) & ~std::uintptr_t(15);
  auto* word = reinterpret_cast<std::uintptr_t*>(end);
  *--word = 0;  // where `body` would return to: debuggers see that the stack ends here
  *--word = reinterpret_cast<std::uintptr_t>(body);
  for (int i = 0; i < kSaved; ++i) *--word = 0;
  top_ = word;
}

void Stack::go(Stack& from, Stack& to) { dunlin_test_switch_stacks(&from.top_, to.top_); }

}  // namespace dunlin::test
