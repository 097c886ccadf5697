/* The C side of special_mpif.f: objects that Fortran gets, and what C sees of them. */
#include <mpi.h>

/* Makes a communicator, a datatype and a status, as Fortran knows them; gives the number of faults. */
int c_makes_(MPI_Fint* comm, MPI_Fint* type, MPI_Fint* status) {
  MPI_Comm made;
  MPI_Datatype pair;
  MPI_Status received, back;
  MPI_F08_status modern;
  MPI_Fint again[sizeof modern / sizeof(MPI_Fint)];
  int numbers[4] = {1, 2, 3, 4}, got[4], faults = 0, is_set = 0, yes = 0, no = 1;
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Sendrecv(numbers, 2, pair, 0, 11, got, 2, pair, 0, 11, MPI_COMM_SELF, &received);
  *comm = MPI_Comm_c2f(made);
  *type = MPI_Type_c2f(pair);
  faults += MPI_Comm_f2c(*comm) != made || MPI_Type_f2c(*type) != pair;
  faults += MPI_Comm_c2f(MPI_COMM_WORLD) != 257 || MPI_Comm_f2c(257) != MPI_COMM_WORLD;
  MPI_Status_c2f(&received, status);
  MPI_Status_f2c(status, &back);
  faults += back.MPI_TAG != 11;
  MPI_Status_c2f08(&received, &modern);
  faults += modern.MPI_TAG != 11;
  MPI_Status_f082f(&modern, again);
  faults += again[MPI_F_TAG] != 11;
  MPI_Abi_get_fortran_booleans(sizeof(MPI_Fint), &yes, &no, &is_set);
  faults += !is_set || yes != 1 || no != 0;
  return faults;
}
