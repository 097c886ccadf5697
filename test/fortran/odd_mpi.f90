! Odd and wrong arguments in the mpi module: the text of both interfaces is odd_old.inc.
! ranks: 1 3
program odd_mpi
  use mpi
  use check
  implicit none
  include 'odd_old.inc'
end program
