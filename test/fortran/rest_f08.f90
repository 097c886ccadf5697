! What the other tests of mpi_f08 leave out: representations of data, error handlers of files and sessions, operators for
! large counts, graphs without edges, spawned commands, types by range, statuses of requests that stay, MPI_Get_elements_x.
! ranks: 1 2
module converters
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: file_errors = 0, session_errors = 0
contains
  ! Numbers have the other sign in a file; the extra state is one more than the number of bytes of each.
  subroutine read_negative(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    ierror = converted(userbuf, filebuf, int(count, MPI_COUNT_KIND), position, datatype, extra_state, .true.)
  end subroutine
  subroutine write_negative(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    ierror = converted(userbuf, filebuf, int(count, MPI_COUNT_KIND), position, datatype, extra_state, .false.)
  end subroutine
  subroutine read_negative_c(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer(kind=MPI_COUNT_KIND) :: count
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    ierror = converted(userbuf, filebuf, count, position, datatype, extra_state, .true.)
  end subroutine
  integer function converted(userbuf, filebuf, count, position, datatype, extra_state, is_read)
    type(c_ptr), intent(in) :: userbuf, filebuf
    integer(kind=MPI_COUNT_KIND), intent(in) :: count
    integer(kind=MPI_OFFSET_KIND), intent(in) :: position
    type(MPI_Datatype), intent(in) :: datatype
    integer(kind=MPI_ADDRESS_KIND), intent(in) :: extra_state
    logical, intent(in) :: is_read
    real(8), pointer :: program_has(:), file_has(:)
    call c_f_pointer(userbuf, program_has, [position + count])
    call c_f_pointer(filebuf, file_has, [count])
    if (is_read) program_has(position + 1:) = -file_has
    if (.not. is_read) file_has = -program_has(position + 1:)
    converted = merge(MPI_SUCCESS, MPI_ERR_CONVERSION, datatype == MPI_REAL8 .and. extra_state == 9)
  end function
  subroutine extent_in_file(datatype, extent, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer(kind=MPI_ADDRESS_KIND) :: extent, extra_state
    integer :: ierror
    extent = extra_state - 1
    ierror = merge(MPI_SUCCESS, MPI_ERR_TYPE, datatype == MPI_REAL8)
  end subroutine
  subroutine on_file_error(file, error_code)
    type(MPI_File) :: file
    integer :: error_code
    if (file == MPI_FILE_NULL .and. error_code /= MPI_SUCCESS) file_errors = file_errors + 1
  end subroutine
  subroutine on_session_error(session, error_code)
    type(MPI_Session) :: session
    integer :: error_code
    if (session /= MPI_SESSION_NULL .and. error_code == MPI_ERR_ARG) session_errors = session_errors + 1
  end subroutine
  subroutine largest(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    if (datatype == MPI_INTEGER) inout = max(in, inout)
  end subroutine
end module

program rest_f08
  use converters
  use check
  implicit none
  integer :: rank, size, error, class
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call want(MPI_SUBARRAYS_SUPPORTED .and. MPI_ASYNC_PROTECTS_NONBLOCKING, "what the module promises")
  call representations()
  call error_handlers()
  call operators()
  call graph_without_edges()
  call spawned_commands()
  call types_by_range()
  call statuses()
  call MPI_Finalize()
contains

  subroutine representations()
    real(8) :: numbers(6), got(6)
    integer :: way
    type(MPI_File) :: file
    integer(kind=MPI_OFFSET_KIND), parameter :: start = 0
    character(len=3), parameter :: names(2) = ["neg", "big"]
    call MPI_Register_datarep("neg", read_negative, write_negative, extent_in_file, 9_MPI_ADDRESS_KIND)
    call MPI_Register_datarep_c("big", read_negative_c, MPI_CONVERSION_FN_NULL_C, extent_in_file, 9_MPI_ADDRESS_KIND)
    call MPI_File_open(MPI_COMM_SELF, "rest_f08." // achar(48 + rank), &
                       MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    numbers = [1, 2, 3, 4, 5, 6]
    do way = 1, 2
      call MPI_File_set_view(file, start, MPI_REAL8, MPI_REAL8, names(way), MPI_INFO_NULL)
      call MPI_File_write_at(file, start, numbers, 6, MPI_REAL8, MPI_STATUS_IGNORE)
      call MPI_File_read_at(file, start, got, 6, MPI_REAL8, MPI_STATUS_IGNORE)
      call want(all(got == merge(numbers, -numbers, way == 1)), "a file in the representation " // names(way))
      call MPI_File_set_view(file, start, MPI_REAL8, MPI_REAL8, "native", MPI_INFO_NULL)
      call MPI_File_read_at(file, start, got, 6, MPI_REAL8, MPI_STATUS_IGNORE)
      call want(all(got == merge(-numbers, numbers, way == 1)), "what lies in the file: " // names(way))
    end do
    call MPI_File_close(file)
    call MPI_Register_datarep("neg", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_in_file, 9_MPI_ADDRESS_KIND, error)
    call MPI_Error_class(error, class)
    call want(class == MPI_ERR_DUP_DATAREP, "a representation that is there")
  end subroutine

  subroutine error_handlers()
    type(MPI_Errhandler) :: of_files, of_session, before
    type(MPI_File) :: file
    type(MPI_Session) :: session
    call MPI_File_get_errhandler(MPI_FILE_NULL, before)
    call MPI_File_create_errhandler(on_file_error, of_files)
    call MPI_File_set_errhandler(MPI_FILE_NULL, of_files)
    call MPI_File_open(MPI_COMM_SELF, "no/such/folder", MPI_MODE_RDONLY, MPI_INFO_NULL, file, error)
    call want(file_errors == 1 .and. error /= MPI_SUCCESS, "the error handler of files")
    call MPI_File_set_errhandler(MPI_FILE_NULL, before)
    call MPI_Errhandler_free(of_files)
    call MPI_Session_create_errhandler(on_session_error, of_session)
    call MPI_Session_init(MPI_INFO_NULL, of_session, session)
    call MPI_Session_call_errhandler(session, MPI_ERR_ARG)
    call want(session_errors == 1, "the error handler of a session")
    call MPI_Errhandler_free(of_session)
    call MPI_Session_finalize(session)
  end subroutine

  subroutine operators()
    type(MPI_Op) :: op
    integer :: most
    real :: pair(2)
    call MPI_Op_create_c(largest, .true., op)
    call MPI_Allreduce(rank, most, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
    call want(most == size - 1, "an operator for large counts")
    call MPI_Op_free(op)
    pair = [-rank, rank]
    call MPI_Allreduce(MPI_IN_PLACE, pair, 1, MPI_2REAL, MPI_MINLOC, MPI_COMM_WORLD)
    call want(all(pair == [1 - size, size - 1]), "MPI_2REAL")
  end subroutine

  subroutine graph_without_edges()
    integer :: none(0), sources, destinations
    logical :: weighted
    type(MPI_Comm) :: graph
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, none, MPI_WEIGHTS_EMPTY, 0, none, MPI_WEIGHTS_EMPTY, &
                                        MPI_INFO_NULL, .false., graph)
    call MPI_Dist_graph_neighbors_count(graph, sources, destinations, weighted)
    call want(sources == 0 .and. destinations == 0 .and. weighted, "MPI_WEIGHTS_EMPTY")
    call MPI_Comm_free(graph)
  end subroutine

  ! Refused, whatever the arguments are.
  subroutine spawned_commands()
    type(MPI_Errhandler) :: before
    type(MPI_Comm) :: children
    integer :: codes(2)
    character(len=8), parameter :: commands(2) = "nothing ", arguments(3) = ["-a      ", "b       ", "        "]
    character(len=8), parameter :: table(2, 2) = reshape(["-a      ", "-b      ", "        ", "        "], [2, 2])
    call MPI_Comm_get_errhandler(MPI_COMM_SELF, before)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Comm_spawn("nothing", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, children, MPI_ERRCODES_IGNORE, error)
    call want(error /= MPI_SUCCESS, "MPI_ARGV_NULL and MPI_ERRCODES_IGNORE")
    call MPI_Comm_spawn("nothing", arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, children, codes, error)
    call want(error /= MPI_SUCCESS, "arguments of a command")
    call MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, MPI_COMM_SELF, &
                                 children, MPI_ERRCODES_IGNORE, error)
    call want(error /= MPI_SUCCESS, "MPI_ARGVS_NULL")
    call MPI_Comm_spawn_multiple(2, commands, table, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, MPI_COMM_SELF, &
                                 children, codes, error)
    call want(error /= MPI_SUCCESS, "arguments of two commands")
    call MPI_Comm_get_parent(children)
    call want(children == MPI_COMM_NULL, "no parent")
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, before)
  end subroutine

  subroutine types_by_range()
    type(MPI_Datatype) :: type
    integer :: bytes
    call MPI_Type_create_f90_integer(12, type)
    call MPI_Type_size(type, bytes)
    call want(bytes == 8, "MPI_Type_create_f90_integer")
    call MPI_Type_create_f90_complex(6, MPI_UNDEFINED, type)
    call MPI_Type_size(type, bytes)
    call want(bytes == 8, "MPI_Type_create_f90_complex")
    call MPI_Type_create_f90_real(MPI_UNDEFINED, 100, type)
    call MPI_Type_size(type, bytes)
    call want(bytes == 8, "MPI_Type_create_f90_real")
  end subroutine

  subroutine statuses()
    type(MPI_Request) :: requests(3)
    type(MPI_Status) :: status, all(3)
    integer, asynchronous :: got(2)
    integer :: i, done, indices(3)
    integer(kind=MPI_COUNT_KIND) :: elements
    logical :: flag
    requests(3) = MPI_REQUEST_NULL
    do i = 1, 2
      call MPI_Irecv(got(i), 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, requests(i))
      call MPI_Send(rank, 1, MPI_INTEGER, 0, i, MPI_COMM_SELF)
    end do
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status_all(3, requests, flag, all)
    end do
    call want(all(1)%MPI_TAG == 1 .and. all(2)%MPI_TAG == 2, "statuses of all requests")
    call MPI_Request_get_status_any(3, requests, i, flag, status)
    call want(flag .and. i >= 1 .and. i <= 2 .and. status%MPI_TAG == i, "the status of one request")
    call MPI_Request_get_status_some(3, requests, done, indices, all)
    call want(done == 2, "the number of requests that are complete")
    do i = 1, done
      call want(all(i)%MPI_TAG == indices(i), "the statuses of some requests")
    end do
    call MPI_Get_elements_x(all(1), MPI_INTEGER, elements)
    call want(elements == 1, "MPI_Get_elements_x")
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
    call MPI_F_sync_reg(got)
    call want(got(1) == rank .and. got(2) == rank, "what was received")
    elements = MPI_Aint_add(40_MPI_ADDRESS_KIND, -2_MPI_ADDRESS_KIND)
    call want(MPI_Aint_diff(elements, 30_MPI_ADDRESS_KIND) == 8, "MPI_Aint_add and MPI_Aint_diff")
  end subroutine
end program
