// The calls of bindings/functions.hpp that need nothing but themselves.
#include "bindings/functions.hpp"

#include "bindings/c/raise.hpp"

namespace dunlin::bindings {

int pcontrol(int) noexcept { return MPI_SUCCESS; }

Err get_address(const void* location, MPI_Aint* address) noexcept {
  *address = reinterpret_cast<MPI_Aint>(location);
  return Err::ok;
}

Err comm_call_errhandler(Comm& comm, int errorcode) noexcept {
  raise(&comm, Err(errorcode), "MPI_Comm_call_errhandler");
  return Err::ok;
}

}  // namespace dunlin::bindings
