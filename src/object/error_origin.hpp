// Whose error handler hears of an error that a call on requests finds: the communicator of the request that
// failed.
//
// Set by pt2pt/completion.cpp right before it returns the error; read and forgotten by bindings/c/raise.cpp
// when a call names no communicator itself (MPI 5.0, 9.3: the handler of the communicator the operation
// belongs to).
#pragma once

#include <utility>

#include "object/comm.hpp"

namespace dunlin {

/// Held: the request may have been the last to hold it.
inline thread_local Ref<Comm> error_origin;
inline void set_error_origin(Comm* comm) noexcept { error_origin = Ref<Comm>(comm); }
inline Ref<Comm> take_error_origin() noexcept { return std::move(error_origin); }

}  // namespace dunlin
