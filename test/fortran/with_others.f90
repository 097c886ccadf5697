! Ranks in Fortran of a job, whose others may be in C (in_c.c): one world, and types that mean the same.
program with_others
  use mpi_f08
  use check
  implicit none
  integer :: rank, size, sum
  logical :: all
  type, bind(C) :: double_int
    real(8) :: value
    integer(4) :: id
  end type
  type(double_int), target :: message
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call MPI_Allreduce(1, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call want(sum == size, "MPI_INTEGER")
  call MPI_Allreduce(.true., all, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
  call want(all, "MPI_LOGICAL")
  message = double_int(1.5d0, rank)
  call MPI_Bcast(message, 1, MPI_DOUBLE_INT, size - 1, MPI_COMM_WORLD)
  call want(message%value == 1.5d0 .and. message%id == size - 1, "MPI_DOUBLE_INT")
  call MPI_Finalize()
end program
