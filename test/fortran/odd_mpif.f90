! Odd and wrong arguments in mpif.h: the text of both interfaces is odd_old.inc.
! ranks: 1 3
program odd_mpif
  use check
  implicit none
  include 'mpif.h'
  include 'odd_old.inc'
end program
