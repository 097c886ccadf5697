! Calls that a program hides in procedures of its own, with parts of arrays; arrays of arguments that are gone before the call
! is complete; parts in windows, packed, matched, to neighbors, of 15 dimensions; callbacks declared by the module's abstract
! interfaces; MPI inside MPI_FINALIZE.
! ranks: 1 2 3
module wrappers
  use mpi_f08
  use check
  use, intrinsic :: iso_c_binding
  implicit none
  procedure(MPI_User_function) :: subtract
  procedure(MPI_Comm_delete_attr_function) :: at_the_end
  procedure(MPI_Grequest_query_function), pointer :: query => null()
  procedure(MPI_Datarep_conversion_function_c), pointer :: conversion => null()
contains
  subroutine my_allreduce(in, out, count, datatype)
    type(*), dimension(..), intent(in) :: in
    type(*), dimension(..) :: out
    integer, intent(in) :: count
    type(MPI_Datatype), intent(in) :: datatype
    call MPI_Allreduce(in, out, count, datatype, MPI_SUM, MPI_COMM_WORLD)
  end subroutine
  subroutine my_recv(buf, count, datatype, source, status)
    type(*), dimension(..) :: buf
    integer, intent(in) :: count, source
    type(MPI_Datatype), intent(in) :: datatype
    type(MPI_Status) :: status
    call MPI_Recv(buf, count, datatype, source, 0, MPI_COMM_WORLD, status)
  end subroutine
  subroutine my_waitall(requests, statuses)
    type(MPI_Request), intent(inout) :: requests(:)
    type(MPI_Status), intent(out), optional :: statuses(:)
    if (present(statuses)) then
      call MPI_Waitall(ubound(requests, 1), requests, statuses)
    else
      call MPI_Waitall(ubound(requests, 1), requests, MPI_STATUSES_IGNORE)
    end if
  end subroutine
end module

subroutine subtract(invec, inoutvec, len, datatype)
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  type(c_ptr), value :: invec, inoutvec
  integer :: len
  type(MPI_Datatype) :: datatype
  integer, pointer :: in(:), inout(:)
  call c_f_pointer(invec, in, [len])
  call c_f_pointer(inoutvec, inout, [len])
  inout = in - inout
end subroutine

subroutine at_the_end(comm, comm_keyval, attribute_val, extra_state, ierror)
  use mpi_f08
  use check
  implicit none
  type(MPI_Comm) :: comm
  integer :: comm_keyval, ierror, sum
  integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
  call MPI_Allreduce(3, sum, 1, MPI_INTEGER, MPI_SUM, comm)
  call want(sum == 3 .and. attribute_val == 99, "MPI inside MPI_Finalize")
  print *, "deleted at the end"
  ierror = MPI_SUCCESS
end subroutine

program wrapped_f08
  use wrappers, only: my_allreduce, my_recv, my_waitall, at_the_end, subtract
  use mpi_f08
  use check
  implicit none
  integer :: rank, size, bytes, length, provided, i, keyval
  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
  logical :: flag
  call MPI_Get_library_version(version, length)
  call MPI_Initialized(flag)
  call want(version(length:length) /= " " .and. .not. flag, "a call before MPI_Init")
  call MPI_Init_thread(provided=provided, required=MPI_THREAD_SERIALIZED)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  bytes = storage_size(rank) / 8
  call wrapped()
  call late_arrays()
  call many_dimensions()
  call windows()
  call packed()
  call matched()
  call neighbors()
  call operators()
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, keyval, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 99_MPI_ADDRESS_KIND)
  call MPI_Finalize()
