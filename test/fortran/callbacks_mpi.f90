! Procedures that C calls, as the mpi module has them: of a module, internal, by a pointer; what they answer; several at once.
! Generalized requests, representations of data, error handlers; operators and attributes.
! ranks: 1 2
module given_to_c
  use mpi
  use check
  implicit none
  integer, parameter :: address = MPI_ADDRESS_KIND
  integer(address), parameter :: large = 2_address**40 + 5, little = -2_address**50 - 3
  integer :: queries = 0, frees = 0, cancels = 0, errors = 0, deletions = 0
  logical :: was_complete = .false.
  integer(address) :: last_state = 0
contains
  subroutine query(extra_state, status, ierror)
    integer :: status(MPI_STATUS_SIZE), ierror
    integer(address) :: extra_state
    queries = queries + 1
    last_state = extra_state
    call MPI_Status_set_elements(status, MPI_BYTE, 7, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    status(MPI_SOURCE) = MPI_UNDEFINED
    status(MPI_TAG) = 6
    ierror = MPI_SUCCESS
  end subroutine
  subroutine query_fails(extra_state, status, ierror)
    integer :: status(MPI_STATUS_SIZE), ierror
    integer(address) :: extra_state
    call query(extra_state, status, ierror)
    ierror = MPI_ERR_NO_SPACE
  end subroutine
  subroutine release(extra_state, ierror)
    integer :: ierror
    integer(address) :: extra_state
    frees = frees + 1
    last_state = extra_state
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra_state, complete, ierror)
    integer :: ierror
    integer(address) :: extra_state
    logical :: complete
    cancels = cancels + 1
    was_complete = complete
    ierror = MPI_SUCCESS
  end subroutine
  ! A number takes twice its bytes in a file, and stands there twice, the second time with another sign.
  subroutine read_pairs(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    integer :: datatype, count, ierror
    integer(MPI_OFFSET_KIND) :: position
    integer(address) :: extra_state
    integer(4) :: userbuf(*), filebuf(2, count)
    integer :: i
    ierror = merge(MPI_SUCCESS, MPI_ERR_CONVERSION, extra_state == little .and. datatype == MPI_INTEGER4)
    do i = 1, count
      userbuf(position + i) = filebuf(1, i)
      if (filebuf(2, i) /= -filebuf(1, i)) ierror = MPI_ERR_CONVERSION
    end do
  end subroutine
  subroutine write_pairs(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    integer :: datatype, count, ierror
    integer(MPI_OFFSET_KIND) :: position
    integer(address) :: extra_state
    integer(4) :: userbuf(*), filebuf(2, count)
    filebuf(1, :) = userbuf(position + 1:position + count)
    filebuf(2, :) = -filebuf(1, :)
    ierror = merge(MPI_SUCCESS, MPI_ERR_CONVERSION, extra_state == little .and. datatype == MPI_INTEGER4)
  end subroutine
  subroutine extent_of_pair(datatype, extent, extra_state, ierror)
    integer :: datatype, ierror
    integer(address) :: extent, extra_state
    extent = 8
    ierror = merge(MPI_SUCCESS, MPI_ERR_TYPE, datatype == MPI_INTEGER4 .and. extra_state == little)
  end subroutine
  subroutine extent_fails(datatype, extent, extra_state, ierror)
    integer :: datatype, ierror
    integer(address) :: extent, extra_state
    ierror = MPI_ERR_NO_SPACE
  end subroutine
  subroutine native_extent(datatype, extent, extra_state, ierror)
    integer :: datatype, ierror
    integer(address) :: extent, extra_state, lower
    call MPI_Type_get_extent(datatype, lower, extent, ierror)
  end subroutine
  subroutine read_fails(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    integer :: datatype, count, ierror
    integer(MPI_OFFSET_KIND) :: position
    integer(address) :: extra_state
    integer(4) :: userbuf(*), filebuf(*)
    ierror = MPI_ERR_READ_ONLY
  end subroutine
  subroutine on_error(object, code)
    integer :: object, code
    errors = errors + 1
    if (code == MPI_ERR_COUNT) code = MPI_ERR_DIMS
  end subroutine
  subroutine add_module(in, inout, len, datatype)
    integer :: len, datatype
    integer :: in(len), inout(len)
    inout = in + inout
  end subroutine
  subroutine copy_negative(comm, keyval, extra_state, in, out, flag, ierror)
    integer :: comm, keyval, ierror
    integer(address) :: extra_state, in, out
    logical :: flag
    out = -in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete_fails(comm, keyval, value, extra_state, ierror)
    integer :: comm, keyval, ierror
    integer(address) :: value, extra_state
    deletions = deletions + 1
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, value /= 13)
  end subroutine
end module

program callbacks_mpi
  use given_to_c
  implicit none
  integer :: ierror, rank, factor
  integer(MPI_OFFSET_KIND), parameter :: start = 0
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierror)
  call requests()
  call representations()
  call handlers()
  factor = 3
  call operators()
  call attributes()
  call MPI_Finalize(ierror)
contains
  subroutine requests()
    integer :: request(4), freed, statuses(MPI_STATUS_SIZE, 4), status(MPI_STATUS_SIZE), count, error, done, indices(4)
    integer :: buffer
    logical :: flag
    call MPI_Grequest_start(query, release, cancel, large, request(1), ierror)
    call MPI_Test(request(1), flag, status, ierror)
    call want(.not. flag .and. queries == 0, "a generalized request that is not complete")
    call MPI_Grequest_complete(request(1), ierror)
    call MPI_Cancel(request(1), ierror)
    call want(cancels == 1 .and. was_complete, "a cancel behind the end")
    call MPI_Request_get_status(request(1), flag, status, ierror)
    call want(flag .and. status(MPI_TAG) == 6 .and. queries == 1 .and. last_state == large .and. frees == 0, "a status, twice")
    call MPI_Wait(request(1), status, ierror)
    call MPI_Get_count(status, MPI_BYTE, count, ierror)
    call want(count == 7 .and. status(MPI_SOURCE) == MPI_UNDEFINED .and. frees == 1, "a generalized request")
    call want(request(1) == MPI_REQUEST_NULL, "which is over")
    ! What a procedure answers is what the wait answers.
    call MPI_Grequest_start(query_fails, release, cancel, little, request(1), ierror)
    call MPI_Grequest_complete(request(1), ierror)
    call MPI_Wait(request(1), status, error)
    call MPI_Error_class(error, error, ierror)
    call want(error == MPI_ERR_NO_SPACE .and. last_state == little .and. frees == 2, "a query that fails")
    ! Several, with a message between them; nobody wants statuses.
    call MPI_Grequest_start(query, release, cancel, 1_address, request(1), ierror)
    call MPI_Irecv(buffer, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, request(2), ierror)
    call MPI_Grequest_start(query, release, cancel, 2_address, request(3), ierror)
    request(4) = MPI_REQUEST_NULL
    call MPI_Send(rank, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, ierror)
    call MPI_Grequest_complete(request(3), ierror)
    call MPI_Waitsome(4, request, done, indices, statuses, ierror)
    call want(done == 2 .and. any(indices(1:2) == 2) .and. any(indices(1:2) == 3), "MPI_Waitsome of requests of both kinds")
    call MPI_Grequest_complete(request(1), ierror)
    call MPI_Waitall(4, request, MPI_STATUSES_IGNORE, ierror)
    call want(all(request == MPI_REQUEST_NULL) .and. frees == 4 .and. buffer == rank, "MPI_Waitall of requests of both kinds")
    ! Freed before it is complete.
    call MPI_Grequest_start(query, release, cancel, 3_address, request(1), ierror)
    freed = request(1)
    call MPI_Request_free(request(1), ierror)
    call want(request(1) == MPI_REQUEST_NULL .and. frees == 4, "a generalized request that is freed")
    call MPI_Grequest_complete(freed, ierror)
    call want(frees == 5, "its end")
  end subroutine

  subroutine representations()
    integer :: file, error, request, status(MPI_STATUS_SIZE), count, type, filetype
    integer(4) :: found(5), raw(10), numbers(5)
    integer(address) :: extent
    integer(MPI_OFFSET_KIND) :: where
    character(len=MPI_MAX_DATAREP_STRING) :: name
    character(len=2) :: short
    character(len=24) :: path
    integer :: i
    call MPI_Register_datarep("pairs   ", read_pairs, write_pairs, extent_of_pair, little, ierror)
    call want(ierror == MPI_SUCCESS, "MPI_Register_datarep")
    call MPI_Register_datarep("pairs", read_pairs, write_pairs, extent_of_pair, little, error)
    call MPI_Error_class(error, error, ierror)
    call want(error == MPI_ERR_DUP_DATAREP, "a representation whose name is there")
    call MPI_Register_datarep(repeat("x", MPI_MAX_DATAREP_STRING + 1), read_pairs, write_pairs, extent_of_pair, little, error)
    call want(error /= MPI_SUCCESS, "a name that is too long")
    call MPI_Register_datarep("extents", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_fails, 0_address, ierror)
    call MPI_Register_datarep("fails", read_fails, MPI_CONVERSION_FN_NULL, native_extent, 0_address, ierror)
    write (path, "(a,i0)") "callbacks_mpi.", rank
    call MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file, &
                       ierror)
    call MPI_File_set_view(file, start, MPI_INTEGER4, MPI_INTEGER4, "pairs", MPI_INFO_NULL, ierror)
    call MPI_File_get_type_extent(file, MPI_INTEGER4, extent, ierror)
    call want(extent == 8, "MPI_File_get_type_extent")
    call MPI_File_get_view(file, where, type, filetype, short, ierror)
    call want(short == "pa", "the name of a representation, cut")
    call MPI_File_get_view(file, where, type, filetype, name, ierror)
    call want(name == "pairs" .and. type == MPI_INTEGER4, "the name of a representation")
    numbers = [1, 2, 3, 4, 5]
    call MPI_File_write(file, numbers(1:2), 2, MPI_INTEGER4, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER4, count, ierror)
    call want(ierror == MPI_SUCCESS .and. count == 2, "elements written")
    call MPI_File_iwrite(file, numbers(3:5), 3, MPI_INTEGER4, request, ierror)
    call MPI_Wait(request, status, ierror)
    found = 0
    call MPI_File_read_at(file, 1_MPI_OFFSET_KIND, found, 4, MPI_INTEGER4, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER4, count, ierror)
    call want(count == 4 .and. all(found == [2, 3, 4, 5, 0]), "what is read from the second number on")
    call MPI_File_set_view(file, start, MPI_INTEGER4, MPI_INTEGER4, "native", MPI_INFO_NULL, ierror)
    call MPI_File_read_at(file, start, raw, 10, MPI_INTEGER4, status, ierror)
    call want(all(raw == [(i, -i, i = 1, 5)]), "pairs in the file")
    call MPI_File_set_view(file, start, MPI_INTEGER4, MPI_INTEGER4, "pairs", MPI_INFO_NULL, ierror)
    call MPI_File_seek(file, 2_MPI_OFFSET_KIND, MPI_SEEK_SET, ierror)
    call MPI_File_read_all_begin(file, found, 3, MPI_INTEGER4, ierror)
    call MPI_File_read_all_end(file, found, status, ierror)
    call want(all(found(1:3) == [3, 4, 5]), "a split call")
    ! What the procedures answer.
    call MPI_File_set_view(file, start, MPI_INTEGER4, MPI_INTEGER4, "fails", MPI_INFO_NULL, ierror)
    call MPI_File_read_at(file, start, found, 1, MPI_INTEGER4, status, error)
    call MPI_Error_class(error, count, ierror)
    call want(error /= MPI_SUCCESS .and. count == MPI_ERR_CONVERSION, "a conversion that fails")
    call MPI_File_set_view(file, start, MPI_INTEGER4, MPI_INTEGER4, "extents", MPI_INFO_NULL, error)
    if (error == MPI_SUCCESS) call MPI_File_read_at(file, start, found, 1, MPI_INTEGER4, status, error)
    call MPI_Error_class(error, count, ierror)
    call want(error /= MPI_SUCCESS .and. count == MPI_ERR_CONVERSION, "an extent that fails")
    call MPI_File_set_view(file, start, MPI_INTEGER4, MPI_INTEGER4, "nobody's", MPI_INFO_NULL, error)
    call MPI_Error_class(error, count, ierror)
    call want(count == MPI_ERR_UNSUPPORTED_DATAREP, "a representation that is not there")
    call MPI_File_close(file, ierror)
  end subroutine

  subroutine handlers()
    integer :: handler, file, error, win, session, memory(2)
    call MPI_Comm_create_errhandler(on_error, handler, ierror)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, handler, ierror)
    call MPI_Send(memory, -1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, error)
    call want(errors == 1 .and. error == MPI_ERR_DIMS, "a handler that changes the code")
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierror)
    call MPI_Errhandler_free(handler, ierror)
    call MPI_Win_create_errhandler(on_error, handler, ierror)
    call MPI_Win_create(memory, 2_address * kind(rank), kind(rank), MPI_INFO_NULL, MPI_COMM_SELF, win, ierror)
    call MPI_Win_set_errhandler(win, handler, ierror)
    call MPI_Put(memory, 1, MPI_INTEGER, 9, 0_address, 1, MPI_INTEGER, win, error)
    call want(errors == 2 .and. error /= MPI_SUCCESS, "a handler of a window")
    call MPI_Errhandler_free(handler, ierror)
    call MPI_Win_free(win, ierror)
    call MPI_File_create_errhandler(on_error, handler, ierror)
    call MPI_File_set_errhandler(MPI_FILE_NULL, handler, ierror)
    call MPI_File_open(MPI_COMM_SELF, "not/there", MPI_MODE_RDONLY, MPI_INFO_NULL, file, error)
    call want(errors == 3 .and. error /= MPI_SUCCESS, "a handler of files")
    call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN, ierror)
    call MPI_Errhandler_free(handler, ierror)
    call MPI_Session_create_errhandler(on_error, handler, ierror)
    call MPI_Session_init(MPI_INFO_NULL, handler, session, ierror)
    call MPI_Session_call_errhandler(session, MPI_ERR_ARG, ierror)
    call want(errors == 4, "a handler of a session")
    call MPI_Errhandler_free(handler, ierror)
    call MPI_Session_finalize(session, ierror)
  end subroutine

  subroutine operators()
    integer :: op(2), value(2), i
    procedure(add_module), pointer :: by_pointer
    call MPI_Op_create(multiply, .true., op(1), ierror)
    by_pointer => add_module
    call MPI_Op_create(by_pointer, .true., op(2), ierror)
    do i = 1, 2
      value = [2, 3]
      call MPI_Reduce_local([4, 5], value, 2, MPI_INTEGER, op(i), ierror)
      call want(all(value == merge([24, 45], [6, 8], i == 1)), "an operator that is internal or by a pointer")
      call MPI_Op_free(op(i), ierror)
    end do
  end subroutine
  subroutine multiply(in, inout, len, datatype)
    integer :: len, datatype
    integer :: in(len), inout(len)
    inout = factor * in * inout
  end subroutine

  subroutine attributes()
    integer :: keyval, copy, error
    integer(address) :: value
    logical :: flag
    call MPI_Comm_create_keyval(copy_negative, delete_fails, keyval, little, ierror)
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, large, ierror)
    call MPI_Comm_dup(MPI_COMM_SELF, copy, ierror)
    call MPI_Comm_get_attr(copy, keyval, value, flag, ierror)
    call want(flag .and. value == -large + little, "a long attribute and a long state")
    call MPI_Comm_set_attr(copy, keyval, 13_address, ierror)
    call want(deletions == 1, "an attribute that is set anew")
    call MPI_Comm_delete_attr(copy, keyval, error)
    call want(error /= MPI_SUCCESS .and. deletions == 2, "an attribute that does not go")
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 0_address, ierror)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval, ierror)
    call MPI_Comm_free_keyval(keyval, ierror)
  end subroutine
end program
