/* Programs of MPI-1 link: every removed and deprecated name is there, and reaches the call of today. */
#include <mpi.h>
#include <stddef.h>

int main(void) {
  /* volatile: the linker must see a use of every name. */
  void (*volatile names[])(void) = {
      (void (*)(void))MPI_Address,           (void (*)(void))MPI_Errhandler_create,
      (void (*)(void))MPI_Errhandler_get,    (void (*)(void))MPI_Errhandler_set,
      (void (*)(void))MPI_Type_extent,       (void (*)(void))MPI_Type_hindexed,
      (void (*)(void))MPI_Type_hvector,      (void (*)(void))MPI_Type_lb,
      (void (*)(void))MPI_Type_struct,       (void (*)(void))MPI_Type_ub,
      (void (*)(void))MPI_Attr_delete,       (void (*)(void))MPI_Attr_get,
      (void (*)(void))MPI_Attr_put,          (void (*)(void))MPI_Keyval_create,
      (void (*)(void))MPI_Keyval_free,       (void (*)(void))MPI_Info_get,
      (void (*)(void))MPI_Info_get_valuelen, (void (*)(void))MPI_Type_size_x,
      (void (*)(void))MPI_Type_get_extent_x, (void (*)(void))MPI_Type_get_true_extent_x,
      (void (*)(void))MPI_Get_elements_x,    (void (*)(void))MPI_Status_set_elements_x};
  MPI_Handler_function* handler = NULL;
  MPI_Aint address = 0;
  size_t i;
  int there = 0;
  for (i = 0; i < sizeof names / sizeof *names; ++i) there += names[i] != 0;
  if (there != 22 || handler != NULL) return 1;
  if (MPI_Address(&address, &address) != MPI_SUCCESS) return 2;
  return address != (MPI_Aint)&address;
}
