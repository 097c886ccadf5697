! Sends 8 bytes a thousand times from mpif.h and from mpi_f08, for overhead.py.
program overhead
  use mpi_f08
  implicit none
  real(8) :: scalar = 0
  integer :: i
  call MPI_Init()
  do i = 1, 1000
    call old_send(scalar)
    call MPI_Send(scalar, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
  end do
  call MPI_Finalize()
end program

subroutine old_send(scalar)
  implicit none
  include 'mpif.h'
  real(8) scalar
  integer ierror
  call MPI_SEND(scalar, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD, ierror)
end subroutine
