! Arguments that are odd but right, and wrong ones that are answered: nothing to send, nothing to wait for, blank and
! cut texts, huge counts, null handles, negative numbers.
! ranks: 1 2
program odd_f08
  use mpi_f08
  use check
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, size
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call nothing()
  call texts()
  call wrong_arguments()
  call freed_requests()
  call parts()
  if (kind(rank) == 4) call large_counts()
  call kinds()
  call MPI_Finalize()
contains

  subroutine nothing()
    real(8) :: none(0), matrix(4, 4), one
    type(MPI_Request) :: requests(2), no_requests(0)
    type(MPI_Status) :: status
    integer :: index, done, indices(1), count
    logical :: flag
    matrix = rank
    call MPI_Isend(none, 0, MPI_REAL8, rank, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Recv(none, 0, MPI_REAL8, rank, 1, MPI_COMM_WORLD, status)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call MPI_Get_count(status, MPI_REAL8, count)
    call want(count == 0, "an array without elements")
    ! Parts without elements, of arrays and of parts.
    call MPI_Isend(matrix(1:0, :), 0, MPI_REAL8, rank, 2, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(matrix(4:1:2, 1:4:2), 0, MPI_REAL8, rank, 2, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_Iallreduce(matrix(1:4:2, 1:0), matrix(2:1:3, :), 0, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call MPI_Allreduce(matrix(1:4:3, :), matrix(2:3, :), 0, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD)
    call want(all(matrix == rank), "no elements are written")
    ! One element of an array, and one that is more than a datatype.
    one = -1
    call MPI_Sendrecv(matrix(2, 2), 1, MPI_REAL8, rank, 3, one, 8, MPI_BYTE, rank, 3, MPI_COMM_WORLD, status)
    call want(one == rank, "one element")
    call MPI_Waitall(0, no_requests, MPI_STATUSES_IGNORE)
    call MPI_Testall(0, no_requests, flag, MPI_STATUSES_IGNORE)
    call want(flag, "MPI_Testall of no requests")
    call MPI_Waitany(0, no_requests, index, MPI_STATUS_IGNORE)
    call want(index == MPI_UNDEFINED, "MPI_Waitany of no requests")
    call MPI_Waitsome(0, no_requests, done, indices, MPI_STATUSES_IGNORE)
    call want(done == MPI_UNDEFINED, "MPI_Waitsome of no requests")
    requests = MPI_REQUEST_NULL
    call MPI_Wait(requests(1), status)
    call want(status%MPI_SOURCE == MPI_ANY_SOURCE .and. status%MPI_ERROR == MPI_SUCCESS, "an empty status")
    call MPI_Send(one, 1, MPI_REAL8, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
    call MPI_Recv(one, 1, MPI_REAL8, MPI_PROC_NULL, 0, MPI_COMM_WORLD, status)
    call want(status%MPI_SOURCE == MPI_PROC_NULL .and. one == rank, "a receive from nobody")
  end subroutine

  subroutine texts()
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=4) :: value
    character(len=0) :: empty
    integer :: length, error
    logical :: flag
    type(MPI_Info) :: info
    type(MPI_Comm) :: comm
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_set_name(comm, "    ")
    call MPI_Comm_get_name(comm, name, length)
    call want(length == 0 .and. name == " ", "a blank name")
    call MPI_Comm_set_name(comm, empty)
    call MPI_Comm_set_name(comm, repeat("x", 1000), error)
    call MPI_Comm_get_name(comm, name, length)
    call want(length == MPI_MAX_OBJECT_NAME .and. name == repeat("x", MPI_MAX_OBJECT_NAME), "a long name is cut")
    call MPI_Comm_set_name(comm, char(1) // "x")
    call MPI_Comm_get_name(comm, name, length)
    call want(length == 2 .and. name == char(1) // "x", "a name that does not begin with a letter")
    call MPI_Comm_get_name(comm, name(1:0), length)
    call MPI_Comm_free(comm)
    call MPI_Info_create(info)
    call MPI_Info_set(info, "key", "       ")
    length = huge(length)
    call MPI_Info_get_string(info, "key", length, value, flag)
    call want(flag .and. length == 0 .and. value == " ", "a blank value, and room without end")
    call MPI_Info_set(info, "key", "abcdef")
    length = 2
    call MPI_Info_get_string(info, "key", length, value, flag)
    call want(flag .and. length == 6 .and. value == "ab", "the first letters of a value")
    call MPI_Info_free(info)
  end subroutine

  subroutine parts()
    type cell
      integer :: id
      real(8) :: value
      complex(4) :: z
    end type
    type(cell), target :: cells(10)
    real(8), pointer :: values(:)
    real(8) :: a(20), b(10), c(20)
    complex(4) :: z(5)
    character(len=3) :: words(4), ends(4)
    type(MPI_Request) :: request
    type(MPI_Datatype) :: every_other, backwards
    type(c_ptr) :: memory
    integer :: i
    do i = 1, 10
      cells(i) = cell(i, 10 * i, cmplx(i, -i))
    end do
    ! A component of every other cell, from the last one down.
    values => cells(10:1:-2)%value
    b = 0
    call MPI_Isend(values, 5, MPI_REAL8, rank, 1, MPI_COMM_WORLD, request)
    call MPI_Recv(b(10:2:-2), 5, MPI_REAL8, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call want(all(b(2:10:2) == [(20 * i, i = 1, 5)]) .and. all(b(1:9:2) == 0), "components, by a pointer")
    ! Real parts that become imaginary parts.
    z = cells(2:6)%z
    call MPI_Isend(z%re, 5, MPI_REAL, rank, 1, MPI_COMM_WORLD, request)
    call MPI_Recv(z%im, 5, MPI_REAL, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call want(all(z%im == [(i, i = 2, 6)]), "parts of complex numbers")
    ! The ends of words.
    words = "---"
    ends = ["abc", "def", "ghi", "jkl"]
    call MPI_Isend(ends, 12, MPI_CHARACTER, rank, 1, MPI_COMM_WORLD, request)
    call MPI_Recv(words(4:1:-1), 12, MPI_CHARACTER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    ends = "---"
    call want(all(words == ["jkl", "ghi", "def", "abc"]), "words")
    call MPI_Isend(words(:)(2:3), 8, MPI_CHARACTER, rank, 1, MPI_COMM_WORLD, request)
    call MPI_Recv(ends(:)(1:2), 8, MPI_CHARACTER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call want(all(ends == ["kl-", "hi-", "ef-", "bc-"]), "ends of words")
    ! What a nonblocking call does not receive is the program's.
    a = [(i, i = 1, 20)]
    c = 1
    call MPI_Iallgather(a(1:4:3), 2, MPI_REAL8, c(1:4*size+1:2), 2, MPI_REAL8, MPI_COMM_WORLD, request)
    c(4*size+1) = 77
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call want(c(4*size+1) == 77 .and. all(c(1:4*size:4) == 1) .and. all(c(3:4*size:4) == 4), "the rest of a buffer")
    ! Datatypes with gaps, and in another order than memory, over parts of arrays.
    call MPI_Type_vector(3, 1, 2, MPI_REAL8, every_other)
    call MPI_Type_commit(every_other)
    call MPI_Type_indexed(3, [1, 1, 1], [4, 2, 0], MPI_REAL8, backwards)
    call MPI_Type_commit(backwards)
    c = 0
    call MPI_Isend(a(1:20:3), 1, every_other, rank, 1, MPI_COMM_WORLD, request)
    call MPI_Recv(c(10:1:-2), 1, backwards, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call want(c(2) == 1 .and. c(6) == 7 .and. c(10) == 13 .and. sum(c) == 21, "datatypes with gaps")
    call MPI_Type_free(every_other)
    call MPI_Type_free(backwards)
    call MPI_Type_indexed(2, [1, 1], [1, 0], MPI_REAL8, backwards)
    call MPI_Type_commit(backwards)
    c = 0
    call MPI_Isend(a(1:20:3), 2, backwards, rank, 1, MPI_COMM_WORLD, request)
    call MPI_Recv(c(1:4), 4, MPI_REAL8, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call want(all(c(1:4) == [4, 1, 10, 7]), "a datatype without gaps in another order than memory")
    call MPI_Type_free(backwards)
    ! The buffer that the library makes has an address of its own.
    call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0)
    call MPI_Buffer_detach(memory, i)
    call want(c_associated(memory, c_loc(MPI_BUFFER_AUTOMATIC)), "MPI_BUFFER_AUTOMATIC")
  end subroutine

  !> An integer that was a request is none, and not MPI_REQUEST_NULL, which would be complete.
  subroutine freed_requests()
    type(MPI_Request) :: request, freed, requests(2)
    integer :: buffer, error
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Send_init(buffer, 1, MPI_INTEGER, rank, 1, MPI_COMM_SELF, request)
    freed = request
    call MPI_Request_free(request)
    call MPI_Wait(freed, MPI_STATUS_IGNORE, error)
    call MPI_Error_class(error, error)
    call want(error == MPI_ERR_REQUEST, "MPI_Wait for a request that was freed")
    requests = [MPI_REQUEST_NULL, freed]
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call want(error /= MPI_SUCCESS, "MPI_Waitall for a request that was freed")
    call want(requests(1) == MPI_REQUEST_NULL .and. requests(2) == freed, "a freed request stays what it is")
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  end subroutine

  subroutine wrong_arguments()
    real(8) :: a(8)
    integer :: error, i
    type(MPI_Comm) :: comm
    type(MPI_Errhandler) :: before
    integer, parameter :: no_handles(3) = [100000000, -7, huge(1)]
    call MPI_Comm_get_errhandler(MPI_COMM_WORLD, before)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    a = 0
    call MPI_Send(a, -1, MPI_REAL8, rank, 0, MPI_COMM_WORLD, error)
    call want_class(error, MPI_ERR_COUNT, "a negative count")
    call MPI_Send(a(1:8:2), -1, MPI_REAL8, rank, 0, MPI_COMM_WORLD, error)
    call want_class(error, MPI_ERR_COUNT, "a negative count of a part")
    call MPI_Send(a, 1, MPI_REAL8, rank, -3, MPI_COMM_WORLD, error)
    call want_class(error, MPI_ERR_TAG, "a negative tag")
    call MPI_Send(a, 1, MPI_DATATYPE_NULL, rank, 0, MPI_COMM_WORLD, error)
    call want_class(error, MPI_ERR_TYPE, "no datatype")
    call MPI_Send(a(1:8:2), 1, MPI_DATATYPE_NULL, rank, 0, MPI_COMM_WORLD, error)
    call want_class(error, MPI_ERR_TYPE, "no datatype of a part")
    ! A wrong part is an error of the communicator, as a wrong array is.
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, before)
    call MPI_Send(a(1:8:2), 1, MPI_DATATYPE_NULL, rank, 0, comm, error)
    call want_class(error, MPI_ERR_TYPE, "no datatype of a part, for a communicator's handler")
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Comm_free(comm)
    call MPI_Send(a, 1, MPI_REAL8, rank, 0, MPI_COMM_NULL, error)
    call want_class(error, MPI_ERR_COMM, "no communicator")
    do i = 1, size_of(no_handles)
      comm%MPI_VAL = no_handles(i)
      call MPI_Send(a, 1, MPI_REAL8, rank, 0, comm, error)
      call want_class(error, MPI_ERR_COMM, "an integer that is no handle")
    end do
    if (kind(error) == 8) then                       ! a count that no int of C can hold
      call MPI_Send(a, huge(error), MPI_REAL8, rank, 0, MPI_COMM_WORLD, error)
      call want_class(error, MPI_ERR_COUNT, "a count above that of C")
    end if
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, before)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, before)
  end subroutine

  pure integer function size_of(array)
    integer, intent(in) :: array(:)
    size_of = ubound(array, 1)
  end function

  subroutine want_class(error, class, what)
    integer, intent(in) :: error, class
    character(len=*), intent(in) :: what
    integer :: found
    call MPI_Error_class(error, found)
    call want(found == class, what)
  end subroutine

  ! More than 4 GiB by one count, in memory that is touched at both ends only: a datatype with a hole.
  subroutine large_counts()
    integer(kind=MPI_COUNT_KIND), parameter :: bytes = 5 * 2_MPI_COUNT_KIND**30
    integer(kind=MPI_COUNT_KIND) :: count
    type(c_ptr) :: memory(2)
    integer(1), pointer :: sent(:), received(:)
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: i
    type(MPI_Datatype) :: ends
    call MPI_Type_create_hindexed_block(2_MPI_COUNT_KIND, 1_MPI_COUNT_KIND, [0_MPI_COUNT_KIND, bytes - 1], MPI_BYTE, ends)
    call MPI_Type_commit(ends)
    call MPI_Type_get_extent(ends, count, count)
    call want(count == bytes, "an extent above 4 GiB")
    do i = 1, 2
      memory(i) = reserve(bytes)
      if (.not. c_associated(memory(i))) return      ! no address space: nothing to see
    end do
    call c_f_pointer(memory(1), sent, [bytes])
    call c_f_pointer(memory(2), received, [bytes])
    sent(1) = 3
    sent(bytes) = 5
    call MPI_Irecv(received, 1_MPI_COUNT_KIND, ends, rank, 1, MPI_COMM_WORLD, request)
    call MPI_Send(sent, 1_MPI_COUNT_KIND, ends, rank, 1, MPI_COMM_WORLD)
    call MPI_Wait(request, status)
    call want(received(1) == 3 .and. received(bytes) == 5, "the ends of 5 GiB")
    call MPI_Type_free(ends)
    call MPI_Status_set_elements(status, MPI_BYTE, bytes)
    call MPI_Get_elements(status, MPI_BYTE, count)
    call want(count == bytes, "a count above 4 GiB in a status")
    call MPI_Get_count(status, MPI_BYTE, i)
    call want(i == MPI_UNDEFINED, "a count that no INTEGER holds")
    do i = 1, 2
      call release(memory(i))
    end do
  end subroutine

  type(c_ptr) function reserve(bytes)
    integer(kind=MPI_COUNT_KIND), intent(in) :: bytes
    interface
      type(c_ptr) function malloc(bytes) bind(C)
        import
        integer(c_size_t), value :: bytes
      end function
    end interface
    reserve = malloc(bytes)
  end function

  subroutine release(memory)
    type(c_ptr), intent(in) :: memory
    interface
      subroutine free(memory) bind(C)
        import
        type(c_ptr), value :: memory
      end subroutine
    end interface
    call free(memory)
  end subroutine

  subroutine kinds()
    integer :: bytes, pairs(2, 2)
    integer(2) :: short
    complex(8) :: number
    logical :: flag
    type(MPI_Datatype) :: type
    call MPI_Sizeof(short, bytes)
    call want(bytes == 2, "MPI_Sizeof of an INTEGER*2")
    call MPI_Sizeof(number, bytes)
    call want(bytes == 16, "MPI_Sizeof of a COMPLEX*16")
    call MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, type)
    call want(type == MPI_INTEGER8, "MPI_Type_match_size")
    call MPI_Type_size(MPI_INTEGER, bytes)
    call want(bytes == kind(bytes) .and. bytes == MPI_INTEGER_KIND, "MPI_INTEGER")
    call MPI_Type_size(MPI_LOGICAL, bytes)
    call want(bytes == kind(flag), "MPI_LOGICAL")
    call MPI_Type_size(MPI_2INTEGER, bytes)
    call want(bytes == 2 * kind(bytes), "MPI_2INTEGER")
    call MPI_Type_get_value_index(MPI_INTEGER, MPI_INTEGER, type)
    call want(type == MPI_2INTEGER, "MPI_Type_get_value_index")
    pairs(:, 1) = [huge(rank) - rank, rank]
    pairs(:, 2) = [7, rank]
    call MPI_Allreduce(MPI_IN_PLACE, pairs, 2, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD)
    call want(all(pairs(:, 1) == [huge(rank) - size + 1, size - 1]) .and. all(pairs(:, 2) == [7, 0]), "MPI_MINLOC")
  end subroutine
end program
