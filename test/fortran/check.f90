! What the Fortran tests say when something is wrong: the test's name, the check and the rank; then they abort.
module check
  implicit none
contains
  subroutine want(is_right, what)
    logical, intent(in) :: is_right
    character(len=*), intent(in) :: what
    if (is_right) return
    print *, "wrong: ", what
    flush (6)
    error stop 1
  end subroutine
end module
