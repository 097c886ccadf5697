! Sends 8 bytes a thousand times, in the way that the argument says, for overhead.py.
program overhead
  use mpi_f08
  implicit none
  real(8) :: scalar = 0, vector(1) = 0
  integer :: i, ierror
  character(len=20) :: way
  call get_command_argument(1, way)
  call MPI_Init()
  do i = 1, 1000
    select case (way)
    case ("mpif.h"); call old_send(scalar)
    case ("scalar"); call MPI_Send(scalar, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
    case ("vector"); call MPI_Send(vector, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
    case ("scalar_ierror"); call MPI_Send(scalar, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD, ierror)
    case ("vector_ierror"); call MPI_Send(vector, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD, ierror)
    end select
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
