// What the ranks of an open file have in common: a communicator of their own and, at rank 0, the word of the
// shared pointer, both in one window.
//
// A window takes six short collectives to make, so that a communicator keeps those of its closed files for
// the next ones.  Used by io/open.cpp.
// Thread safety: under base/big_lock.hpp.
#pragma once

#include <memory>

#include "object/comm.hpp"
#include "object/win.hpp"

namespace dunlin::io {

struct Common {
  explicit Common(Ref<Win> made) noexcept : window(std::move(made)) {}
  const Ref<Win> window;
  bool is_in_use = true;
};

/// At rank 0: the number of one of the communicator's that no file uses; -1: there is none.
int find_common(Comm& comm) noexcept;
/// The one with that number; where another thread is about to close its file, after that.
std::shared_ptr<Common> take_common(Comm& comm, int number) noexcept;
/// Collective: one more.
Err make_common(Comm& comm, std::shared_ptr<Common>* made) noexcept;

}  // namespace dunlin::io
