! Procedures that C calls, as mpif.h has them: external, with INTEGER handles, everything by address.  Error handlers, a
! generalized request, a representation of data; operators and attributes are in special_mpif.f and again_f08.f90.
! ranks: 1 2
program callbacks_mpif
  use check
  implicit none
  include 'mpif.h'
  integer errors, frees, cancels
  common /calls/ errors, frees, cancels
  integer handler, before, ierror, request, status(MPI_STATUS_SIZE), count, win, file, session, rank
  integer numbers(4)
  integer(kind=MPI_OFFSET_KIND) start
  character(len=20) name
  logical flag
  external on_error, query, release, cancel, read_more, write_more, extent_in_file
  errors = 0
  frees = 0
  cancels = 0
  start = 0
  call MPI_INIT(ierror)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)

  call MPI_COMM_GET_ERRHANDLER(MPI_COMM_SELF, before, ierror)
  call MPI_COMM_CREATE_ERRHANDLER(on_error, handler, ierror)
  call MPI_COMM_SET_ERRHANDLER(MPI_COMM_SELF, handler, ierror)
  call MPI_SEND(numbers, 1, MPI_INTEGER, 5, 0, MPI_COMM_SELF, ierror)
  call want(errors == 1 .and. ierror /= MPI_SUCCESS, 'an error handler of a communicator')
  call MPI_COMM_SET_ERRHANDLER(MPI_COMM_SELF, before, ierror)
  call MPI_ERRHANDLER_FREE(handler, ierror)

  call MPI_WIN_CREATE(numbers, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, win, ierror)
  call MPI_WIN_CREATE_ERRHANDLER(on_error, handler, ierror)
  call MPI_WIN_SET_ERRHANDLER(win, handler, ierror)
  call MPI_WIN_CALL_ERRHANDLER(win, MPI_ERR_ARG, ierror)
  call want(errors == 2, 'an error handler of a window')
  call MPI_WIN_FREE(win, ierror)
  call MPI_ERRHANDLER_FREE(handler, ierror)

  call MPI_FILE_CREATE_ERRHANDLER(on_error, handler, ierror)
  call MPI_FILE_SET_ERRHANDLER(MPI_FILE_NULL, handler, ierror)
  call MPI_FILE_OPEN(MPI_COMM_SELF, 'no/such/folder', MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierror)
  call want(errors == 3 .and. ierror /= MPI_SUCCESS, 'an error handler of files')
  call MPI_FILE_SET_ERRHANDLER(MPI_FILE_NULL, MPI_ERRORS_RETURN, ierror)
  call MPI_ERRHANDLER_FREE(handler, ierror)

  call MPI_SESSION_CREATE_ERRHANDLER(on_error, handler, ierror)
  call MPI_SESSION_INIT(MPI_INFO_NULL, handler, session, ierror)
  call MPI_SESSION_CALL_ERRHANDLER(session, MPI_ERR_ARG, ierror)
  call want(errors == 4, 'an error handler of a session')
  call MPI_ERRHANDLER_FREE(handler, ierror)
  call MPI_SESSION_FINALIZE(session, ierror)

  call MPI_GREQUEST_START(query, release, cancel, 77_MPI_ADDRESS_KIND, request, ierror)
  call MPI_CANCEL(request, ierror)
  call MPI_GREQUEST_COMPLETE(request, ierror)
  call MPI_WAIT(request, status, ierror)
  call MPI_GET_COUNT(status, MPI_INTEGER, count, ierror)
  call MPI_TEST_CANCELLED(status, flag, ierror)
  call want(count == 3 .and. flag .and. status(MPI_TAG) == 8, 'the status of a generalized request')
  call want(frees == 1 .and. cancels == 1 .and. request == MPI_REQUEST_NULL, 'a generalized request')

  call MPI_REGISTER_DATAREP('more', read_more, write_more, extent_in_file, 5_MPI_ADDRESS_KIND, ierror)
  write (name, '(a,i0)') 'callbacks_mpif.', rank
  call MPI_FILE_OPEN(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file, ierror)
  call MPI_FILE_SET_VIEW(file, start, MPI_INTEGER4, MPI_INTEGER4, 'more', MPI_INFO_NULL, ierror)
  call exchange(file, start)
  call MPI_FILE_CLOSE(file, ierror)
  call MPI_FINALIZE(ierror)