contains

  subroutine wrapped()
    integer, asynchronous :: a(6), b(6)
    type(MPI_Request) :: requests(4)
    type(MPI_Status) :: statuses(4)
    a = [(i, i = 1, 6)]
    call my_allreduce(MPI_IN_PLACE, a(6:1:-2), 3, MPI_INTEGER)
    call want(all(a == [1, 2 * size, 3, 4 * size, 5, 6 * size]), "MPI_IN_PLACE through a wrapper")
    a = [(i, i = 1, 6)]
    call my_allreduce(a(1:6:2), b(4:2:-1), 3, MPI_INTEGER)
    call want(all(b(4:2:-1) == [1, 3, 5] * size), "parts through a wrapper")
    call MPI_Isend(a, 2, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, requests(1))
    call my_recv(b(1:6:5), 2, MPI_INTEGER, rank, MPI_STATUS_IGNORE)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call want(b(1) == 1 .and. b(6) == 2, "MPI_STATUS_IGNORE through a wrapper")
    requests = MPI_REQUEST_NULL
    call MPI_Isend(a, 2, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(b(6:1:-5), 2, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, requests(3))
    call my_waitall(requests(1:4:2), statuses(4:1:-2))
    call want(requests(1) == MPI_REQUEST_NULL .and. requests(3) == MPI_REQUEST_NULL .and. statuses(2)%MPI_SOURCE == rank, &
              "every second request and status")
    call want(b(6) == 1 .and. b(1) == 2, "a part that every second request received")
    call my_waitall(requests)
  end subroutine

  !> Overwrites the stack, where the library's copies of arguments were.
  subroutine overwrite()
    integer :: junk(20000)
    junk = -987654
    call MPI_F_sync_reg(junk)
  end subroutine

  subroutine late_arrays()
    integer, asynchronous :: a(0:size - 1), b(0:size - 1), sum(1)
    integer :: ones(0:size - 1), places(0:size - 1), round
    type(MPI_Request) :: request, persistent(2)
    double precision :: start
    a = [(100 * rank + i, i = 0, size - 1)]
    ones = 1
    places = [(i, i = 0, size - 1)]
    b = -1
    start = MPI_Wtime()
    do while (rank == 0 .and. MPI_Wtime() < start + 0.05)  ! the others begin before
    end do
    call MPI_Ialltoallv(a, ones + 0, places + 0, MPI_INTEGER, b, ones + 0, size - 1 - places, MPI_INTEGER, MPI_COMM_WORLD, &
                        request)
    call overwrite()
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call want(all(b(size-1:0:-1) == 100 * places + rank), "MPI_Ialltoallv whose arrays are gone")
    b = -1
    call MPI_Alltoallw_init(a, ones + 0, bytes * places, [(MPI_INTEGER, i = 1, size)], b, ones + 0, bytes * places, &
                            [(MPI_INTEGER, i = 1, size)], MPI_COMM_WORLD, MPI_INFO_NULL, persistent(1))
    call MPI_Reduce_scatter_init(a, sum, ones + 0, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, persistent(2))
    do round = 1, 3
      a = a + 1
      call overwrite()
      call MPI_Startall(2, persistent)
      call overwrite()
      call MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE)
      call want(all(b == 100 * places + rank + round), "MPI_Alltoallw_init whose arrays are gone")
      call want(sum(1) == 50 * size * (size - 1) + size * (rank + round), "MPI_Reduce_scatter_init whose arrays are gone")
    end do
    call MPI_Request_free(persistent(1))
    call MPI_Request_free(persistent(2))
    call MPI_Igatherv(rank, 1, MPI_INTEGER, b(size-1:0:-1), ones + 0, places + 0, MPI_INTEGER, size - 1, MPI_COMM_WORLD, request)
    call overwrite()
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (rank == size - 1) call want(all(b == size - 1 - places), "MPI_Igatherv into an array backwards")
  end subroutine

  subroutine many_dimensions()
    integer(1), asynchronous, dimension(2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2) :: a, b
    type(MPI_Request) :: request
    a = reshape([(int(modulo(i, 100), 1), i = 1, 2**15)], shape(a))
    b = 0
    call MPI_Isend(a(1,:,:,:,:,:,:,:,:,:,:,:,:,2:1:-1,2), 2**13, MPI_INTEGER1, rank, 1, MPI_COMM_WORLD, request)
    call MPI_Recv(b(:,1,:,:,:,:,:,2:1:-1,:,:,:,:,:,:,1), 2**13, MPI_INTEGER1, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call want(all(b(:,1,:,:,:,:,:,2:1:-1,:,:,:,:,:,:,1) == a(1,:,:,:,:,:,:,:,:,:,:,:,:,2:1:-1,2)), "a part of 15 dimensions")
    call want(all(b(:,2,:,:,:,:,:,:,:,:,:,:,:,:,:) == 0) .and. all(b(:,1,:,:,:,:,:,:,:,:,:,:,:,:,2) == 0), "the rest of it")
  end subroutine

  subroutine windows()
    type(MPI_Win) :: win
    integer, asynchronous :: memory(20), given(10), got(10)
    integer :: target
    target = modulo(rank + 1, size)
    memory = 1
    given = [(i, i = 1, 10)]
    got = -1
    call MPI_Win_create(memory, 20_MPI_ADDRESS_KIND * bytes, bytes, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    call MPI_Accumulate(given(10:1:-3), 4, MPI_INTEGER, target, 2_MPI_ADDRESS_KIND, 4, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call want(all(memory(3:6) == [11, 8, 5, 2]) .and. all(memory(7:) == 1), "MPI_Accumulate of a part")
    call MPI_Win_fence(0, win)
    call MPI_Get_accumulate(given(1:9:4), 3, MPI_INTEGER, got(9:1:-4), 3, MPI_INTEGER, target, 10_MPI_ADDRESS_KIND, 3, &
                            MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call want(all(memory(11:13) == [2, 6, 10]) .and. all(got(1:9:4) == 1) .and. sum(got) == -4, "MPI_Get_accumulate of parts")
    call MPI_Win_free(win)
  end subroutine

  subroutine packed()
    integer(1) :: room(200)
    integer :: a(10), b(10), position
    a = [(i, i = 1, 10)]
    b = 0
    position = 0
    call MPI_Pack(a(10:1:-3), 4, MPI_INTEGER, room(1:200:2), 100, position, MPI_COMM_WORLD)
    call want(position == 4 * bytes, "the length of a part that is packed")
    position = 0
    call MPI_Unpack(room(1:200:2), 100, position, b(1:10:3), 4, MPI_INTEGER, MPI_COMM_WORLD)
    call want(all(b(1:10:3) == [10, 7, 4, 1]) .and. sum(b) == 22, "a part that is packed into a part")
  end subroutine

  subroutine matched()
    type(MPI_Message) :: message
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer, asynchronous :: a(5), b(9)
    a = [(i, i = 1, 5)]
    b = 0
    call MPI_Isend(a(5:1:-2), 3, MPI_INTEGER, rank, 4, MPI_COMM_WORLD, request)
    call MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, message, status)
    call MPI_Mrecv(b(9:1:-4), 3, MPI_INTEGER, message, status)
    call MPI_Wait(request, status)
    call want(all(b(9:1:-4) == [5, 3, 1]) .and. sum(b) == 9 .and. message == MPI_MESSAGE_NULL, "MPI_Mrecv into a part")
    call MPI_Improbe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, flag, message, status)
    call want(flag .and. message == MPI_MESSAGE_NO_PROC .and. status%MPI_SOURCE == MPI_PROC_NULL, "MPI_MESSAGE_NO_PROC")
    call MPI_Imrecv(b, 3, MPI_INTEGER, message, request)
    call MPI_Wait(request, status)
    call want(status%MPI_SOURCE == MPI_PROC_NULL .and. message == MPI_MESSAGE_NULL, "MPI_Imrecv from nobody")
  end subroutine

  subroutine neighbors()
    type(MPI_Comm) :: ring
    integer, asynchronous :: a(2), b(2)
    integer :: up, down
    type(MPI_Request) :: request
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], [.true.], .false., ring)
    call MPI_Cart_shift(ring, 0, 1, down, up)
    a = [rank, rank + 100]
    call MPI_Ineighbor_alltoallw(a(2:1:-1), [1, 1], [0_MPI_ADDRESS_KIND, int(bytes, MPI_ADDRESS_KIND)], &
                                 [MPI_INTEGER, MPI_INTEGER], b(2:1:-1), [1, 1], &
                                 [0_MPI_ADDRESS_KIND, int(bytes, MPI_ADDRESS_KIND)], [MPI_INTEGER, MPI_INTEGER], ring, request)
    call overwrite()
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (size > 2) call want(b(2) == down .and. b(1) == up + 100, "MPI_Ineighbor_alltoallw of arrays backwards")
    call MPI_Comm_free(ring)
  end subroutine

  subroutine operators()
    type(MPI_Op) :: op
    integer :: value
    value = 5
    call MPI_Op_create(user_fn=subtract, commute=.false., op=op)
    call MPI_Reduce_local(inbuf=rank, inoutbuf=value, count=1, datatype=MPI_INTEGER, op=op)
    call want(value == rank - 5, "an operator declared by an abstract interface, and names of arguments")
    call MPI_Op_free(op)
  end subroutine
end program
