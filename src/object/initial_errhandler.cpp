#include "object/initial_errhandler.hpp"

#include "base/variable.hpp"

namespace dunlin {
namespace {

// The names are those of the standard for mpiexec's -initial-errhandler (MPI 5.0, 11.5).
WordVariable initial{"INITIAL_ERRHANDLER", "mpi_errors_are_fatal",
                     "mpi_errors_are_fatal|mpi_errors_abort|mpi_errors_return",
                     "what an error does before the program sets an error handler of its own"};

}  // namespace

Errhandler& initial_errhandler() noexcept {
  switch (initial.index()) {
    case 1: return errors_abort();
    case 2: return errors_return();
    default: return errors_are_fatal();
  }
}

}  // namespace dunlin
