#include "bindings/fortran/null_procedures.hpp"

namespace {

template <class Value>
void copy_nothing(Value*, MPI_Fint* flag, MPI_Fint* ierror) noexcept {
  *flag = 0;
  *ierror = MPI_SUCCESS;
}
template <class Value>
void copy_value(const Value* in, Value* out, MPI_Fint* flag, MPI_Fint* ierror) noexcept {
  *out = *in;
  *flag = 1;
  *ierror = MPI_SUCCESS;
}

}  // namespace

extern "C" {

void mpi_comm_null_copy_fn_(MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Aint*, MPI_Aint* out, MPI_Fint* flag,
                            MPI_Fint* ierror) {
  copy_nothing(out, flag, ierror);
}
void mpi_type_null_copy_fn_(MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Aint*, MPI_Aint* out, MPI_Fint* flag,
                            MPI_Fint* ierror) {
  copy_nothing(out, flag, ierror);
}
void mpi_win_null_copy_fn_(MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Aint*, MPI_Aint* out, MPI_Fint* flag,
                           MPI_Fint* ierror) {
  copy_nothing(out, flag, ierror);
}
void mpi_null_copy_fn_(MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint* out, MPI_Fint* flag,
                       MPI_Fint* ierror) {
  copy_nothing(out, flag, ierror);
}

void mpi_comm_dup_fn_(MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Aint* in, MPI_Aint* out, MPI_Fint* flag,
                      MPI_Fint* ierror) {
  copy_value(in, out, flag, ierror);
}
void mpi_type_dup_fn_(MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Aint* in, MPI_Aint* out, MPI_Fint* flag,
                      MPI_Fint* ierror) {
  copy_value(in, out, flag, ierror);
}
void mpi_win_dup_fn_(MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Aint* in, MPI_Aint* out, MPI_Fint* flag,
                     MPI_Fint* ierror) {
  copy_value(in, out, flag, ierror);
}
void mpi_dup_fn_(MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint* in, MPI_Fint* out, MPI_Fint* flag,
                 MPI_Fint* ierror) {
  copy_value(in, out, flag, ierror);
}

void mpi_comm_null_delete_fn_(MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Aint*, MPI_Fint* ierror) {
  *ierror = MPI_SUCCESS;
}
void mpi_type_null_delete_fn_(MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Aint*, MPI_Fint* ierror) {
  *ierror = MPI_SUCCESS;
}
void mpi_win_null_delete_fn_(MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Aint*, MPI_Fint* ierror) {
  *ierror = MPI_SUCCESS;
}
void mpi_null_delete_fn_(MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint* ierror) {
  *ierror = MPI_SUCCESS;
}

// Never called: the library keeps data as they are where it gets these (MPI 5.0, 14.5.3).
void mpi_conversion_fn_null_(char*, MPI_Fint*, MPI_Fint*, char*, MPI_Offset*, MPI_Aint*, MPI_Fint* ierror) {
  *ierror = MPI_SUCCESS;
}
void mpi_conversion_fn_null_c_(char*, MPI_Fint*, MPI_Count*, char*, MPI_Offset*, MPI_Aint*,
                               MPI_Fint* ierror) {
  *ierror = MPI_SUCCESS;
}
}
