#include "object/functions.hpp"
#include "object/status.hpp"

namespace dunlin::object {
namespace {

// The three forms hold the same eight words in the same order (mpi.h), so that converting is copying.
static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint));
static_assert(sizeof(MPI_F08_status) == sizeof(MPI_Status));

Err copy(const void* from, void* to) noexcept {
  std::memcpy(to, from, sizeof(MPI_Status));
  return Err::ok;
}

}  // namespace

Err status_get_source(const MPI_Status* status, int* source) noexcept {
  *source = status->MPI_SOURCE;
  return Err::ok;
}
Err status_get_tag(const MPI_Status* status, int* tag) noexcept {
  *tag = status->MPI_TAG;
  return Err::ok;
}
Err status_get_error(const MPI_Status* status, int* error) noexcept {
  *error = status->MPI_ERROR;
  return Err::ok;
}
Err status_set_source(MPI_Status* status, int source) noexcept {
  status->MPI_SOURCE = source;
  return Err::ok;
}
Err status_set_tag(MPI_Status* status, int tag) noexcept {
  status->MPI_TAG = tag;
  return Err::ok;
}
Err status_set_error(MPI_Status* status, int error) noexcept {
  status->MPI_ERROR = error;
  return Err::ok;
}

Err status_set_cancelled(MPI_Status* status, int flag) noexcept {
  set_status_cancelled(*status, flag != 0);
  return Err::ok;
}

Err test_cancelled(const MPI_Status* status, int* flag) noexcept {
  *flag = status_cancelled(*status);
  return Err::ok;
}

Err status_c2f(const MPI_Status* from, MPI_Fint* to) noexcept { return copy(from, to); }
Err status_f2c(const MPI_Fint* from, MPI_Status* to) noexcept { return copy(from, to); }
Err status_c2f08(const MPI_Status* from, MPI_F08_status* to) noexcept { return copy(from, to); }
Err status_f082c(const MPI_F08_status* from, MPI_Status* to) noexcept { return copy(from, to); }
Err status_f2f08(const MPI_Fint* from, MPI_F08_status* to) noexcept { return copy(from, to); }
Err status_f082f(const MPI_F08_status* from, MPI_Fint* to) noexcept { return copy(from, to); }

}  // namespace dunlin::object
