! Large counts of mpi_f08 beside those of special_f08.f90 and odd_f08.f90: what a datatype was made from, arrays of counts.
! ranks: 1 3
program large_f08
  use mpi_f08
  use check
  implicit none
  integer, parameter :: large = MPI_COUNT_KIND
  integer(large), parameter :: bytes = 2_large**33
  integer :: rank, size, combiner, numbers(1)
  integer(large) :: integers, addresses, counts, datatypes, contents(1), i
  integer(large), allocatable :: ones(:)
  integer(MPI_ADDRESS_KIND) :: places(1)
  integer(MPI_ADDRESS_KIND), allocatable :: displacements(:)
  integer(1), allocatable :: mine(:), all_of(:)
  type(MPI_Datatype) :: type, from(1)
  type(MPI_Request) :: request
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call MPI_Type_contiguous(bytes, MPI_BYTE, type)
  call MPI_Type_get_envelope(type, integers, addresses, counts, datatypes, combiner)
  call want(all([integers, addresses, counts, datatypes] == [0, 0, 1, 1]) .and. combiner == MPI_COMBINER_CONTIGUOUS, &
            "MPI_Type_get_envelope")
  call MPI_Type_get_contents(type, integers, addresses, counts, datatypes, numbers, places, contents, from)
  call want(contents(1) == bytes .and. from(1) == MPI_BYTE, "MPI_Type_get_contents")
  call MPI_Type_free(type)
  allocate (ones(0:size-1), displacements(0:size-1), mine(0:size-1), all_of(0:size-1))
  ones = 1
  displacements = [(i, i = 0, size - 1)]
  mine = int(rank, 1)
  call MPI_Alltoallv(mine, ones, displacements, MPI_INTEGER1, all_of(size-1:0:-1), ones, displacements, MPI_INTEGER1, &
                     MPI_COMM_WORLD)
  call want(all(all_of(size-1:0:-1) == displacements), "MPI_Alltoallv into an array backwards")
  all_of = -1
  call MPI_Iallgatherv(mine(:0), 1_large, MPI_INTEGER1, all_of, ones, displacements, MPI_INTEGER1, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call want(all(all_of == displacements), "MPI_Iallgatherv")
  call MPI_Finalize()
end program
