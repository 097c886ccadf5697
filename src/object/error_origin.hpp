// Whose error handler hears of an error that a call on requests finds: the communicator of the request that
// failed.
//
// Set by pt2pt/completion.cpp right before it returns the error; read and forgotten by bindings/c/raise.cpp
// when a call names no communicator itself (MPI 5.0, 9.3: the handler of the communicator the operation
// belongs to).
#pragma once

namespace dunlin {

class Comm;

inline thread_local Comm* error_origin = nullptr;
inline void set_error_origin(Comm* comm) noexcept { error_origin = comm; }
inline Comm* take_error_origin() noexcept {
  Comm* const comm = error_origin;
  error_origin = nullptr;
  return comm;
}

}  // namespace dunlin
