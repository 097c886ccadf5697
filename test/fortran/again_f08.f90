! Procedures that C calls, given to MPI again and again while what they were given for is freed: operators, error
! handlers, attributes of communicators, datatypes and windows; as mpi_f08 and as mpif.h declare them; procedures of
! modules and internal ones, which lie at another address in each depth of the stack.
! ranks: 1 3
module procedures
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: errors = 0, deletions = 0
contains
  subroutine add(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = in + inout
  end subroutine
  subroutine on_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    errors = errors + 1
  end subroutine
  subroutine on_window_error(win, error_code)
    type(MPI_Win) :: win
    integer :: error_code
    errors = errors + 1
  end subroutine
  subroutine erase(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deletions = deletions + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine do_not_copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    flag = .false.
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, extra_state == 0)
  end subroutine
  subroutine copy_twice(oldtype, type_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Datatype) :: oldtype
    integer :: type_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    attribute_val_out = 2 * attribute_val_in
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
end module

program again_f08
  use procedures
  use check
  implicit none
  integer :: rank, size, i, factor
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  do i = 1, 1000
    call operator_and_handler(i)
    call attributes(int(modulo(i, 5), MPI_ADDRESS_KIND))
    call old_attributes(modulo(i, 5))
  end do
  factor = 3
  do i = 1, 200
    call internal_operator(modulo(i, 60))
  end do
  call copies_refused()
  call types_and_windows()
  call MPI_Finalize()
contains

  subroutine operator_and_handler(time)
    integer, intent(in) :: time
    integer :: sum, error
    type(MPI_Op) :: op
    type(MPI_Errhandler) :: handler
    call MPI_Op_create(add, .true., op)
    call MPI_Allreduce(1, sum, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
    call want(sum == size, "an operator")
    call MPI_Op_free(op)
    call MPI_Comm_create_errhandler(on_error, handler)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, handler)
    call MPI_Errhandler_free(handler)                ! used as long as MPI_COMM_SELF has it
    call MPI_Send(sum, 1, MPI_INTEGER, 1, 0, MPI_COMM_SELF, error)
    call want(errors == time .and. error /= MPI_SUCCESS, "an error handler")
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  end subroutine

  subroutine attributes(value)
    integer(kind=MPI_ADDRESS_KIND), intent(in) :: value
    integer(kind=MPI_ADDRESS_KIND) :: found
    integer :: keyval, before
    logical :: flag
    type(MPI_Comm) :: copy
    before = deletions
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, erase, keyval, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, value)
    call MPI_Comm_dup(MPI_COMM_SELF, copy)
    call MPI_Comm_get_attr(copy, keyval, found, flag)
    call want(flag .and. found == value, "an attribute")
    call MPI_Comm_free(copy)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
    call MPI_Comm_free_keyval(keyval)
    call want(deletions == before + 2, "attributes that are deleted")
  end subroutine

  ! The address of `multiply` is one on the stack.
  recursive subroutine internal_operator(depth)
    integer, intent(in) :: depth
    integer :: held(10), value
    type(MPI_Op) :: op
    if (depth > 0) then
      held = depth
      call internal_operator(depth - 1)
      call want(all(held == depth), "the stack")
      return
    end if
    call MPI_Op_create(multiply, .true., op)
    value = 2
    call MPI_Reduce_local(1, value, 1, MPI_INTEGER, op)
    call want(value == 9, "an internal procedure")
    call MPI_Op_free(op)
  end subroutine
  subroutine multiply(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = factor * (in + inout)
  end subroutine

  subroutine copies_refused()
    integer :: keyval, error
    integer(kind=MPI_ADDRESS_KIND) :: value, state
    logical :: flag
    type(MPI_Comm) :: copy
    do state = 0, 1                                  ! with 1 the copy fails
      call MPI_Comm_create_keyval(do_not_copy, MPI_COMM_NULL_DELETE_FN, keyval, state)
      call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 1_MPI_ADDRESS_KIND)
      call MPI_Comm_dup(MPI_COMM_SELF, copy, error)
      call want((error == MPI_SUCCESS) .eqv. (state == 0), "a copy that fails")
      if (state == 0) then
        call MPI_Comm_get_attr(copy, keyval, value, flag)
        call want(.not. flag, "an attribute that is not copied")
        call MPI_Comm_free(copy)
      end if
      call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
      call MPI_Comm_free_keyval(keyval)
    end do
  end subroutine

  subroutine types_and_windows()
    integer :: keyval
    integer, target :: memory(4)
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    type(MPI_Datatype) :: pair, copy
    type(MPI_Win) :: window
    type(MPI_Errhandler) :: handler
    call MPI_Type_create_keyval(copy_twice, MPI_TYPE_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
    call MPI_Type_contiguous(2, MPI_INTEGER, pair)
    call MPI_Type_set_attr(pair, keyval, 21_MPI_ADDRESS_KIND)
    call MPI_Type_dup(pair, copy)
    call MPI_Type_get_attr(copy, keyval, value, flag)
    call want(flag .and. value == 42, "an attribute of a datatype")
    call MPI_Type_free(copy)
    call MPI_Type_free(pair)
    call MPI_Type_free_keyval(keyval)
    call MPI_Win_create(memory, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window)
    call want(attribute_of(window, MPI_WIN_SIZE) == 16, "MPI_WIN_SIZE")
    call want(attribute_of(window, MPI_WIN_DISP_UNIT) == 4, "MPI_WIN_DISP_UNIT")
    call want(attribute_of(window, MPI_WIN_CREATE_FLAVOR) == MPI_WIN_FLAVOR_CREATE, "MPI_WIN_CREATE_FLAVOR")
    call want(attribute_of(window, MPI_WIN_BASE) == transfer(c_loc(memory), value), "MPI_WIN_BASE")
    call MPI_Win_create_errhandler(on_window_error, handler)
    call MPI_Win_set_errhandler(window, handler)
    errors = 0
    call MPI_Win_call_errhandler(window, MPI_ERR_ARG)
    call want(errors == 1, "the error handler of a window")
    call MPI_Win_free(window)
    call MPI_Errhandler_free(handler)
  end subroutine

  integer(kind=MPI_ADDRESS_KIND) function attribute_of(window, keyval)
    type(MPI_Win), intent(in) :: window
    integer, intent(in) :: keyval
    logical :: flag
    call MPI_Win_get_attr(window, keyval, attribute_of, flag)
    call want(flag, "a predefined attribute of a window")
  end function
end program

subroutine old_attributes(value)
  use check
  implicit none
  include 'mpif.h'
  integer value, found, keyval, copy, ierror
  logical flag
  external old_copy, old_erase
  call MPI_KEYVAL_CREATE(old_copy, old_erase, keyval, 7, ierror)
  call MPI_ATTR_PUT(MPI_COMM_SELF, keyval, value, ierror)
  call MPI_COMM_DUP(MPI_COMM_SELF, copy, ierror)
  call MPI_ATTR_GET(copy, keyval, found, flag, ierror)
  call want(flag .and. found == value + 7, 'an attribute of MPI-1')
  call MPI_COMM_FREE(copy, ierror)
  call MPI_ATTR_DELETE(MPI_COMM_SELF, keyval, ierror)
  call MPI_KEYVAL_FREE(keyval, ierror)
end subroutine

subroutine old_copy(comm, keyval, extra, value, new, flag, ierror)
  implicit none
  integer comm, keyval, extra, value, new, ierror
  logical flag
  new = value + extra
  flag = .true.
  ierror = 0
end subroutine

subroutine old_erase(comm, keyval, value, extra, ierror)
  use check
  implicit none
  integer comm, keyval, value, extra, ierror
  call want(extra == 7, 'an extra state of MPI-1')
  ierror = 0
end subroutine
