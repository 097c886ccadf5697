! Over a C library that learns of Fortran after MPI_Init only (other_library.c): it does learn.
program over_other_library
  use mpi_f08
  use check
  implicit none
  type(MPI_Info) :: info
  character(len=8) :: value
  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
  logical :: yes, no
  integer :: length
  logical :: is_there
  call MPI_Init()
  call MPI_Get_library_version(version, length)
  call MPI_Abi_get_fortran_info(info)
  call want(info /= MPI_INFO_NULL, "MPI_Abi_get_fortran_info")
  length = len(value)
  call MPI_Info_get_string(info, "mpi_integer_size", length, value, is_there)
  call want(is_there .and. value == merge("4", "8", kind(length) == 4), "mpi_integer_size")
  call MPI_Info_free(info)
  call MPI_Abi_get_fortran_booleans(kind(is_there), yes, no, is_there)
  call want(is_there .and. yes .and. .not. no, "MPI_Abi_get_fortran_booleans")
  call MPI_Finalize()
end program
