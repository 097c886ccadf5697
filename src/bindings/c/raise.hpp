// How an error leaves the library: one sentence is made of it and the error handler of its object is
// called.
//
// Called by the generated bindings only, always as the last thing of a call.  All cold: none of it is on a
// path that succeeds.  The rules of which handler hears of what are MPI 5.0, 9.3.
#pragma once

#include "base/err.hpp"

namespace dunlin {
class Comm;
class Object;
class Win;
}  // namespace dunlin

namespace dunlin::bindings {

/// Calls the error handler of what the call is about and answers the code to return: a communicator's, a
/// window's, a file's or a session's own; an error handler that the call was given for what it makes; for all
/// else (nullptr too) that of MPI_COMM_SELF, or the initial one where MPI is not initialised.
[[gnu::cold]] int raise(Object* about, Err error, const char* call) noexcept;

/// While one lives, errors of this thread are those of another call: one under an older name is a call of
/// today.
class CalledAs {
 public:
  explicit CalledAs(const char* call) noexcept { name = call; }
  ~CalledAs() { name = nullptr; }
  CalledAs(const CalledAs&) = delete;
  static thread_local const char* name;
};

/// "dest = 7 is no rank ..." errors of arguments: each records its sentence and raises it.
[[gnu::cold]] int bad_handle(Object* about, Err error, const void* handle, const char* argument,
                             const char* call) noexcept;
[[gnu::cold]] int bad_count(Object* about, long long count, const char* argument, const char* call) noexcept;
[[gnu::cold]] int bad_rank(Comm* comm, int rank, const char* argument, const char* call) noexcept;
[[gnu::cold]] int bad_target(Win* win, int rank, const char* argument, const char* call) noexcept;
[[gnu::cold]] int bad_root(Comm* comm, int root, const char* call) noexcept;
[[gnu::cold]] int bad_tag(Object* about, int tag, const char* argument, const char* call) noexcept;
[[gnu::cold]] int bad_buffer(Object* about, const void* buffer, const char* argument,
                             const char* call) noexcept;
[[gnu::cold]] int bad_in_place(Object* about, const char* argument, const char* call) noexcept;
[[gnu::cold]] int bad_alias(Object* about, const char* call) noexcept;
[[gnu::cold]] int bad_pointer(Object* about, const char* argument, const char* call) noexcept;
[[gnu::cold]] int uncommitted(Object* about, const char* argument, const char* call) noexcept;
[[gnu::cold]] int not_usable(const char* call) noexcept;
[[gnu::cold]] int too_large(Object* about, long long value, const char* argument, const char* call) noexcept;

/// MPI_Comm_get_name and its like for a null handle, whose name is that of the constant.
[[gnu::cold]] int null_name(const char* constant, char* name, int* length, const char* call) noexcept;

/// For calls of the standard that this version of the library does not do yet.
[[gnu::cold]] int unsupported(Object* about, const char* call) noexcept;
/// As `unsupported`, for calls whose errors go to no handler: the tool interface, where programs look at the
/// answer.
[[gnu::cold]] int unsupported_returned(const char* call) noexcept;

}  // namespace dunlin::bindings
