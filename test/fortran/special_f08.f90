! What is special in mpi_f08: special addresses, subarrays that are not contiguous, texts, callbacks, indices,
! large counts, handles as derived types, optional ierror.  Built with -fdefault-integer-8 too, and with all that the
! optimizer can do: buffers of requests are ASYNCHRONOUS, so that it leaves them alone.
! ranks: 1 2 3
module callbacks
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: copies = 0, deletions = 0, errors = 0, queries = 0, frees = 0, cancels = 0
contains
  subroutine add_twice(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    if (datatype == MPI_INTEGER) inout = 2 * (in + inout)
  end subroutine
  subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copies = copies + 1
    attribute_val_out = attribute_val_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine erase(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deletions = deletions + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine on_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    if (comm == MPI_COMM_WORLD .and. error_code /= MPI_SUCCESS) errors = errors + 1
  end subroutine
  subroutine query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    queries = queries + int(extra_state)
    call MPI_Status_set_elements(status, MPI_INTEGER, 3)
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = 5
    ierror = MPI_SUCCESS
  end subroutine
  subroutine release(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    frees = frees + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    cancels = cancels + 1
    ierror = MPI_SUCCESS
  end subroutine
end module

program special_f08
  use mpi_f08
  use check
  implicit none
  integer :: rank, size, right, left

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = modulo(rank + 1, size)
  left = modulo(rank - 1, size)
  call special_addresses()
  call subarrays()
  call blocks_of_subarrays()
  call copies_of_subarrays()
  call texts()
  call procedures()
  call completion()
  if (kind(rank) == 4) call large_counts()
  call handles()
  call topologies()
  call MPI_Finalize()

contains

  subroutine special_addresses()
    integer :: all, mine(3), error
    type(MPI_Datatype) :: at_bottom
    integer(kind=MPI_ADDRESS_KIND) :: place(1)
    type(MPI_Status) :: status
    all = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call want(all == size * (size + 1) / 2, "MPI_IN_PLACE")
    mine = rank
    call MPI_Get_address(mine, place(1))
    call MPI_Type_create_hindexed(1, [3], place, MPI_INTEGER, at_bottom)
    call MPI_Type_commit(at_bottom)
    call MPI_Sendrecv_replace(MPI_BOTTOM, 1, at_bottom, right, 1, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call want(all_are(mine, left), "MPI_BOTTOM")
    call MPI_Type_free(at_bottom)
    call want(at_bottom == MPI_DATATYPE_NULL, "a freed datatype is null")
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 2, all, 1, MPI_INTEGER, left, MPI_ANY_TAG, MPI_COMM_WORLD, status, error)
    call want(error == MPI_SUCCESS .and. all == left, "MPI_Sendrecv")
    call want(status%MPI_SOURCE == left .and. status%MPI_TAG == 2, "fields of a status")
  end subroutine

  logical function all_are(array, value)
    integer, intent(in) :: array(:), value
    all_are = .true.
    if (any(array /= value)) all_are = .false.
  end function

  subroutine subarrays()
    integer, parameter :: n = 7, m = 5
    real(8), asynchronous :: sent(n, m, 2), received(n, m, 2), plain(64)
    integer :: i, j, k
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status
    do k = 1, 2; do j = 1, m; do i = 1, n
      sent(i, j, k) = 100 * k + 10 * j + i + 1000 * rank
    end do; end do; end do
    ! Every second row, columns backwards, into a contiguous array.
    plain = -1
    call MPI_Isend(sent(1:n:2, m:1:-1, :), 4 * m * 2, MPI_DOUBLE_PRECISION, right, 3, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(plain, 64, MPI_DOUBLE_PRECISION, left, 3, MPI_COMM_WORLD, requests(2))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call MPI_Wait(requests(2), status)
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, i)
    call want(i == 40, "length of a subarray's message")
    call want(all(plain(1:40) == reshape(sent(1:n:2, m:1:-1, :) + 1000 * (left - rank), [40])), "subarray sent")
    call want(all(plain(41:) == -1), "nothing behind a subarray's message")
    ! Back into a part of another shape; fewer elements than it has, and in another type.
    received = 0
    call MPI_Irecv(received(2:6:2, :, 2), 13, MPI_REAL8, left, 4, MPI_COMM_WORLD, requests(1))
    call MPI_Send(plain, 13 * 8, MPI_BYTE, right, 4, MPI_COMM_WORLD)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call want(all(received(2:6:2, 1:4, 2) == reshape(plain(1:12) + 1000 * (left_of_left() - left), [3, 4])), "received parts")
    call want(received(2, 5, 2) == plain(13) + 1000 * (left_of_left() - left), "the last element of a part")
    call want(count(received /= 0) == 13, "nothing else of a part is written")
    ! A broadcast of a column, a persistent send of a row.
    if (rank == 0) received(3, :, 1) = [(dble(i), i = 1, m)]
    call MPI_Bcast(received(3, :, 1), m, MPI_REAL8, 0, MPI_COMM_WORLD)
    call want(all(received(3, :, 1) == [(dble(i), i = 1, m)]), "broadcast of a row")
    call MPI_Send_init(received(3, :, 1), m, MPI_REAL8, right, 5, MPI_COMM_WORLD, requests(1))
    do k = 1, 3
      received(3, :, 1) = k
      call MPI_Start(requests(1))
      call MPI_Recv(plain, m, MPI_REAL8, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
      call want(all(plain(1:m) == k), "persistent send of a row")
    end do
    call MPI_Request_free(requests(1))
  end subroutine

  integer function left_of_left()
    left_of_left = modulo(left - 1, size)
  end function

  subroutine blocks_of_subarrays()
    integer, asynchronous :: mine(4), all(8, 16), sums(6)
    integer :: i
    type(MPI_Request) :: request
    mine = rank
    all = -1
    call MPI_Allgather(mine(1:4:2), 2, MPI_INTEGER, all(1:8:4, :), 2, MPI_INTEGER, MPI_COMM_WORLD)
    do i = 1, size
      call want(all(1, i) == i - 1 .and. all(5, i) == i - 1, "gathered blocks")
    end do
    call want(count(all /= -1) == 2 * size, "nothing else is gathered")
    all = -1
    call MPI_Iallgather(mine(1:4:2), 2, MPI_INTEGER, all(1:8:4, :), 2, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    do i = 1, size
      call want(all(1, i) == i - 1 .and. all(5, i) == i - 1, "blocks gathered at once")
    end do
    call want(count(all /= -1) == 2 * size, "nothing else is gathered at once")
    all = rank
    call MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all(2:8:2, :), 4, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    do i = 1, size
      call want(all_are(all(2:8:2, i), i - 1) .and. all_are(all(1:7:2, i), rank), "blocks exchanged in place")
    end do
    sums = [1, 2, 3, 4, 5, 6]
    call MPI_Allreduce(MPI_IN_PLACE, sums(1:6:2), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call want(all_are(sums - [size, 2, 3 * size, 4, 5 * size, 6], 0), "reduction of a part")
  end subroutine

  ! Parts in calls that return before they are complete, where a datatype cannot describe them: reductions, and
  ! blocks that lie differently.
  subroutine copies_of_subarrays()
    integer, asynchronous :: sums(6), all(4, 3 * size)
    integer :: counts(size), places(size), i, index, done
    type(MPI_Request) :: request, requests(3)
    logical :: flag
    sums = [1, 2, 3, 4, 5, 6]
    call MPI_Iallreduce(MPI_IN_PLACE, sums(1:6:2), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(request, flag, MPI_STATUS_IGNORE)
    end do
    call want(all_are(sums - [size, 2, 3 * size, 4, 5 * size, 6], 0), "nonblocking reduction of a part")
    sums = rank
    all = -1
    ! Three elements from each rank into every second row: the blocks lie differently.
    call MPI_Iallgather(sums(2:6:2), 3, MPI_INTEGER, all(1:4:2, :), 3, MPI_INTEGER, MPI_COMM_WORLD, requests(1))
    counts = 1
    places = [(2 * (i - 1), i = 1, size)]
    call MPI_Iallgatherv(sums(1:1), 1, MPI_INTEGER, all(2:4:2, :), counts, places, MPI_INTEGER, MPI_COMM_WORLD, requests(2))
    requests(3) = MPI_REQUEST_NULL
    call MPI_Waitany(3, requests, index, MPI_STATUS_IGNORE)
    call MPI_Waitsome(3, requests, done, counts, MPI_STATUSES_IGNORE)
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE)
    do i = 1, 3 * size
      call want(all(1 + modulo(2 * (i - 1), 4), (i - 1) / 2 + 1) == (i - 1) / 3, "blocks that lie differently")
    end do
    do i = 1, size
      call want(all(2, i) == i - 1 .and. all(4, i) == -1, "blocks of different sizes")
    end do
    ! A persistent reduction reads its part anew at each start, and writes it once.
    sums = 0
    call MPI_Allreduce_init(MPI_IN_PLACE, sums(2:6:2), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    sums(2) = 7
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call want(sums(2) == 7, "an inactive request writes nothing")
    do i = 1, 3
      sums = i
      call MPI_Start(request)
      if (i == 1) call MPI_Wait(request, MPI_STATUS_IGNORE)
      flag = i == 1
      do while (.not. flag)
        call MPI_Request_get_status(request, flag, MPI_STATUS_IGNORE)
      end do
      call want(all_are(sums(1:5:2), i) .and. all_are(sums(2:6:2), i * size), "persistent reduction of a part")
      sums = -i
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call want(all_are(sums, -i), "a part is written once")
    end do
    call MPI_Request_free(request)
  end subroutine

  subroutine texts()
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    character(len=5) :: short
    character(len=20) :: value
    integer :: length
    logical :: flag
    type(MPI_Info) :: info
    call MPI_Comm_set_name(MPI_COMM_WORLD, "  all of us   ")
    call MPI_Comm_get_name(MPI_COMM_WORLD, name, length)
    call want(name == "  all of us" .and. length == 11, "name of a communicator")
    call MPI_Get_library_version(version, length)
    call want(index(version, "Dunlin") > 0 .and. length < MPI_MAX_LIBRARY_VERSION_STRING, "version")
    call MPI_Info_create(info)
    call MPI_Info_set(info, " key  ", "  a value ")
    length = len(value)
    call MPI_Info_get_string(info, "key", length, value, flag)
    call want(flag .and. length == 7 .and. value == "a value", "value of an info")
    length = 0
    call MPI_Info_get_string(info, "key", length, value, flag)
    call want(flag .and. length == 7, "length of a value")
    length = len(short)
    call MPI_Info_get_string(info, "key", length, short, flag)
    call want(flag .and. length == 7 .and. short == "a val", "a value that is cut")
    call MPI_Info_get_nthkey(info, 0, name)
    call want(name == "key", "name of a key")
    call MPI_Info_get_string(info, "none", length, value, flag)
    call want(.not. flag, "no such key")
    call MPI_Info_free(info)
    call want(info == MPI_INFO_NULL, "freed info")
  end subroutine

  subroutine procedures()
    use callbacks
    type(MPI_Op) :: op
    type(MPI_Comm) :: copied
    type(MPI_Errhandler) :: handler, before
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: keyval, second, sum, error, length
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Op_create(add_twice, .true., op)
    call MPI_Reduce_local([1, 2, 3], sum, 0, MPI_INTEGER, op)
    sum = 5
    call MPI_Reduce_local(4, sum, 1, MPI_INTEGER, op)
    call want(sum == 18, "an operator")
    call MPI_Op_commutative(op, flag)
    call want(flag, "a commutative operator")
    call MPI_Op_free(op)
    call MPI_Comm_create_keyval(copy, erase, keyval, 10_MPI_ADDRESS_KIND)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, second, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 7000000000_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_SELF, second, -3_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_SELF, copied)
    call MPI_Comm_get_attr(copied, keyval, value, flag)
    call want(flag .and. value == 7000000010_MPI_ADDRESS_KIND .and. copies == 1, "a copied attribute")
    call MPI_Comm_get_attr(copied, second, value, flag)
    call want(flag .and. value == -3, "an attribute copied by MPI_COMM_DUP_FN")
    call MPI_Comm_free(copied)
    call want(copied == MPI_COMM_NULL .and. deletions == 1, "a deleted attribute")
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
    call want(flag .and. value >= 32767, "MPI_TAG_UB")
    call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
    call MPI_Comm_free_keyval(keyval)
    call MPI_Comm_free_keyval(second)
    call want(keyval == MPI_KEYVAL_INVALID, "a freed keyval")
    call MPI_Comm_get_errhandler(MPI_COMM_WORLD, before)
    call MPI_Comm_create_errhandler(on_error, handler)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
    call MPI_Send(sum, 1, MPI_INTEGER, size + 5, 0, MPI_COMM_WORLD, error)
    call want(errors == 1 .and. error /= MPI_SUCCESS, "an error handler")
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, before)
    call MPI_Errhandler_free(handler)
    call MPI_Grequest_start(query, release, cancel, 1_MPI_ADDRESS_KIND, request)
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, status)
    call MPI_Get_count(status, MPI_INTEGER, length)
    call want(queries == 1 .and. frees == 1 .and. length == 3 .and. status%MPI_SOURCE == 5, "a generalized request")
    call want(request == MPI_REQUEST_NULL, "a request that is over")
  end subroutine

  subroutine completion()
    integer, parameter :: n = 80   ! more than are kept on the stack
    type(MPI_Request) :: requests(2 * n)
    type(MPI_Status) :: statuses(2 * n)
    integer :: sent(n), received(n), i, index, count, indices(2 * n)
    logical :: flag
    sent = [(i, i = 1, n)]
    do i = 1, n
      call MPI_Irecv(received(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(i))
      call MPI_Isend(sent(i), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, requests(n + i))
    end do
    call MPI_Waitany(n, requests, index, statuses(1))
    call want(index >= 1 .and. index <= n, "index of MPI_Waitany")
    call want(requests(index) == MPI_REQUEST_NULL .and. statuses(1)%MPI_TAG == index, "the request of that index")
    call MPI_Waitsome(n, requests, count, indices, statuses)
    if (count /= MPI_UNDEFINED) then
      call want(all(indices(1:count) >= 1 .and. indices(1:count) <= n), "indices of MPI_Waitsome")
      call want(all(statuses(1:count)%MPI_TAG == indices(1:count)), "statuses of MPI_Waitsome")
    end if
    call MPI_Waitall(2 * n, requests, MPI_STATUSES_IGNORE)
    call want(all(requests == MPI_REQUEST_NULL) .and. all(received == sent), "MPI_Waitall")
    call MPI_Testany(2 * n, requests, index, flag, MPI_STATUS_IGNORE)
    call want(flag .and. index == MPI_UNDEFINED, "MPI_Testany without requests")
    call MPI_Testsome(2 * n, requests, count, indices, MPI_STATUSES_IGNORE)
    call want(count == MPI_UNDEFINED, "MPI_Testsome without requests")
  end subroutine

  subroutine large_counts()
    integer(kind=MPI_COUNT_KIND) :: count, bytes
    integer :: mine, got(2), small
    type(MPI_Datatype) :: type
    type(MPI_Status) :: status
    mine = rank
    count = 1
    call MPI_Sendrecv(mine, count, MPI_INTEGER, right, 9, got, 2_MPI_COUNT_KIND, MPI_INTEGER, left, 9, MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call want(count == 1 .and. got(1) == left, "MPI_Sendrecv with large counts")
    call MPI_Type_contiguous(3000000000_MPI_COUNT_KIND, MPI_INTEGER, type)
    call MPI_Type_size(type, bytes)
    call want(bytes == 12000000000_MPI_COUNT_KIND, "a large datatype")
    call MPI_Type_size(type, small)
    call want(small == MPI_UNDEFINED, "a size that does not fit")
    call MPI_Type_free(type)
  end subroutine

  subroutine handles()
    type(MPI_Comm) :: copies(200)
    integer :: i, result
    do i = 1, 200
      call MPI_Comm_dup(MPI_COMM_SELF, copies(i))
    end do
    call MPI_Comm_compare(copies(1), copies(200), result)
    call want(result == MPI_CONGRUENT .and. copies(1) /= copies(200), "compared communicators")
    do i = 1, 200
      call MPI_Comm_free(copies(i))
    end do
    call want(all(copies == MPI_COMM_NULL), "freed communicators")
  end subroutine

  subroutine topologies()
    type(MPI_Comm) :: ring
    integer :: dims(1), coords(1), source, dest
    integer :: ends(1)
    logical :: periods(1)
    dims = size
    call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, [.true.], .false., ring)
    call MPI_Cart_get(ring, 1, dims, periods, coords)
    call want(dims(1) == size .and. periods(1) .and. coords(1) == rank, "a ring")
    call MPI_Cart_shift(ring, 0, 1, source, dest)
    call want(source == left .and. dest == right, "neighbors in a ring")
    call MPI_Comm_free(ring)
    ends = right
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], MPI_UNWEIGHTED, 1, ends, MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., ring)
    call MPI_Dist_graph_neighbors_count(ring, source, dest, periods(1))
    call want(source == 1 .and. dest == 1 .and. .not. periods(1), "MPI_UNWEIGHTED")
    call MPI_Comm_free(ring)
  end subroutine
end program
