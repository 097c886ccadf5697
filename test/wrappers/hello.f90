! The smallest Fortran program that uses the library, with the oldest of its interfaces and the newest.
program hello
  use mpi_f08
  implicit none
  integer :: rank, size
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call old_size(size)
  print *, "rank", rank, "of", size
  call MPI_Finalize()
end program

subroutine old_size(size)
  implicit none
  include 'mpif.h'
  integer size, ierror
  call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierror)
end subroutine
