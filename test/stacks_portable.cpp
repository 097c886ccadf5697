// See stacks.hpp: by the C library.
#include "test/stacks.hpp"

namespace dunlin::test {

void Stack::prepare(std::span<std::byte> memory, void (*body)()) {
  getcontext(&context_);
  context_.uc_stack.ss_sp = memory.data();
  context_.uc_stack.ss_size = memory.size();
  context_.uc_link = nullptr;
  makecontext(&context_, body, 0);
}

void Stack::go(Stack& from, Stack& to) { swapcontext(&from.context_, &to.context_); }

}  // namespace dunlin::test
