! INTEGER arguments of 8 bytes that no int of C holds: refused by a sentence, through the error handler of the object that
! the call is about.  Those that mean nothing are not looked at.
! ranks: 1 2
program wide_integers_f08
  use mpi_f08
  use check
  implicit none
  integer, parameter :: much = 2_8**32 + 7, little = -much   ! an int would be 7
  integer :: rank, size, handled = 0, handled_code = MPI_SUCCESS, error
  type(MPI_Errhandler) :: counts_errors
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call datatypes()
  call messages()
  call collectives()
  call communicators()
  call windows_and_files()
  call what_means_nothing()
  call MPI_Finalize()
contains

  !> The error has its class and a sentence that names the call, the argument and its value.
  subroutine want_refusal(class, call, argument, value)
    integer, intent(in) :: class, value
    character(len=*), intent(in) :: call, argument
    character(len=MPI_MAX_ERROR_STRING) :: sentence
    character(len=200) :: start
    integer :: found, length
    if (error == MPI_SUCCESS) then
      call want(.false., call // " takes any " // argument)
      return
    end if
    call MPI_Error_class(error, found)
    call want(found == class, call // " has the class of a wrong " // argument)
    call MPI_Error_string(error, sentence, length)
    write (start, "(5a,i0,a)") "MPI_", call, ": ", argument, " is ", value, ", "
    call want(index(sentence, trim(start)) == 1, trim(start) // " not: " // sentence(:length))
    call want(index(sentence, "2147483647") > 0, sentence(:length) // " says what fits")
    if (any(argument == ["key      ", "direction"])) call want(index(sentence, "datatype") == 0, sentence(:length) // " helps")
  end subroutine

  subroutine datatypes()
    type(MPI_Datatype) :: type
    integer :: position, buffer(4), sizes(2)
    type = MPI_DATATYPE_NULL
    call MPI_Type_contiguous(much, MPI_BYTE, type, error)
    call want_refusal(MPI_ERR_COUNT, "Type_contiguous", "count", much)
    call MPI_Type_vector(2, 1, much, MPI_BYTE, type, error)
    call want_refusal(MPI_ERR_ARG, "Type_vector", "stride", much)
    call MPI_Type_vector(2, 1, little, MPI_BYTE, type, error)
    call want_refusal(MPI_ERR_ARG, "Type_vector", "stride", little)
    call MPI_Type_vector(much, 1, 1, MPI_BYTE, type, error)
    call want_refusal(MPI_ERR_COUNT, "Type_vector", "count", much)
    call MPI_Type_indexed(3, [1, 1, 1], [0, 1, much], MPI_BYTE, type, error)
    call want_refusal(MPI_ERR_ARG, "Type_indexed", "array_of_displacements(3)", much)
    call MPI_Type_indexed(1, [1], [much], MPI_BYTE, type, error)
    call want_refusal(MPI_ERR_ARG, "Type_indexed", "array_of_displacements", much)
    call MPI_Type_indexed(much, [1], [0], MPI_BYTE, type, error)
    call want_refusal(MPI_ERR_COUNT, "Type_indexed", "count", much)
    call MPI_Type_create_indexed_block(2, 1, [little, 0], MPI_BYTE, type, error)
    call want_refusal(MPI_ERR_ARG, "Type_create_indexed_block", "array_of_displacements(1)", little)
    call MPI_Type_create_subarray(2, [much, 1], [1, 1], [0, 0], MPI_ORDER_FORTRAN, MPI_BYTE, type, error)
    call want_refusal(MPI_ERR_ARG, "Type_create_subarray", "array_of_sizes(1)", much)
    call MPI_Type_create_hindexed(2, [1, much], [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND], MPI_BYTE, type, error)
    call want_refusal(MPI_ERR_COUNT, "Type_create_hindexed", "array_of_blocklengths(2)", much)
    call want(type == MPI_DATATYPE_NULL, "a refused call makes no datatype")
    position = much
    call MPI_Pack([1], 1, MPI_INTEGER, buffer, 32, position, MPI_COMM_WORLD, error)
    call want_refusal(MPI_ERR_ARG, "Pack", "position", much)
    call want(position == much, "a refused call changes no argument")
    sizes = [0, much]
    call MPI_Dims_create(4, 2, sizes, error)
    call want_refusal(MPI_ERR_DIMS, "Dims_create", "dims(2)", much)
  end subroutine

  subroutine messages()
    integer :: buffer(4) = 0
    type(MPI_Comm) :: comm
    type(MPI_Request) :: request, requests(1)
    call MPI_Send(buffer, much, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, error)
    call want_refusal(MPI_ERR_COUNT, "Send", "count", much)
    call MPI_Send(buffer(1:4:2), much, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, error)
    call want_refusal(MPI_ERR_COUNT, "Send", "count", much)
    call MPI_Send(buffer, 1, MPI_INTEGER, much, 1, MPI_COMM_WORLD, error)
    call want_refusal(MPI_ERR_RANK, "Send", "dest", much)
    call MPI_Irecv(buffer, 1, MPI_INTEGER, rank, much, MPI_COMM_WORLD, request, error)
    call want_refusal(MPI_ERR_TAG, "Irecv", "tag", much)
    call MPI_Sendrecv(buffer, 1, MPI_INTEGER, rank, 1, buffer, much, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, error)
    call want_refusal(MPI_ERR_COUNT, "Sendrecv", "recvcount", much)
    call MPI_Send_init(buffer, little, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, request, error)
    call want_refusal(MPI_ERR_COUNT, "Send_init", "count", little)
    requests = MPI_REQUEST_NULL
    call MPI_Waitall(much, requests, MPI_STATUSES_IGNORE, error)
    call want_refusal(MPI_ERR_COUNT, "Waitall", "count", much)
    ! Handles that C would take for MPI_COMM_WORLD.
    comm%MPI_VAL = MPI_COMM_WORLD%MPI_VAL + 2_8**32
    call MPI_Send(buffer, 1, MPI_INTEGER, rank, 1, comm, error)
    call MPI_Error_class(error, error)
    call want(error == MPI_ERR_COMM, "an integer that is no handle")
    call MPI_Send(buffer, much, MPI_INTEGER, rank, 1, comm, error)
    call MPI_Error_class(error, error)
    call want(error == MPI_ERR_COMM, "an integer that is no handle, and a count")
  end subroutine

  subroutine collectives()
    integer :: sent(2), received(2), counts(0:1), displacements(0:1)
    type(MPI_Request) :: request
    integer :: i, last
    character(len=4) :: place
    sent = rank
    counts = 1
    displacements = [0, 1]
    last = size - 1
    displacements(last) = much
    place = ""
    if (size > 1) write (place, "(a,i0,a)") "(", size, ")"
    call MPI_Alltoallv(sent, counts, displacements, MPI_INTEGER, received, counts, [0, 1], MPI_INTEGER, MPI_COMM_WORLD, error)
    call want_refusal(MPI_ERR_ARG, "Alltoallv", "sdispls" // trim(place), much)
    call MPI_Ialltoallv(sent, counts, [0, 1], MPI_INTEGER, received, counts, displacements, MPI_INTEGER, MPI_COMM_WORLD, &
                        request, error)
    call want_refusal(MPI_ERR_ARG, "Ialltoallv", "rdispls" // trim(place), much)
    call MPI_Allgatherv(sent, 1, MPI_INTEGER, received, counts, displacements, MPI_INTEGER, MPI_COMM_WORLD, error)
    call want_refusal(MPI_ERR_ARG, "Allgatherv", "displs" // trim(place), much)
    call MPI_Allreduce(sent, received, much, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call want_refusal(MPI_ERR_COUNT, "Allreduce", "count", much)
    call MPI_Bcast(sent, 1, MPI_INTEGER, much, MPI_COMM_WORLD, error)
    call want_refusal(MPI_ERR_ROOT, "Bcast", "root", much)
    do i = 0, size - 1                               ! the root alone looks
      displacements = [0, 1]
      displacements(last) = much
      if (i == rank) then
        call MPI_Gatherv(sent, 0, MPI_INTEGER, received, [0, 0], displacements, MPI_INTEGER, i, MPI_COMM_WORLD, error)
        call want_refusal(MPI_ERR_ARG, "Gatherv", "displs" // trim(place), much)
      end if
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine

  subroutine communicators()
    type(MPI_Comm) :: comm, grid, made
    integer :: from, to
    call MPI_Comm_create_errhandler(count_error, counts_errors)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_set_errhandler(comm, counts_errors)
    made = MPI_COMM_NULL
    call MPI_Comm_split(comm, 0, much, made, error)
    call want_refusal(MPI_ERR_ARG, "Comm_split", "key", much)
    call want(handled == 1 .and. handled_code == error, "the handler of the communicator gets the error")
    call MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, little, MPI_INFO_NULL, made, error)
    call want_refusal(MPI_ERR_ARG, "Comm_split_type", "key", little)
    call MPI_Cart_create(comm, 1, [much], [.true.], .false., made, error)
    call want_refusal(MPI_ERR_DIMS, "Cart_create", "dims", much)
    call want(handled == 3 .and. made == MPI_COMM_NULL, "no communicator is made")
    call MPI_Cart_create(comm, 1, [size], [.true.], .false., grid)
    call MPI_Cart_shift(grid, 0, much, from, to, error)
    call want_refusal(MPI_ERR_ARG, "Cart_shift", "disp", much)
    call MPI_Cart_shift(grid, much, 1, from, to, error)
    call want_refusal(MPI_ERR_ARG, "Cart_shift", "direction", much)
    call MPI_Cart_rank(grid, [little], from, error)
    call want_refusal(MPI_ERR_ARG, "Cart_rank", "coords", little)
    call MPI_Dist_graph_create(comm, 1, [rank], [1], [much], [1], MPI_INFO_NULL, .false., made, error)
    call want_refusal(MPI_ERR_RANK, "Dist_graph_create", "destinations", much)
    call want(handled == 7, "each error is handled once")
    ! The same number of codes after many errors: a code for each class, with the last sentence.
    call MPI_Comm_split(comm, 0, much, made, from)
    call MPI_Comm_split(comm, 0, little, made, to)
    call want(from == to, "no new code for each error")
    call MPI_Comm_free(grid)
    call MPI_Comm_free(comm)
    call MPI_Errhandler_free(counts_errors)
  end subroutine

  subroutine count_error(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    handled = handled + 1
    handled_code = code
  end subroutine

  subroutine windows_and_files()
    type(MPI_Win) :: win
    type(MPI_File) :: file
    integer :: memory(2), buffer(2)
    call MPI_Win_create(memory, 16_MPI_ADDRESS_KIND, much, MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
    call want_refusal(MPI_ERR_DISP, "Win_create", "disp_unit", much)
    call MPI_Win_create(memory, 16_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
    call MPI_Win_lock(MPI_LOCK_SHARED, much, 0, win, error)
    call want_refusal(MPI_ERR_RANK, "Win_lock", "rank", much)
    call MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win)
    call MPI_Put(buffer, 1, MPI_INTEGER, rank, 0_MPI_ADDRESS_KIND, much, MPI_INTEGER, win, error)
    call want_refusal(MPI_ERR_COUNT, "Put", "target_count", much)
    call MPI_Win_unlock(rank, win)
    call MPI_Win_free(win)
    call MPI_File_open(MPI_COMM_SELF, "wide_integers_f08.tmp" // achar(iachar("a") + rank), &
                       MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    call MPI_File_write(file, buffer, much, MPI_INTEGER, MPI_STATUS_IGNORE, error)   ! files return their errors
    call want_refusal(MPI_ERR_COUNT, "File_write", "count", much)
    call MPI_File_close(file)
  end subroutine

  subroutine what_means_nothing()
    integer :: sent, received(2), count, root
    type(MPI_Comm) :: children
    sent = rank
    received = rank
    do root = 0, size - 1
      count = merge(1, much, root == rank)
      call MPI_Gather(sent, 1, MPI_INTEGER, received, count, MPI_INTEGER, root, MPI_COMM_WORLD, error)
      call want(error == MPI_SUCCESS, "a count of MPI_Gather that only the root has")
      call MPI_Scatter(received, count, MPI_INTEGER, sent, 1, MPI_INTEGER, root, MPI_COMM_WORLD, error)
      call want(error == MPI_SUCCESS, "a count of MPI_Scatter that only the root has")
      call MPI_Gatherv(sent, 1, MPI_INTEGER, received, merge([1, 1], [much, much], root == rank), &
                       merge([0, 1], [much, much], root == rank), MPI_INTEGER, root, MPI_COMM_WORLD, error)
      call want(error == MPI_SUCCESS, "counts of MPI_Gatherv that only the root has")
    end do
    call MPI_Allgather(MPI_IN_PLACE, much, MPI_INTEGER, received, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call want(error == MPI_SUCCESS, "a count beside MPI_IN_PLACE")
    call MPI_Alltoallv(MPI_IN_PLACE, [much, much], [much, much], MPI_INTEGER, received, [1, 1], [0, 1], MPI_INTEGER, &
                       MPI_COMM_WORLD, error)
    call want(error == MPI_SUCCESS, "counts beside MPI_IN_PLACE")
    if (rank == 0) then
      call MPI_Gather(MPI_IN_PLACE, much, MPI_INTEGER, received, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    else
      call MPI_Gather(sent, 1, MPI_INTEGER, received, much, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    end if
    call want(error == MPI_SUCCESS, "a count beside MPI_IN_PLACE at the root")
    call MPI_Comm_spawn("/bin/true", MPI_ARGV_NULL, merge(1, much * much / 4, rank == 0), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &
                        children, received(:1), error)      ! is answered, though not supported
  end subroutine
end program
