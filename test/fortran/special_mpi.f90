! What is special in the mpi module: C_PTR forms, choice buffers of any rank and type, statuses of both kinds, the types
! of handles.
! ranks: 2
program special_mpi
  use mpi
  use check
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ierror, bytes, status(MPI_STATUS_SIZE), other, info
  integer(kind=MPI_ADDRESS_KIND) :: place
  type(c_ptr) :: memory
  type(MPI_Status) :: modern
  type(MPI_Comm) :: world
  real(8), pointer :: block(:, :)
  real(8) :: scalar
  complex :: matrix(2, 3)
  character(len=6) :: text
  character(len=10) :: value
  logical :: flag

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  other = 1 - rank
  call MPI_Alloc_mem(8000_MPI_ADDRESS_KIND, MPI_INFO_NULL, memory, ierror)
  call c_f_pointer(memory, block, [10, 100])
  block = rank
  call MPI_Sendrecv_replace(block, 1000, MPI_DOUBLE_PRECISION, other, 1, other, 1, MPI_COMM_WORLD, status, ierror)
  call want(all(block == other), "memory of MPI_Alloc_mem")
  call MPI_Free_mem(block, ierror)
  call MPI_Alloc_mem(80_MPI_ADDRESS_KIND, MPI_INFO_NULL, place, ierror)
  call want(place /= 0, "address of MPI_Alloc_mem")
  call MPI_Sizeof(scalar, bytes, ierror)
  call want(bytes == 8, "MPI_Sizeof of a scalar")
  call MPI_Sizeof(matrix, bytes, ierror)
  call want(bytes == 8, "MPI_Sizeof of an array")
  matrix = cmplx(rank, -rank)
  call MPI_Sendrecv_replace(matrix, 6, MPI_COMPLEX, other, 2, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call want(all(matrix == cmplx(other, -other)), "a matrix")
  matrix(1, :) = rank
  call MPI_Bcast(matrix(1, :), 3, MPI_COMPLEX, 0, MPI_COMM_WORLD, ierror)
  call want(all(matrix(1, :) == 0), "a row")
  write (text, '(a,i1)') "rank ", rank
  call MPI_Sendrecv_replace(text, 6, MPI_CHARACTER, other, 3, other, 3, MPI_COMM_WORLD, status, ierror)
  call want(ichar(text(6:6)) == ichar('0') + other, "a text")
  call MPI_Status_f2f08(status, modern, ierror)
  call want(modern%MPI_TAG == 3 .and. modern%MPI_SOURCE == other, "MPI_Status_f2f08")
  call MPI_Abi_get_fortran_info(info, ierror)
  call MPI_Info_get(info, "mpi_integer_size", len(value), value, flag, ierror)
  call want(flag .and. ichar(value(1:1)) - ichar("0") == kind(rank), "the information about Fortran")
  call MPI_Info_free(info, ierror)
  world%MPI_VAL = MPI_COMM_WORLD
  call want(world == MPI_Comm(MPI_COMM_WORLD) .and. world /= MPI_Comm(MPI_COMM_SELF), "handles that are compared")
  call want(size_of(world) == 2, "a handle for mpi_f08")
  call want(MPI_INTEGER_KIND == kind(rank), "MPI_INTEGER_KIND")
  call MPI_Finalize(ierror)
contains
  integer function size_of(comm)
    use mpi_f08, only: MPI_Comm_size
    type(MPI_Comm), intent(in) :: comm
    call MPI_Comm_size(comm, size_of)
  end function
end program
