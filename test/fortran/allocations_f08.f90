! What is not allocated: memory for short arrays of handles, integers and statuses, and temporaries for parts of arrays that
! are one message.  count_allocations.c counts.
! ranks: 1 2
program allocations_f08
  use mpi_f08
  use check
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    subroutine allocations_until_now(calls, bytes) bind(C)
      import
      integer(c_int64_t), intent(out) :: calls, bytes
    end subroutine
  end interface
  integer, parameter :: few = 64, many = 2 * 10**6
  integer(c_int64_t) :: calls, bytes, calls_before, bytes_before
  integer :: rank, size, other, time
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  other = modulo(rank + 1, size)
  do time = 1, 3                                     ! the first time anything may be set up
    call allocations_until_now(calls_before, bytes_before)
    call handles()
    call allocations_until_now(calls, bytes)
  end do
  call want(calls == calls_before, "short arrays are on the stack")
  do time = 1, 3
    call allocations_until_now(calls_before, bytes_before)
    call parts()
    call allocations_until_now(calls, bytes)
  end do
  call want(bytes - bytes_before < many / 100, "parts of arrays have no copies")
  call MPI_Finalize()
contains

  subroutine handles()
    type(MPI_Request) :: requests(few)
    type(MPI_Status) :: statuses(8)
    type(MPI_Datatype) :: type
    integer :: done, indices(few), i
    logical :: flag
    requests = MPI_REQUEST_NULL
    call MPI_Waitall(few, requests, MPI_STATUSES_IGNORE)
    call MPI_Testsome(few, requests, done, indices, MPI_STATUSES_IGNORE)
    call MPI_Testany(few, requests, i, flag, MPI_STATUS_IGNORE)
    call MPI_Testall(8, requests, flag, statuses)
    call MPI_Startall(0, requests)
    i = 1
    call MPI_Type_size(MPI_INTEGER, i)
    call MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, type)
  end subroutine

  subroutine parts()
    real(8), asynchronous, allocatable, save :: sent(:), received(:)
    type(MPI_Request) :: requests(2)
    if (.not. allocated(sent)) allocate (sent(many), received(many))
    sent = rank
    received = -1
    call MPI_Irecv(received(many:1:-2), many / 2, MPI_REAL8, modulo(rank - 1, size), 1, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(sent(1:many:2), many / 2, MPI_REAL8, other, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call want(all(received(2::2) == modulo(rank - 1, size)) .and. all(received(1::2) == -1), "every second element")
  end subroutine
end program
