! MPI_Alltoallw and its kin, nonblocking and persistent, whose arrays of datatypes are converted: they mean the same
! after the call has returned.
! ranks: 1 2 4
program w_forms_f08
  use mpi_f08
  use check
  implicit none
  integer, parameter :: most = 4
  real(8), asynchronous :: sent(2 * most), received(2 * most)
  integer :: counts(most), places(most), rank, size, i
  integer(kind=MPI_ADDRESS_KIND) :: addresses(most)
  type(MPI_Datatype) :: types(most)
  type(MPI_Comm) :: all
  type(MPI_Request) :: request
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  counts = 1
  do i = 1, size
    call MPI_Type_contiguous(2, MPI_REAL8, types(i))
    call MPI_Type_commit(types(i))
    places(i) = 16 * (i - 1)
    addresses(i) = places(i)
    sent(2 * i - 1:2 * i) = [100 * rank + i, -i]
  end do
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, [(i, i = 0, size - 1)], MPI_UNWEIGHTED, size, &
                                      [(i, i = 0, size - 1)], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., all)
  received = 0
  call MPI_Ialltoallw(sent, counts, places, types, received, counts, places, types, MPI_COMM_WORLD, request)
  call finish("MPI_Ialltoallw")
  call MPI_Ineighbor_alltoallw(sent, counts, addresses, types, received, counts, addresses, types, all, request)
  call finish("MPI_Ineighbor_alltoallw")
  call MPI_Alltoallw_init(sent, counts, places, types, received, counts, places, types, MPI_COMM_WORLD, MPI_INFO_NULL, &
                          request)
  call start_and_finish("MPI_Alltoallw_init")
  call MPI_Neighbor_alltoallw_init(sent, counts, addresses, types, received, counts, addresses, types, all, &
                                   MPI_INFO_NULL, request)
  call start_and_finish("MPI_Neighbor_alltoallw_init")
  call MPI_Alltoallw(MPI_IN_PLACE, counts, places, [MPI_DATATYPE_NULL], sent, counts, places, types, MPI_COMM_WORLD)
  received = sent
  call finish("MPI_IN_PLACE")
  do i = 1, size
    call MPI_Type_free(types(i))
  end do
  call MPI_Comm_free(all)
  call MPI_Finalize()
contains

  subroutine start_and_finish(what)
    character(len=*), intent(in) :: what
    integer :: time
    do time = 1, 2
      call spoil_stack(20)
      call MPI_Start(request)
      call finish(what)
    end do
    call MPI_Request_free(request)
  end subroutine

  subroutine finish(what)
    character(len=*), intent(in) :: what
    call spoil_stack(20)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    do i = 1, size
      call want(received(2 * i - 1) == 100 * (i - 1) + rank + 1 .and. received(2 * i) == -rank - 1, what)
    end do
    received = 0
  end subroutine

  ! Where the arrays were while the call was active.
  recursive subroutine spoil_stack(depth)
    integer, intent(in) :: depth
    integer :: held(200)
    held = -depth
    if (depth > 0) call spoil_stack(depth - 1)
    call want(all_are(held, -depth), "the stack")
  end subroutine
  logical function all_are(array, value)
    integer, intent(in) :: array(:), value
    all_are = .not. any(array /= value)
  end function
end program
