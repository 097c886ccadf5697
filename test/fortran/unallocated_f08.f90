! Arrays that are not allocated, and pointers to nothing, where a call looks at no buffer: a count of 0, or a rank that is not
! the root.  Their extents are whatever lay on the stack.
! ranks: 1 2 3
program unallocated_f08
  use mpi_f08
  use check
  implicit none
  integer :: rank, size
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call overwrite()
  call counts_of_nothing()
  call overwrite()
  call at_the_root()
  call MPI_Finalize()
contains
  subroutine overwrite()
    integer(8) :: junk(300)
    junk = 3
    call MPI_F_sync_reg(junk)
  end subroutine

  subroutine counts_of_nothing()
    real(8), allocatable :: a(:), b(:, :)
    real(8), pointer :: p(:, :)
    type(MPI_Request) :: requests(2)
    nullify (p)
    call MPI_Isend(a, 0, MPI_REAL8, rank, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(b, 0, MPI_REAL8, rank, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_Bcast(p, 0, MPI_REAL8, 0, MPI_COMM_WORLD)
    call MPI_Allreduce(a, b, 0, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Iallreduce(a, p, 0, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  end subroutine

  subroutine at_the_root()
    real(8), allocatable :: mine(:, :, :), all_of(:, :)
    integer :: counts(size), i
    type(MPI_Request) :: request
    counts = 0
    if (rank == 0) allocate (all_of(2, size))
    call MPI_Gatherv(mine, 0, MPI_REAL8, all_of, counts, counts, MPI_REAL8, 0, MPI_COMM_WORLD)
    call MPI_Gather(real(rank, 8), 1, MPI_REAL8, all_of, 1, MPI_REAL8, 0, MPI_COMM_WORLD)
    if (rank == 0) call want(all([(all_of(modulo(i, 2) + 1, i / 2 + 1) == i, i = 0, size - 1)]), "MPI_Gather")
    call MPI_Ireduce([1d0, 2d0], all_of, 2, MPI_REAL8, MPI_SUM, 0, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (rank == 0) call want(all(all_of(:, 1) == [size, 2 * size]), "MPI_Ireduce")
    allocate (mine(1, 2, 1))
    if (rank == 0) all_of = reshape([(i, i = 1, 2 * size)], [2, size])
    call MPI_Scatter(all_of, 2, MPI_REAL8, mine, 2, MPI_REAL8, 0, MPI_COMM_WORLD)
    call want(all(mine(1, :, 1) == [2 * rank + 1, 2 * rank + 2]), "MPI_Scatter")
  end subroutine
end program
