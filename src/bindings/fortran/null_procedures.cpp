#include "bindings/fortran/null_procedures.hpp"

namespace dunlin::fortran {
namespace {

template <class Value>
void copy_nothing(Value*, Fint* flag, Fint* ierror) noexcept {
  *flag = 0;
  *ierror = MPI_SUCCESS;
}
template <class Value>
void copy_value(const Value* in, Value* out, Fint* flag, Fint* ierror) noexcept {
  *out = *in;
  *flag = 1;
  *ierror = MPI_SUCCESS;
}

}  // namespace

extern "C" {

void mpi_comm_null_copy_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint*, MPI_Aint* out, Fint* flag, Fint* ierror) {
  copy_nothing(out, flag, ierror);
}
void mpi_type_null_copy_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint*, MPI_Aint* out, Fint* flag, Fint* ierror) {
  copy_nothing(out, flag, ierror);
}
void mpi_win_null_copy_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint*, MPI_Aint* out, Fint* flag, Fint* ierror) {
  copy_nothing(out, flag, ierror);
}
void mpi_null_copy_fn_(Fint*, Fint*, Fint*, Fint*, Fint* out, Fint* flag, Fint* ierror) {
  copy_nothing(out, flag, ierror);
}

void mpi_comm_dup_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint* in, MPI_Aint* out, Fint* flag, Fint* ierror) {
  copy_value(in, out, flag, ierror);
}
void mpi_type_dup_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint* in, MPI_Aint* out, Fint* flag, Fint* ierror) {
  copy_value(in, out, flag, ierror);
}
void mpi_win_dup_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint* in, MPI_Aint* out, Fint* flag, Fint* ierror) {
  copy_value(in, out, flag, ierror);
}
void mpi_dup_fn_(Fint*, Fint*, Fint*, Fint* in, Fint* out, Fint* flag, Fint* ierror) {
  copy_value(in, out, flag, ierror);
}

void mpi_comm_null_delete_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint*, Fint* ierror) { *ierror = MPI_SUCCESS; }
void mpi_type_null_delete_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint*, Fint* ierror) { *ierror = MPI_SUCCESS; }
void mpi_win_null_delete_fn_(Fint*, Fint*, MPI_Aint*, MPI_Aint*, Fint* ierror) { *ierror = MPI_SUCCESS; }
void mpi_null_delete_fn_(Fint*, Fint*, Fint*, Fint*, Fint* ierror) { *ierror = MPI_SUCCESS; }

// Never called: the library keeps data as they are where it gets these (MPI 5.0, 14.5.3).
void mpi_conversion_fn_null_(char*, Fint*, Fint*, char*, MPI_Offset*, MPI_Aint*, Fint* ierror) {
  *ierror = MPI_SUCCESS;
}
void mpi_conversion_fn_null_c_(char*, Fint*, MPI_Count*, char*, MPI_Offset*, MPI_Aint*, Fint* ierror) {
  *ierror = MPI_SUCCESS;
}
}
}  // namespace dunlin::fortran
