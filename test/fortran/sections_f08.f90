! Random parts of arrays, also backwards, as messages of many datatypes: what arrives is what a contiguous copy would
! have sent, and nothing else is written.  The trials are the same at each run.
! ranks: 1 2
program sections_f08
  use mpi_f08
  use check
  implicit none
  integer, parameter :: n(3) = [7, 5, 4], trials = 2000
  type section
    integer :: first(3), last(3), step(3), extent(3)
  end type
  type cell                                          ! four bytes that belong to nobody, if an INTEGER has four
    integer :: id
    real(8) :: value
  end type
  integer :: rank, size, right, left, trial, length
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = modulo(rank + 1, size)
  left = modulo(rank - 1, size)
  call random_seed(size=length)
  call random_seed(put=[(17 * trial, trial = 1, length)])
  do trial = 1, trials
    call numbers(random_section())
    call cells(random_section())
  end do
  call MPI_Finalize()
contains

  integer function random_below(limit)
    integer, intent(in) :: limit
    real :: number
    call random_number(number)
    random_below = min(int(number * limit), limit - 1)
  end function

  type(section) function random_section() result(s)
    integer :: i
    do i = 1, 3
      s%first(i) = 1 + random_below(n(i))
      s%last(i) = 1 + random_below(n(i))
      s%step(i) = sign(1 + random_below(3), s%last(i) - s%first(i))
      s%extent(i) = (s%last(i) - s%first(i)) / s%step(i) + 1
    end do
  end function

  ! The place in the array of each element of the part, in the order of the part.
  function places(s)
    type(section), intent(in) :: s
    integer :: places(3, product(s%extent)), i, j, k, at
    at = 0
    do k = s%first(3), s%last(3), s%step(3)
      do j = s%first(2), s%last(2), s%step(2)
        do i = s%first(1), s%last(1), s%step(1)
          at = at + 1
          places(:, at) = [i, j, k]
        end do
      end do
    end do
  end function

  ! A datatype, and how many of them the bytes hold.
  subroutine random_datatype(bytes, datatype, most, is_made)
    integer, intent(in) :: bytes
    type(MPI_Datatype), intent(out) :: datatype
    integer, intent(out) :: most
    logical, intent(out) :: is_made
    integer :: which, extent
    which = random_below(9)
    extent = 8
    select case (which)
    case (0); datatype = MPI_INTEGER8
    case (1); datatype = MPI_BYTE; extent = 1
    case (2); datatype = MPI_2INTEGER; extent = 2 * kind(extent)
    case (3); call MPI_Type_contiguous(3, MPI_INTEGER4, datatype); extent = 12
    case (4); call MPI_Type_contiguous(2, MPI_INTEGER8, datatype); extent = 16
    case (5); call MPI_Type_vector(2, 1, 2, MPI_INTEGER8, datatype); extent = 24
    case (6); call MPI_Type_indexed(2, [1, 1], [1, 0], MPI_INTEGER4, datatype)
    case (7); call MPI_Type_create_resized(MPI_INTEGER4, 0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND, datatype)
    case (8); call MPI_Type_vector(2, 1, 3, MPI_INTEGER2, datatype)
    end select
    is_made = which > 2
    if (is_made) call MPI_Type_commit(datatype)
    most = bytes / extent
  end subroutine

  subroutine numbers(s)
    type(section), intent(in) :: s
    integer(8), asynchronous :: all(7, 5, 4), plain(140), sent_plain(140), expected(140)
    integer :: at(3, product(s%extent)), count, i
    type(MPI_Datatype) :: datatype
    type(MPI_Request) :: request
    logical :: is_made
    at = places(s)
    call random_datatype(8 * ubound(at, 2), datatype, count, is_made)
    count = random_below(count + 1)
    all = reshape([(1000003_8 * i + trial, i = 1, 140)], n)
    sent_plain = -2
    do i = 1, ubound(at, 2)
      sent_plain(i) = all(at(1, i), at(2, i), at(3, i))
    end do
    expected = -1
    call MPI_Sendrecv(sent_plain, count, datatype, right, 1, expected, count, datatype, left, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    plain = -1
    call MPI_Irecv(plain, count, datatype, left, 2, MPI_COMM_WORLD, request)
    call MPI_Send(all(s%first(1):s%last(1):s%step(1), s%first(2):s%last(2):s%step(2), s%first(3):s%last(3):s%step(3)), &
                  count, datatype, right, 2, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call want_trial(.not. any(plain /= expected), "a part that is sent")
    all = -1
    call MPI_Irecv(all(s%first(1):s%last(1):s%step(1), s%first(2):s%last(2):s%step(2), s%first(3):s%last(3):s%step(3)), &
                   count, datatype, left, 3, MPI_COMM_WORLD, request)
    call MPI_Send(sent_plain, count, datatype, right, 3, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    do i = 1, ubound(at, 2)
      call want_trial(all(at(1, i), at(2, i), at(3, i)) == expected(i), "a part that is received")
      all(at(1, i), at(2, i), at(3, i)) = -1
    end do
    call want_trial(.not. any(all /= -1), "the rest of an array")
    if (is_made) call MPI_Type_free(datatype)
  end subroutine

  subroutine cells(s)
    type(section), intent(in) :: s
    type(cell), asynchronous :: all(7, 5), plain(35)
    integer :: at(3, product(s%extent)), count, i, j
    type(MPI_Datatype) :: datatype
    type(MPI_Request) :: request
    at = places(s)
    count = random_below(product(s%extent(:2)) + 1)
    call MPI_Type_create_struct(2, [1, 1], [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND], [MPI_INTEGER, MPI_REAL8], datatype)
    call MPI_Type_commit(datatype)
    do j = 1, 5
      do i = 1, 7
        all(i, j) = cell(10 * j + i, 0.5d0 * i + j)
      end do
    end do
    plain = cell(-1, -1)
    call MPI_Irecv(plain, count, datatype, left, 4, MPI_COMM_WORLD, request)
    call MPI_Send(all(s%first(1):s%last(1):s%step(1), s%first(2):s%last(2):s%step(2)), count, datatype, right, 4, &
                  MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    do i = 1, count
      call want_trial(plain(i)%id == 10 * at(2, i) + at(1, i) .and. plain(i)%value == 0.5d0 * at(1, i) + at(2, i), &
                      "cells that are sent")
    end do
    all = cell(-1, -1)
    call MPI_Irecv(all(s%first(1):s%last(1):s%step(1), s%first(2):s%last(2):s%step(2)), count, datatype, left, 5, &
                   MPI_COMM_WORLD, request)
    call MPI_Send(plain, count, datatype, right, 5, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    do i = 1, count
      call want_trial(all(at(1, i), at(2, i))%id == plain(i)%id, "cells that are received")
      all(at(1, i), at(2, i)) = cell(-1, -1)
    end do
    call want_trial(.not. any(all%id /= -1 .or. all%value /= -1), "the other cells")
    call MPI_Type_free(datatype)
  end subroutine

  subroutine want_trial(is_right, what)
    logical, intent(in) :: is_right
    character(len=*), intent(in) :: what
    if (.not. is_right) print *, "trial", trial
    call want(is_right, what)
  end subroutine
end program
