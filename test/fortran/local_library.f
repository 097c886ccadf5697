C     A routine of a library that is loaded by itself: sums in place.
      SUBROUTINE LOCAL_SUM(VALUE)
      INCLUDE 'mpif.h'
      INTEGER VALUE, IERROR
      CALL MPI_ALLREDUCE(MPI_IN_PLACE, VALUE, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, IERROR)
      END
