// Whether MPI may be called: written by runtime/ (init, finalize, sessions), read by every call of the C
// bindings.
//
// Thread safety: written under base/big_lock.hpp; a call that races with MPI_Finalize is the program's error.
#pragma once

namespace dunlin {

struct Life {
  /// How many ways of using MPI are open: one for MPI_Init until MPI_Finalize, one for each session.
  static inline int users = 0;
  /// For the sentence of an error only: whether MPI_Finalize has run.
  static inline bool is_finalized = false;

  static bool is_usable() noexcept { return users > 0; }
};

}  // namespace dunlin
