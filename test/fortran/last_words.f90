! What a program has printed before it ends by an error arrives, though the runtime library of Fortran holds it back in a
! pipe.  Also where the end comes inside a PRINT statement, which holds its unit.
! ranks: 1
program last_words
  use mpi_f08
  implicit none
  integer :: nothing = 0
  character(len=8) :: way
  call MPI_Init()
  call get_command_argument(1, way)
  print *, "printed before the end"
  select case (way)
  case ("abort")
    call MPI_Abort(MPI_COMM_WORLD, 7)
  case ("error")
    call MPI_Send(nothing, 1, MPI_INTEGER, 17, 0, MPI_COMM_WORLD)
  case ("inside")
    open (7, file="last_words.tmp")
    write (7, *) ended()
  end select
  print *, "printed too late"
contains
  integer function ended()
    call MPI_Abort(MPI_COMM_WORLD, 7)
    ended = 0
  end function
end program
