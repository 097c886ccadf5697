// How an error leaves the library: one sentence is made of it and the error handler of its object is
// called.
//
// Called by the generated bindings only, always as the last thing of a call.  All cold: none of it is on a
// path that succeeds.  The rules of which handler hears of what are MPI 5.0, 9.3.
#pragma once

#include "base/err.hpp"

namespace dunlin {
class Comm;
class Errhandler;
class Object;
}  // namespace dunlin

namespace dunlin::bindings {

/// Calls the handler of `comm` (nullptr: of MPI_COMM_SELF, or the initial one where MPI is not initialised)
/// and answers the code to return.
[[gnu::cold]] int raise(Comm* comm, Err error, const char* call) noexcept;

/// The same for errors on an object with a handler of its own: window, file or session.  `handle` is what a
/// handler written by the program is given a pointer to.
[[gnu::cold]] int raise_on(Errhandler* errhandler, void* handle, Err error, const char* call) noexcept;

/// "dest = 7 is no rank ..." errors of arguments: each records its sentence and raises it.
[[gnu::cold]] int bad_handle(Comm* comm, Err error, const void* handle, const char* argument,
                                            const char* call) noexcept;
[[gnu::cold]] int bad_count(Comm* comm, long long count, const char* argument, const char* call) noexcept;
[[gnu::cold]] int bad_rank(Comm* comm, int rank, const char* argument, const char* call) noexcept;
[[gnu::cold]] int bad_root(Comm* comm, int root, const char* call) noexcept;
[[gnu::cold]] int bad_tag(Comm* comm, int tag, const char* argument, const char* call) noexcept;
[[gnu::cold]] int bad_buffer(Comm* comm, const char* argument, const char* call) noexcept;
[[gnu::cold]] int bad_in_place(Comm* comm, const char* argument, const char* call) noexcept;
[[gnu::cold]] int bad_pointer(Comm* comm, const char* argument, const char* call) noexcept;
[[gnu::cold]] int uncommitted(Comm* comm, const char* argument, const char* call) noexcept;
[[gnu::cold]] int not_usable(const char* call) noexcept;
[[gnu::cold]] int too_large(Comm* comm, long long value, const char* argument, const char* call) noexcept;

/// MPI_Comm_get_name and its like for a null handle, whose name is that of the constant.
[[gnu::cold]] int null_name(const char* constant, char* name, int* length, const char* call) noexcept;

/// For calls of the standard that this version of the library does not do yet.
[[gnu::cold]] int unsupported(Comm* comm, const char* call) noexcept;
/// As `unsupported`, for calls whose errors go to no handler: files (the default is to return) and the tool
/// interface.
[[gnu::cold]] int unsupported_returned(const char* call) noexcept;

}  // namespace dunlin::bindings
