// Whose error handler hears of an error that a call on requests finds: the communicator, window or file of
// the request that failed.
//
// Set by pt2pt/completion.cpp right before it returns the error; read and forgotten by bindings/c/raise.cpp
// when a call names no object itself (MPI 5.0, 9.3: the handler of what the operation belongs to).
#pragma once

#include <utility>

#include "object/object.hpp"

namespace dunlin {

/// Held: the request may have been the last to hold it.
inline thread_local Ref<Object> error_origin;
inline void set_error_origin(Object* object) noexcept { error_origin = Ref<Object>(object); }
inline Ref<Object> take_error_origin() noexcept { return std::move(error_origin); }

}  // namespace dunlin
