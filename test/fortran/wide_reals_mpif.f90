! mpif.h in a program whose REAL has 8 bytes, and whose DOUBLE PRECISION has 16.
! ranks: 1
program wide_reals_mpif
  use check
  implicit none
  include 'mpif.h'
  integer :: ierror
  double precision :: start
  call MPI_INIT(ierror)
  start = MPI_WTIME()
  call want(kind(start) == 16, '-fdefault-real-8')
  call want(MPI_WTICK() > 1e-12 .and. MPI_WTICK() < 0.1, 'MPI_WTICK')
  call want(MPI_WTIME() >= start .and. MPI_WTIME() < start + 1000, 'MPI_WTIME')
  call MPI_FINALIZE(ierror)
end program
