! What peers can map of a Fortran program: COMMON blocks, module arrays, what ALLOCATE gives.  See arrays_shared.cpp.
module held
  implicit none
  real(8), save :: field(262144)
contains
  subroutine expect(what, is_right)
    character(*), intent(in) :: what
    logical, intent(in) :: is_right
    if (.not. is_right) then
      print *, 'FAILED: ', what
      stop 1
    end if
  end subroutine
end module

program arrays
  use iso_c_binding
  use held
  implicit none
  interface
    integer(c_int) function lies_shared(at, bytes) bind(c)
      import
      type(c_ptr), value :: at
      integer(c_size_t), value :: bytes
    end function
  end interface
  real(8), target :: block(262144)
  common /large/ block
  real(8), allocatable, target :: grid(:, :)
  real(8), allocatable, target :: grown(:)
  real(8), pointer :: line(:)
  integer :: i

  block = 1.5d0
  field = 2.5d0
  call expect('a COMMON block', lies_shared(c_loc(block), 8_c_size_t * 262144) == 1)
  allocate (grid(1024, 512))
  grid = 3.5d0
  call expect('an allocated array', lies_shared(c_loc(grid), 8_c_size_t * 1024 * 512) == 1)
  allocate (line(100000))
  line = 4.5d0
  call expect('an allocated pointer', lies_shared(c_loc(line), 8_c_size_t * 100000) == 1)
  grown = [(real(i, 8), i = 1, 20000)]
  do i = 1, 5
    grown = [grown, grown]
  end do
  call expect('an array that grew', lies_shared(c_loc(grown), 8_c_size_t * 640000) == 1)
  call expect('values', sum(block) == 1.5d0 * 262144 .and. sum(field) == 2.5d0 * 262144 .and. &
              sum(grid) == 3.5d0 * 1024 * 512 .and. sum(line) == 4.5d0 * 100000 .and. grown(640000) == 20000d0)
  deallocate (grid, line, grown)
  print *, 'ok'
end program
