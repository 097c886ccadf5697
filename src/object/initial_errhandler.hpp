// The error handler that hears of errors before MPI_Init, after MPI_Finalize, and that the predefined
// communicators start with (MPI 5.0, 9.3.4 and 11.5).
#pragma once

#include "object/errhandler.hpp"

namespace dunlin {

/// One of the three predefined handlers, as the setting DUNLIN_INITIAL_ERRHANDLER says.
Errhandler& initial_errhandler() noexcept;

/// Whether the program has set the handler of MPI_COMM_SELF, be it to what it was.
inline bool is_self_errhandler_set = false;

}  // namespace dunlin
