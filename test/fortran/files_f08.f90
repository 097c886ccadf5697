! Files from mpi_f08: parts of arrays, views, calls that return before they are complete, errors.
! ranks: 1 2 3
program files_f08
  use mpi_f08
  use check
  implicit none
  integer, parameter :: n = 8
  integer :: rank, size, error, class, i, count
  real(8) :: sent(n, 2), got(n, 2)
  character(len=64) :: name
  type(MPI_File) :: file
  type(MPI_Status) :: status
  type(MPI_Request) :: request
  type(MPI_Datatype) :: mine
  integer(kind=MPI_OFFSET_KIND) :: place, bytes
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  sent = reshape([(1000 * rank + i, i = 1, 2 * n)], [n, 2])
  write (name, '(a,i0,a)') "files_f08.", size, ".data   "     ! blanks at its end are no part of a name
  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
  call MPI_File_set_size(file, 0_MPI_OFFSET_KIND)
  ! Every second row of this rank, one rank behind the other.
  place = rank * n * 8_MPI_OFFSET_KIND
  call MPI_File_write_at_all(file, place, sent(1:n:2, :), n, MPI_REAL8, status)
  call MPI_Get_count(status, MPI_REAL8, count)
  call want(count == n, "the count of a write")
  call MPI_File_sync(file)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_File_get_size(file, bytes)
  call want(bytes == size * n * 8, "the size of a file")
  got = -1
  place = modulo(rank + 1, size) * n * 8_MPI_OFFSET_KIND
  call MPI_File_iread_at(file, place, got(2:n:2, :), n, MPI_REAL8, request)
  call MPI_Wait(request, status)
  call want(all(got(2:n:2, :) == sent(1:n:2, :) + 1000 * (modulo(rank + 1, size) - rank)), "a part that is read")
  call want(all(got(1:n:2, :) == -1), "nothing else is read")
  ! A view: the ranks' numbers alternate.
  call MPI_Type_vector(n, 1, size, MPI_REAL8, mine)
  call MPI_Type_commit(mine)
  call MPI_File_set_view(file, rank * 8_MPI_OFFSET_KIND, MPI_REAL8, mine, "native", MPI_INFO_NULL)
  call MPI_File_write_all(file, sent(:, 1), n, MPI_REAL8, MPI_STATUS_IGNORE)
  call MPI_File_sync(file)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_REAL8, MPI_REAL8, "native", MPI_INFO_NULL)
  do i = 0, size - 1
    call MPI_File_read_at(file, int(2 * size + i, MPI_OFFSET_KIND), got(1, 1), 1, MPI_REAL8, MPI_STATUS_IGNORE)
    call want(got(1, 1) == 1000 * i + 3, "numbers that alternate")
  end do
  call MPI_Type_free(mine)
  call MPI_File_close(file)
  call want(file == MPI_FILE_NULL, "a closed file is null")
  call MPI_File_open(MPI_COMM_SELF, "no such file", MPI_MODE_RDONLY, MPI_INFO_NULL, file, error)
  call MPI_Error_class(error, class)
  call want(class == MPI_ERR_NO_SUCH_FILE, "no such file")
  call MPI_Finalize()
end program
