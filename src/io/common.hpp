// What the ranks of an open file have in common: a communicator of their own and, at rank 0, the word of the
// shared pointer and how many write, all in one window.
//
// A window takes six short collectives to make, so that a communicator keeps those of its closed files for
// the next ones.  Used by io/open.cpp.
// Thread safety: under base/big_lock.hpp.
#pragma once

#include <memory>

#include "object/comm.hpp"
#include "object/win.hpp"
#include "transport/shm/commons.hpp"

namespace dunlin::io {

/// Rank 0's memory.
struct CommonWords {
  std::int64_t shared_pointer;  // by one-sided calls of all ranks
  // Of rank 0's node, that write a long piece now; in a line of its own.
  alignas(64) transport::shm::Number writers;
};

struct Common {
  Common(Ref<Win> made, CommonWords* mapped) noexcept : window(std::move(made)), words(mapped) {}
  const Ref<Win> window;
  CommonWords* const words;  // null: on another node
  bool is_in_use = true;
};

/// At rank 0: the number of one of the communicator's that no file uses; -1: there is none.
int find_common(Comm& comm) noexcept;
/// The one with that number; where another thread is about to close its file, after that.
std::shared_ptr<Common> take_common(Comm& comm, int number) noexcept;
/// Collective: one more.
Err make_common(Comm& comm, std::shared_ptr<Common>* made) noexcept;

}  // namespace dunlin::io
