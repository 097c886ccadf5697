! A part of an array with gaps, of which one thread makes partitions ready, or sees them arrive, while another waits.
! ranks: 2
program partitioned_threads_f08
  use mpi_f08
  use omp_lib
  use check
  implicit none
  integer, parameter :: n = 8
  integer(kind=MPI_COUNT_KIND), parameter :: half = n / 2
  integer :: rank, provided, i
  integer, asynchronous :: wide(2 * n)
  type(MPI_Request) :: request
  logical :: flag
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  wide = -1
  if (rank == 0) then
    call MPI_Psend_init(wide(1::2), 2, half, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  else
    call MPI_Precv_init(wide(1::2), 2, half, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, request)
  end if
  call MPI_Start(request)
!$omp parallel num_threads(2) private(flag)
  if (omp_get_thread_num() == 0) then
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  else
    call pass(0.1d0)  ! the other thread waits
    if (rank == 0) then
      wide(1::2) = [(i, i = 1, n)]
      call MPI_Pready(0, request)
      call pass(0.3d0)  ! the receiver still waits when it looks
      call MPI_Pready(1, request)
    else
      flag = .false.
      do while (.not. flag)
        call MPI_Parrived(request, 0, flag)
      end do
      call want(all(wide(1:n:2) == [(i, i = 1, n / 2)]), "the first half, while another thread waits")
    end if
  end if
!$omp end parallel
  call want(all(wide(1::2) == [(i, i = 1, n)]), "the whole")
  call MPI_Request_free(request)
  call MPI_Finalize()
contains
  subroutine pass(seconds)
    double precision, intent(in) :: seconds
    double precision :: start
    start = MPI_Wtime()
    do while (MPI_Wtime() - start < seconds)
    end do
  end subroutine
end program
