! An array of any type, CLASS(*), as a choice buffer: it arrives, or the program ends with a sentence that says why.
! ranks: 1
program class_f08
  use mpi_f08
  implicit none
  real :: sent(100), received(100)
  integer :: i
  call MPI_Init()
  sent = [(i, i = 1, 100)]
  call send(sent)
  if (any(received /= sent)) error stop "wrong numbers arrived"
  print *, "all numbers arrived"
  call MPI_Finalize()
contains
  subroutine send(numbers)
    class(*), intent(in) :: numbers(:)
    call MPI_Sendrecv(numbers, 100, MPI_REAL, 0, 1, received, 100, MPI_REAL, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
  end subroutine
end program
