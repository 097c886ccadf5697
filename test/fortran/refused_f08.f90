! A count of 8 bytes that no int of C holds, of which nobody hears: one sentence names the call, and the job ends.
! With an argument, the communicator is null, which is said first.
! ranks: 1
program refused_f08
  use mpi_f08
  implicit none
  integer :: buffer(2) = 0
  call MPI_Init()
  if (command_argument_count() > 0) call MPI_Send(buffer, 2_8**33, MPI_INTEGER, 0, 0, MPI_COMM_NULL)
  call MPI_Send(buffer, 2_8**33, MPI_INTEGER, 0, 0, MPI_COMM_SELF)
  call MPI_Finalize()
end program
