/* The C side of special_mpif.f: objects that Fortran gets, and what C sees of them.  FINT is an INTEGER. */
#include <mpi.h>
#include <stdint.h>

/* Makes a communicator, a datatype and a status, as Fortran knows them; gives the number of faults. */
FINT c_makes_(FINT* comm, FINT* type, FINT* status) {
  MPI_Comm made;
  MPI_Datatype pair;
  MPI_Status received, back;
  MPI_F08_status modern;
  MPI_Fint fields[MPI_F_STATUS_SIZE], again[sizeof modern / sizeof(MPI_Fint)];
  int numbers[4] = {1, 2, 3, 4}, got[4], faults = 0, is_set = 0;
  FINT yes = 0, no = 1;
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Sendrecv(numbers, 2, pair, 0, 11, got, 2, pair, 0, 11, MPI_COMM_SELF, &received);
  *comm = MPI_Comm_c2f(made);
  *type = MPI_Type_c2f(pair);
  faults += MPI_Comm_f2c((int)*comm) != made || MPI_Type_f2c((int)*type) != pair;
  faults += MPI_Comm_c2f(MPI_COMM_WORLD) != 257 || MPI_Comm_f2c(257) != MPI_COMM_WORLD;
  faults += MPI_Comm_f2c(-1) != MPI_COMM_NULL || MPI_Comm_f2c(1 << 30) != MPI_COMM_NULL;
  MPI_Status_c2f(&received, fields);
  for (int i = 0; i < MPI_F_STATUS_SIZE; ++i) status[i] = fields[i];
  MPI_Status_f2c(fields, &back);
  faults += back.MPI_TAG != 11;
  MPI_Status_c2f08(&received, &modern);
  faults += modern.MPI_TAG != 11;
  MPI_Status_f082f(&modern, again);
  faults += again[MPI_F_TAG] != 11;
  MPI_Abi_get_fortran_booleans(sizeof(FINT), &yes, &no, &is_set);
  faults += !is_set || yes != 1 || no != 0;
  return faults;
}

/* Attributes that Fortran has set, an INTEGER and an INTEGER(KIND=MPI_ADDRESS_KIND): C sees their addresses.
   The other way, C sets a pointer, which it gives as an integer, too. */
FINT c_attributes_(FINT* comm, FINT* old_keyval, FINT* keyval, FINT* c_keyval, MPI_Aint* pointer) {
  static int object;
  const MPI_Comm in_c = MPI_Comm_f2c((int)*comm);
  int flag = 0, faults = 0, made = MPI_KEYVAL_INVALID;
  void* value = 0;
  MPI_Comm_get_attr(in_c, (int)*old_keyval, &value, &flag);
  faults += !flag || *(int*)value != -5;
  MPI_Comm_get_attr(in_c, (int)*keyval, &value, &flag);
  faults += !flag || *(MPI_Aint*)value != 9;
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &made, 0);
  MPI_Comm_set_attr(in_c, made, &object);
  *c_keyval = made;
  *pointer = (MPI_Aint)(intptr_t)&object;
  return faults;
}
