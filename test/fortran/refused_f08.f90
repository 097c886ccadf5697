! A count of 8 bytes that no int of C holds, of which nobody hears: one sentence names the call, and the job ends.
! What is said first: that the communicator is null, or that it is too early or too late.  A session is early enough.
! ranks: 1
program refused_f08
  use mpi_f08
  implicit none
  integer, parameter :: much = 2_8**33
  integer :: buffer(2) = 0
  character(len=8) :: way
  type(MPI_Datatype) :: type
  type(MPI_Session) :: session
  call get_command_argument(1, way)
  if (way == "early") call MPI_Type_contiguous(much, MPI_BYTE, type)
  if (way == "session") then
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session)
    call MPI_Type_vector(2, 1, much, MPI_BYTE, type)
  end if
  call MPI_Init()
  if (way == "null") call MPI_Send(buffer, much, MPI_INTEGER, 0, 0, MPI_COMM_NULL)
  if (way /= "late") call MPI_Send(buffer, much, MPI_INTEGER, 0, 0, MPI_COMM_SELF)
  call MPI_Finalize()
  call MPI_Send(buffer, much, MPI_INTEGER, 0, 0, MPI_COMM_WORLD)
end program