contains
  subroutine exchange(file, start)
    integer, intent(in) :: file
    integer(kind=MPI_OFFSET_KIND), intent(in) :: start
    integer(4) :: written(4), found(4)
    written = [1, 2, 3, 4]
    call MPI_FILE_WRITE_AT(file, start, written, 4, MPI_INTEGER4, MPI_STATUS_IGNORE, ierror)
    call MPI_FILE_READ_AT(file, start, found, 4, MPI_INTEGER4, MPI_STATUS_IGNORE, ierror)
    call want(all(found == written), 'a representation of data')
    call MPI_FILE_SET_VIEW(file, start, MPI_INTEGER4, MPI_INTEGER4, 'native', MPI_INFO_NULL, ierror)
    call MPI_FILE_READ_AT(file, start, found, 4, MPI_INTEGER4, MPI_STATUS_IGNORE, ierror)
    call want(all(found == written + 5), 'what lies in the file')
  end subroutine
end program

subroutine on_error(object, code)
  implicit none
  integer object, code, errors, frees, cancels
  common /calls/ errors, frees, cancels
  if (code /= 0 .and. object /= 0) errors = errors + 1
end subroutine

subroutine query(extra, status, ierror)
  use check
  implicit none
  include 'mpif.h'
  integer status(MPI_STATUS_SIZE), ierror
  integer(kind=MPI_ADDRESS_KIND) extra
  call want(extra == 77, 'an extra state')
  call MPI_STATUS_SET_ELEMENTS(status, MPI_INTEGER, 3, ierror)
  call MPI_STATUS_SET_CANCELLED(status, .true., ierror)
  status(MPI_TAG) = 8
  ierror = MPI_SUCCESS
end subroutine

subroutine release(extra, ierror)
  implicit none
  include 'mpif.h'
  integer ierror, errors, frees, cancels
  common /calls/ errors, frees, cancels
  integer(kind=MPI_ADDRESS_KIND) extra
  frees = frees + 1
  ierror = MPI_SUCCESS
end subroutine

subroutine cancel(extra, complete, ierror)
  implicit none
  include 'mpif.h'
  integer ierror, errors, frees, cancels
  common /calls/ errors, frees, cancels
  integer(kind=MPI_ADDRESS_KIND) extra
  logical complete
  if (.not. complete) cancels = cancels + 1
  ierror = MPI_SUCCESS
end subroutine

! Numbers are more by the extra state in a file.
subroutine read_more(userbuf, datatype, count, filebuf, position, extra, ierror)
  implicit none
  include 'mpif.h'
  integer datatype, count, ierror
  integer(4) userbuf(*), filebuf(*)
  integer(kind=MPI_OFFSET_KIND) position
  integer(kind=MPI_ADDRESS_KIND) extra
  userbuf(position + 1:position + count) = filebuf(1:count) - int(extra, 4)
  ierror = MPI_SUCCESS
end subroutine

subroutine write_more(userbuf, datatype, count, filebuf, position, extra, ierror)
  implicit none
  include 'mpif.h'
  integer datatype, count, ierror
  integer(4) userbuf(*), filebuf(*)
  integer(kind=MPI_OFFSET_KIND) position
  integer(kind=MPI_ADDRESS_KIND) extra
  filebuf(1:count) = userbuf(position + 1:position + count) + int(extra, 4)
  ierror = MPI_SUCCESS
end subroutine

subroutine extent_in_file(datatype, extent, extra, ierror)
  use check
  implicit none
  include 'mpif.h'
  integer datatype, ierror
  integer(kind=MPI_ADDRESS_KIND) extent, extra
  call want(datatype == MPI_INTEGER4, 'the datatype that a representation gets')
  extent = 4
  ierror = MPI_SUCCESS
end subroutine
