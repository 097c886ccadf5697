// Whether MPI may be called: written by runtime/ (init, finalize, sessions), read by every call of the C
// bindings.
//
// Thread safety: written under base/big_lock.hpp; a call that races with MPI_Finalize is the program's error.
#pragma once

namespace dunlin {

struct Life {
  /// How many ways of using MPI are open: one for MPI_Init until MPI_Finalize, one for each session.
  static inline int users = 0;
  /// Whether MPI_Finalize has run; in a child of fork, too, so that what runs at its exit lets MPI alone.
  static inline bool is_finalized = false;
  /// This process is a child that a rank has forked: it has the rank's memory, and is not the rank.
  static inline bool is_forked = false;

  static bool is_usable() noexcept { return users > 0; }
};

}  // namespace dunlin
