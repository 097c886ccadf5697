// Calls of the standard that are all binding: they join two folders below, or are old forms of other calls.
//
// Found by tools/generate like the functions.hpp of the chapters, before which they come.  The functions are
// in bindings/c/adapt*.cpp.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/err.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "object/file.hpp"
#include "object/info.hpp"
#include "object/session.hpp"
#include "object/win.hpp"

namespace dunlin::bindings {

/// Profiling levels are the profiling library's; the library itself ignores the call (MPI 5.0, 15.2.4).
int pcontrol(int level) noexcept;
Err get_address(const void* location, MPI_Aint* address) noexcept;

/// From the shared heap, so that the node's other ranks reach it without a copy; aligned to a cache line.
/// `baseptr` points to a void*.  No info key is defined (MPI 5.0, 9.2).
Err alloc_mem(MPI_Aint size, Info* info, void* baseptr) noexcept;
Err free_mem(void* base) noexcept;

// What a status says in terms of a datatype (MPI 5.0, 3.2.5, 5.1.11 and 13.3).
Err get_count(const MPI_Status* status, const Datatype& datatype, std::int64_t* count) noexcept;
Err get_elements(const MPI_Status* status, const Datatype& datatype, std::int64_t* count) noexcept;
Err status_set_elements(MPI_Status* status, const Datatype& datatype, std::int64_t count) noexcept;

// Old forms (MPI 5.0, chapter 17).
Err type_extent(const Datatype& datatype, MPI_Aint* extent) noexcept;
Err type_lb(const Datatype& datatype, MPI_Aint* displacement) noexcept;
Err type_ub(const Datatype& datatype, MPI_Aint* displacement) noexcept;

// Datatypes with their attributes (MPI 5.0, 7.7.4).
Err type_free(Datatype& datatype) noexcept;
Err type_set_attr(Datatype& datatype, int keyval, void* value) noexcept;
Err type_get_attr(const Datatype& datatype, int keyval, void* value, int* flag) noexcept;
Err type_delete_attr(Datatype& datatype, int keyval) noexcept;

/// Calls the handler of `comm`; success whatever the handler did (MPI 5.0, 9.5).
Err comm_call_errhandler(Comm& comm, int errorcode) noexcept;
Err session_call_errhandler(Session& session, int errorcode) noexcept;
Err win_call_errhandler(Win& win, int errorcode) noexcept;
Err file_call_errhandler(File* file, int errorcode) noexcept;

}  // namespace dunlin::bindings
