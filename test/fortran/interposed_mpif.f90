! A profiling library in Fortran: procedures of the program take the place of the library's, which have PMPI_ names.
! ranks: 1 2
program interposed_mpif
  use check
  implicit none
  include 'mpif.h'
  integer rank, sent, got, ierror, calls
  common /counted/ calls
  calls = 0
  call MPI_INIT(ierror)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
  sent = rank + 4
  call MPI_SENDRECV(sent, 1, MPI_INTEGER, rank, 1, got, 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call MPI_BARRIER(MPI_COMM_WORLD, ierror)
  call want(calls == 2 .and. got == sent, 'calls that the program has counted')
  call MPI_FINALIZE(ierror)
end program

subroutine MPI_BARRIER(comm, ierror)
  implicit none
  integer comm, ierror, calls
  common /counted/ calls
  calls = calls + 1
  call PMPI_BARRIER(comm, ierror)
end subroutine

subroutine MPI_SENDRECV(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, &
                        status, ierror)
  implicit none
  integer sendbuf(*), sendcount, sendtype, dest, sendtag, recvbuf(*), recvcount, recvtype, source, recvtag, comm, status(*)
  integer ierror, calls
  common /counted/ calls
  calls = calls + 1
  call PMPI_SENDRECV(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, &
                     status, ierror)
end subroutine
