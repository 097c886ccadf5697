! Threads of OpenMP that make and complete requests at once: the integers of handles are taken and given back without
! a lock.
! ranks: 1 2
program threads_f08
  use mpi_f08
  use check
  use omp_lib
  implicit none
  integer, parameter :: threads = 4, rounds = 200, n = 5
  type(MPI_Comm) :: comms(threads)
  integer :: provided, rank, size, right, left, thread, wrong
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  call want(provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE")
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = modulo(rank + 1, size)
  left = modulo(rank - 1, size)
  do thread = 1, threads
    call MPI_Comm_dup(MPI_COMM_WORLD, comms(thread))
  end do
  wrong = 0
  call omp_set_num_threads(threads)
  !$omp parallel private(thread) reduction(+:wrong)
  thread = omp_get_thread_num() + 1
  wrong = faults_of(thread)
  !$omp end parallel
  call want(wrong == 0, "messages of threads")
  do thread = 1, threads
    call MPI_Comm_free(comms(thread))
  end do
  call MPI_Finalize()
contains
  ! Each message goes from a part into a part of an array; every second reduction is of a part, too.
  integer function faults_of(thread)
    integer, intent(in) :: thread
    integer :: sent(2, n), received(2, n), sums(2, n), round, i
    type(MPI_Request) :: requests(2 * n + 1)
    faults_of = 0
    do round = 1, rounds
      sent = 1000 * round + thread
      received = -1
      sums = 1
      do i = 1, n
        call MPI_Irecv(received(:, i), 1, MPI_INTEGER, left, i, comms(thread), requests(i))
        call MPI_Isend(sent(:, i), 1, MPI_INTEGER, right, i, comms(thread), requests(n + i))
      end do
      call MPI_Iallreduce(MPI_IN_PLACE, sums(1, :), n, MPI_INTEGER, MPI_SUM, comms(thread), requests(2 * n + 1))
      call MPI_Waitall(2 * n + 1, requests, MPI_STATUSES_IGNORE)
      faults_of = faults_of + count(received(1, :) /= sent(1, :)) + count(received(2, :) /= -1) + &
                  count(sums(1, :) /= size) + count(sums(2, :) /= 1) + count(requests /= MPI_REQUEST_NULL)
    end do
  end function
end program
