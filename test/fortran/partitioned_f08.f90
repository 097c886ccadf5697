! Partitioned communication from mpi_f08: whole arrays and parts of arrays with gaps, in three rounds.
! ranks: 1 2
program partitioned_f08
  use mpi_f08
  use check
  implicit none
  integer, parameter :: n = 12, partitions = 4
  integer(kind=MPI_COUNT_KIND), parameter :: mine = n / partitions, theirs = n / 2
  integer :: rank, size, right, left, i, round
  integer, asynchronous :: out(n), in(n), wide_out(2 * n), wide_in(2 * n)
  type(MPI_Request) :: requests(4)
  type(MPI_Status) :: statuses(4)
  logical :: flag
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = modulo(rank + 1, size)
  left = modulo(rank - 1, size)
  call MPI_Psend_init(out, partitions, mine, MPI_INTEGER, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
  call MPI_Precv_init(in, 2, theirs, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
  call MPI_Psend_init(wide_out(1::2), partitions, mine, MPI_INTEGER, right, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &
                      requests(3))
  call MPI_Precv_init(wide_in(2::2), 2, theirs, MPI_INTEGER, left, 2, MPI_COMM_WORLD, MPI_INFO_NULL, requests(4))
  do round = 1, 3
    in = -1
    wide_in = -1
    call MPI_Startall(4, requests)
    out = [(1000 * round + 100 * rank + i, i = 1, n)]
    wide_out = -2
    wide_out(1::2) = -out
    call MPI_Pready(2, requests(1))
    call MPI_Pready_list(2, [3, 0], requests(1))
    call MPI_Pready_range(1, 1, requests(1))
    call MPI_Pready_range(0, partitions - 1, requests(3))
    flag = .false.
    do while (.not. flag)
      call MPI_Parrived(requests(2), 1, flag)
    end do
    call want(all(in(n / 2 + 1:) == [(1000 * round + 100 * left + i, i = n / 2 + 1, n)]), "the second half")
    if (round == 2) then
      call wrong_call()
      call MPI_Waitall(4, requests, statuses)
      call want(all(wide_in(n + 2::2) == -in(n / 2 + 1:)), "what had arrived before a wrong call")
    else
      flag = .false.
      do while (.not. flag)
        call MPI_Parrived(requests(4), 1, flag)
      end do
      call want(all(wide_in(n + 2::2) == -in(n / 2 + 1:)), "the second half of every second")
      wide_in(n + 2::2) = 77
      call MPI_Waitall(4, requests, statuses)
      call want(all(wide_in(n + 2::2) == 77), "what was stored behind MPI_Parrived")
    end if
    call want(statuses(2)%MPI_SOURCE == left .and. statuses(2)%MPI_TAG == 1, "the status")
    call want(all(in == [(1000 * round + 100 * left + i, i = 1, n)]), "the whole")
    call want(all(wide_in(2:n:2) == -in(:n / 2)) .and. all(wide_in(1::2) == -1), "every second")
  end do
  do i = 1, 4
    call MPI_Request_free(requests(i))
  end do
  call MPI_Finalize()
contains
  !> Behind the arrival of all data, in a request that has no partitions to make ready.
  subroutine wrong_call()
    integer :: polls, error
    call MPI_Barrier(MPI_COMM_WORLD)
    do polls = 1, 1000
      call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE)
    end do
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Pready(0, requests(4), error)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
    call want(error /= MPI_SUCCESS, "a receive has no partitions to make ready")
  end subroutine
end program
