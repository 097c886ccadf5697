/* An error code of the program with a text, which nobody hears: the text is the sentence that ends the job.
 */
#include <mpi.h>

int main(int argc, char** argv) {
  int code = 0;
  MPI_Init(&argc, &argv);
  MPI_Add_error_code(MPI_ERR_COUNT, &code);
  MPI_Add_error_string(code, "the matrix has 7 rows, which 2 ranks cannot share");
  MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
  return MPI_Finalize();
}
