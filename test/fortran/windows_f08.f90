! Windows from mpi_f08: put, get, accumulate and atomics, memory of the library, of others and of the program,
! attributes and error handlers.
! ranks: 1 2 3
module window_callbacks
  use mpi_f08
  implicit none
  integer :: copies = 0, deletions = 0, errors = 0
contains
  subroutine copy(oldwin, win_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Win) :: oldwin
    integer :: win_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copies = copies + 1
    attribute_val_out = attribute_val_in
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine erase(win, win_keyval, attribute_val, extra_state, ierror)
    type(MPI_Win) :: win
    integer :: win_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    if (attribute_val == -8000000000_MPI_ADDRESS_KIND .and. extra_state == 77) deletions = deletions + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine on_error(win, error_code)
    type(MPI_Win) :: win
    integer :: error_code
    if (win /= MPI_WIN_NULL .and. error_code /= MPI_SUCCESS) errors = errors + 1
  end subroutine
end module

program windows_f08
  use mpi_f08
  use check
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: n = 6
  integer :: rank, size, right, left
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = modulo(rank + 1, size)
  left = modulo(rank - 1, size)
  call memory_of_the_program()
  call memory_of_the_library()
  call shared_memory()
  call attributes()
  call MPI_Finalize()
contains

  subroutine memory_of_the_program()
    real(8), asynchronous :: memory(n, 4), got(2 * n)
    integer :: i
    type(MPI_Win) :: win
    type(MPI_Request) :: request
    memory = -1
    call MPI_Win_create(memory, int(8 * n * 4, MPI_ADDRESS_KIND), 8, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    got = [(100 * rank + i, i = 1, 2 * n)]
    ! Every second element, into the second column of the right neighbor.
    call MPI_Put(got(1:2 * n:2), n, MPI_REAL8, right, int(n, MPI_ADDRESS_KIND), n, MPI_REAL8, win)
    call MPI_Win_fence(0, win)
    call want(all(memory(:, 2) == [(100 * left + i, i = 1, 2 * n, 2)]), "MPI_Put of a part")
    call want(all(memory(:, 1) == -1) .and. all(memory(:, 3:) == -1), "nothing else is put")
    got = 0
    call MPI_Get(got(2:2 * n:2), n, MPI_REAL8, right, int(n, MPI_ADDRESS_KIND), n, MPI_REAL8, win)
    call MPI_Win_fence(0, win)
    call want(all(got(2:2 * n:2) == [(100 * rank + i, i = 1, 2 * n, 2)]), "MPI_Get into a part")
    call want(all(got(1:2 * n:2) == 0), "nothing else is got")
    call MPI_Win_fence(0, win)
    memory(:, 3) = 1
    call MPI_Win_fence(0, win)
    call MPI_Accumulate(memory(:, 3), n, MPI_REAL8, 0, int(3 * n, MPI_ADDRESS_KIND), n, MPI_REAL8, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    if (rank == 0) call want(all(memory(:, 4) == size - 1), "MPI_Accumulate")
    call MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win)
    call MPI_Rget(got, n, MPI_REAL8, right, int(2 * n, MPI_ADDRESS_KIND), n, MPI_REAL8, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Win_unlock(right, win)
    call want(all(got(1:n) == 1), "MPI_Rget")
    call MPI_F_sync_reg(memory)
    call MPI_Win_free(win)
    call want(win == MPI_WIN_NULL, "a freed window is null")
  end subroutine

  subroutine memory_of_the_library()
    type(c_ptr) :: base
    integer, pointer :: counters(:)
    integer :: before, one, expected
    type(MPI_Win) :: win
    integer(kind=MPI_ADDRESS_KIND) :: bytes
    bytes = 2 * storage_size(one) / 8
    call MPI_Win_allocate(bytes, int(bytes) / 2, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, counters, [2])
    counters = 0
    call MPI_Barrier(MPI_COMM_WORLD)
    one = 1
    call MPI_Win_lock_all(0, win)
    call MPI_Fetch_and_op(one, before, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, MPI_SUM, win)
    call MPI_Win_flush(0, win)
    call want(before >= 0 .and. before < size, "MPI_Fetch_and_op")
    one = before + 1
    expected = 0
    call MPI_Compare_and_swap(one, expected, before, MPI_INTEGER, rank, 1_MPI_ADDRESS_KIND, win)
    call MPI_Win_flush(rank, win)
    call MPI_Win_unlock_all(win)
    call MPI_Barrier(MPI_COMM_WORLD)
    call want(before == 0 .and. counters(2) == one, "MPI_Compare_and_swap")
    if (rank == 0) call want(counters(1) == size, "a counter that all have raised")
    call MPI_Win_free(win)
  end subroutine

  subroutine shared_memory()
    type(c_ptr) :: base
    integer, pointer :: mine(:), others(:)
    integer :: unit, i, bytes
    integer(kind=MPI_ADDRESS_KIND) :: length
    type(MPI_Win) :: win
    bytes = storage_size(i) / 8
    call MPI_Win_allocate_shared(int(n * bytes, MPI_ADDRESS_KIND), bytes, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, mine, [n])
    mine = rank
    call MPI_Win_fence(0, win)
    do i = 0, size - 1
      call MPI_Win_shared_query(win, i, length, unit, base)
      call want(length == n * bytes .and. unit == bytes, "MPI_Win_shared_query")
      call c_f_pointer(base, others, [n])
      call want(all(others == i), "memory of another rank")
    end do
    call MPI_Win_fence(0, win)
    call MPI_Win_free(win)
  end subroutine

  subroutine attributes()
    use window_callbacks
    real(8) :: memory(n)
    integer :: keyval, error
    logical :: flag
    integer(kind=MPI_ADDRESS_KIND) :: value
    type(MPI_Win) :: win
    type(MPI_Errhandler) :: handler
    call MPI_Win_create(memory, int(8 * n, MPI_ADDRESS_KIND), 8, MPI_INFO_NULL, MPI_COMM_SELF, win)
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag)
    call want(flag .and. value == 8 * n, "MPI_WIN_SIZE")
    call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag)
    call want(flag .and. value == 8, "MPI_WIN_DISP_UNIT")
    call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag)
    call want(flag .and. value == transfer(c_loc_of(memory), value), "MPI_WIN_BASE")
    call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, value, flag)
    call want(flag .and. value == MPI_WIN_FLAVOR_CREATE, "MPI_WIN_CREATE_FLAVOR")
    call MPI_Win_create_keyval(copy, erase, keyval, 77_MPI_ADDRESS_KIND)
    call MPI_Win_get_attr(win, keyval, value, flag)
    call want(.not. flag, "an attribute that nobody has set")
    call MPI_Win_set_attr(win, keyval, -8000000000_MPI_ADDRESS_KIND)
    call MPI_Win_get_attr(win, keyval, value, flag)
    call want(flag .and. value == -8000000000_MPI_ADDRESS_KIND, "an attribute of a window")
    call MPI_Win_create_errhandler(on_error, handler)
    call MPI_Win_set_errhandler(win, handler)
    call MPI_Put(memory, 1, MPI_REAL8, 5, 0_MPI_ADDRESS_KIND, 1, MPI_REAL8, win, error)
    call want(error /= MPI_SUCCESS .and. errors == 1, "an error handler of a window")
    call MPI_Errhandler_free(handler)
    call MPI_Win_free(win)
    call want(deletions == 1 .and. copies == 0, "attributes go with the window")
    call MPI_Win_free_keyval(keyval)
  end subroutine

  type(c_ptr) function c_loc_of(memory)
    real(8), target, intent(in) :: memory(:)
    c_loc_of = c_loc(memory)
  end function
end program
