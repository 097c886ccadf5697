// Fortran procedures that C calls: operators, error handlers, attributes, generalized requests, data
// representations.  Used by the generated files of this folder.
//
// A procedure of mpif.h, of the mpi module and of the mpi_f08 module is called in the same way: a handle of
// mpi_f08 is one INTEGER, and all arguments go by address.  C gets a function of its own for each different
// procedure that a program passes; it stays for good, so nobody must know when the last use ends.
//
// Thread safety: all functions may be called by several threads.
#pragma once

#include "bindings/fortran/arguments.hpp"

namespace dunlin::fortran {

using Procedure = void();

MPI_User_function* user_function(Procedure*) noexcept;
MPI_User_function_c* user_function_c(Procedure*) noexcept;

MPI_Comm_errhandler_function* comm_errhandler_function(Procedure*) noexcept;
MPI_File_errhandler_function* file_errhandler_function(Procedure*) noexcept;
MPI_Session_errhandler_function* session_errhandler_function(Procedure*) noexcept;
MPI_Win_errhandler_function* win_errhandler_function(Procedure*) noexcept;

MPI_Comm_copy_attr_function* comm_copy_attr_function(Procedure*) noexcept;
MPI_Comm_delete_attr_function* comm_delete_attr_function(Procedure*) noexcept;
MPI_Type_copy_attr_function* type_copy_attr_function(Procedure*) noexcept;
MPI_Type_delete_attr_function* type_delete_attr_function(Procedure*) noexcept;
MPI_Win_copy_attr_function* win_copy_attr_function(Procedure*) noexcept;
MPI_Win_delete_attr_function* win_delete_attr_function(Procedure*) noexcept;
/// Those of MPI_KEYVAL_CREATE, whose attributes are of type INTEGER.
MPI_Copy_function* copy_function(Procedure*) noexcept;
MPI_Delete_function* delete_function(Procedure*) noexcept;

MPI_Grequest_query_function* grequest_query_function(Procedure*) noexcept;
MPI_Grequest_free_function* grequest_free_function(Procedure*) noexcept;
MPI_Grequest_cancel_function* grequest_cancel_function(Procedure*) noexcept;

MPI_Datarep_conversion_function* datarep_conversion_function(Procedure*) noexcept;
MPI_Datarep_conversion_function_c* datarep_conversion_function_c(Procedure*) noexcept;
MPI_Datarep_extent_function* datarep_extent_function(Procedure*) noexcept;

}  // namespace dunlin::fortran
