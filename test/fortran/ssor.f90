! A solver as LU of the NAS benchmarks is one: symmetric successive over-relaxation of a Poisson equation on a
! cube.  Each plane of a rank's block waits for edges from two neighbors and sends its own on, so that the
! work runs through the ranks as a wave; the faces are exchanged between the sweeps.  The same sweeps on one
! rank give the same bits, which is what is checked.  bench/nas_fortran reads the time and that all is well.
! ranks: 1 2 4
program ssor
  use mpi
  use check
  implicit none
  integer, parameter :: n = 24, sweeps = 40
  real(8), parameter :: omega = 1.2d0
  integer :: grid, rank, ierror, dims(2), coords(2), west, east, south, north, x, y, first(2), i, j, k, sweep
  integer :: column
  real(8), allocatable :: u(:, :, :), f(:, :, :), alone(:, :, :)
  real(8) :: norm, all_norm, first_norm = 0, seconds

  call MPI_Init(ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, i, ierror)
  dims = 0
  call MPI_Dims_create(i, 2, dims, ierror)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.false., .false.], .true., grid, ierror)
  call MPI_Comm_rank(grid, rank, ierror)
  call MPI_Cart_coords(grid, rank, 2, coords, ierror)
  call MPI_Cart_shift(grid, 0, 1, west, east, ierror)
  call MPI_Cart_shift(grid, 1, 1, south, north, ierror)
  x = n / dims(1)
  y = n / dims(2)
  first = coords * [x, y]
  allocate (u(0:x + 1, 0:y + 1, 0:n + 1), f(x, y, n))
  call MPI_Type_vector(y, 1, x + 2, MPI_DOUBLE_PRECISION, column, ierror)
  call MPI_Type_commit(column, ierror)

  seconds = MPI_Wtime()
  u = 0
  do concurrent(i=1:x, j=1:y, k=1:n)
    f(i, j, k) = source(first(1) + i, first(2) + j, k)
  end do
  do sweep = 1, sweeps
    call forward()
    call backward()
    norm = residual(u, f, x, y)
    call MPI_Allreduce(norm, all_norm, 1, MPI_DOUBLE_PRECISION, MPI_SUM, grid, ierror)
    if (sweep == 1) first_norm = all_norm
  end do
  seconds = MPI_Wtime() - seconds
  call want(all_norm < first_norm / 10, "the residual becomes small")

  allocate (alone(0:n + 1, 0:n + 1, 0:n + 1))
  call solve_alone()
  call want(all(u(1:x, 1:y, 1:n) == alone(first(1) + 1:first(1) + x, first(2) + 1:first(2) + y, 1:n)), &
            "the ranks together find what one finds")
  if (rank == 0) print "(a, f8.2, /, a)", "Time in seconds =", seconds, "Verification = SUCCESSFUL"
  call MPI_Type_free(column, ierror)
  call MPI_Comm_free(grid, ierror)
  call MPI_Finalize(ierror)

contains

  pure real(8) function source(i, j, k)
    integer, intent(in) :: i, j, k
    source = sin(0.3d0 * i) * cos(0.2d0 * j) + 0.01d0 * k
  end function

  pure subroutine relax(u, f, i, j, k, x, y)
    integer, intent(in) :: i, j, k, x, y
    real(8), intent(inout) :: u(0:x + 1, 0:y + 1, 0:n + 1)
    real(8), intent(in) :: f
    u(i, j, k) = u(i, j, k) + omega * ((f + u(i - 1, j, k) + u(i + 1, j, k) + u(i, j - 1, k) + u(i, j + 1, k) &
                                        + u(i, j, k - 1) + u(i, j, k + 1)) / 6 - u(i, j, k))
  end subroutine

  ! What lies to the west and south is new, what lies to the east and north is of the sweep before.
  subroutine forward()
    call exchange(east, west, x + 1, 1, north, south, y + 1, 1)
    do k = 1, n
      call receive_edges(west, 0, south, 0)
      do j = 1, y
        do i = 1, x
          call relax(u, f(i, j, k), i, j, k, x, y)
        end do
      end do
      call send_edges(east, x, north, y)
    end do
  end subroutine

  subroutine backward()
    call exchange(west, east, 0, x, south, north, 0, y)
    do k = n, 1, -1
      call receive_edges(east, x + 1, north, y + 1)
      do j = y, 1, -1
        do i = x, 1, -1
          call relax(u, f(i, j, k), i, j, k, x, y)
        end do
      end do
      call send_edges(west, 1, south, 1)
    end do
  end subroutine

  ! Faces of the sweep before, from the neighbors towards which this one goes.
  subroutine exchange(from_x, to_x, halo_x, edge_x, from_y, to_y, halo_y, edge_y)
    integer, intent(in) :: from_x, to_x, halo_x, edge_x, from_y, to_y, halo_y, edge_y
    integer :: requests(4 * n), plane
    do plane = 1, n
      call MPI_Irecv(u(halo_x, 1, plane), 1, column, from_x, plane, grid, requests(4 * plane - 3), ierror)
      call MPI_Irecv(u(1, halo_y, plane), x, MPI_DOUBLE_PRECISION, from_y, plane, grid, requests(4 * plane - 2), ierror)
      call MPI_Isend(u(edge_x, 1, plane), 1, column, to_x, plane, grid, requests(4 * plane - 1), ierror)
      call MPI_Isend(u(1, edge_y, plane), x, MPI_DOUBLE_PRECISION, to_y, plane, grid, requests(4 * plane), ierror)
    end do
    call MPI_Waitall(4 * n, requests, MPI_STATUSES_IGNORE, ierror)
  end subroutine

  subroutine receive_edges(from_x, halo_x, from_y, halo_y)
    integer, intent(in) :: from_x, halo_x, from_y, halo_y
    call MPI_Recv(u(halo_x, 1, k), 1, column, from_x, n + k, grid, MPI_STATUS_IGNORE, ierror)
    call MPI_Recv(u(1, halo_y, k), x, MPI_DOUBLE_PRECISION, from_y, n + k, grid, MPI_STATUS_IGNORE, ierror)
  end subroutine

  subroutine send_edges(to_x, edge_x, to_y, edge_y)
    integer, intent(in) :: to_x, edge_x, to_y, edge_y
    call MPI_Send(u(edge_x, 1, k), 1, column, to_x, n + k, grid, ierror)
    call MPI_Send(u(1, edge_y, k), x, MPI_DOUBLE_PRECISION, to_y, n + k, grid, ierror)
  end subroutine

  real(8) function residual(u, f, x, y)
    integer, intent(in) :: x, y
    real(8), intent(in) :: u(0:x + 1, 0:y + 1, 0:n + 1), f(x, y, n)
    integer :: i, j, k
    residual = 0
    do k = 1, n
      do j = 2, y - 1
        do i = 2, x - 1
          residual = residual + (f(i, j, k) + u(i - 1, j, k) + u(i + 1, j, k) + u(i, j - 1, k) + u(i, j + 1, k) &
                                 + u(i, j, k - 1) + u(i, j, k + 1) - 6 * u(i, j, k))**2
        end do
      end do
    end do
  end function

  subroutine solve_alone()
    alone = 0
    do sweep = 1, sweeps
      do k = 1, n
        do j = 1, n
          do i = 1, n
            call relax(alone, source(i, j, k), i, j, k, n, n)
          end do
        end do
      end do
      do k = n, 1, -1
        do j = n, 1, -1
          do i = n, 1, -1
            call relax(alone, source(i, j, k), i, j, k, n, n)
          end do
        end do
      end do
    end do
  end subroutine
end program
