// The predefined procedures MPI_COMM_DUP_FN, MPI_COMM_NULL_COPY_FN and so on.  A program passes their
// addresses, which callbacks.cpp turns into what they are in C; it may call them too.
#pragma once

#include "bindings/fortran/arguments.hpp"

#pragma GCC visibility push(default)
namespace dunlin::fortran {
extern "C" {

using NullCopy = void(Fint*, Fint*, MPI_Aint*, MPI_Aint*, MPI_Aint*, Fint* flag,
                      Fint* ierror);
using NullDelete = void(Fint*, Fint*, MPI_Aint*, MPI_Aint*, Fint* ierror);
using OldCopy = void(Fint*, Fint*, Fint*, Fint*, Fint*, Fint* flag, Fint* ierror);
using OldDelete = void(Fint*, Fint*, Fint*, Fint*, Fint* ierror);
using NullConversion = void(char*, Fint*, Fint*, char*, MPI_Offset*, MPI_Aint*, Fint* ierror);
using NullConversionLarge = void(char*, Fint*, MPI_Count*, char*, MPI_Offset*, MPI_Aint*,
                                 Fint* ierror);

NullCopy mpi_comm_null_copy_fn_, mpi_comm_dup_fn_, mpi_type_null_copy_fn_, mpi_type_dup_fn_,
    mpi_win_null_copy_fn_, mpi_win_dup_fn_;
NullDelete mpi_comm_null_delete_fn_, mpi_type_null_delete_fn_, mpi_win_null_delete_fn_;
OldCopy mpi_null_copy_fn_, mpi_dup_fn_;
OldDelete mpi_null_delete_fn_;
NullConversion mpi_conversion_fn_null_;
NullConversionLarge mpi_conversion_fn_null_c_;
}
}  // namespace dunlin::fortran
#pragma GCC visibility pop
