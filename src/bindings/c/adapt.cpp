// The calls of bindings/functions.hpp that need nothing but themselves.
#include "bindings/functions.hpp"

#include "bindings/c/raise.hpp"
#include "heap/heap.hpp"
#include "peer/peer_memory.hpp"

namespace dunlin::bindings {

int pcontrol(int) noexcept { return MPI_SUCCESS; }

Err get_address(const void* location, MPI_Aint* address) noexcept {
  *address = reinterpret_cast<MPI_Aint>(location);
  return Err::ok;
}

Err alloc_mem(MPI_Aint size, Info*, void* baseptr) noexcept {
  if (size < 0) return fail(Err::arg, "size is %lld; it must not be negative", (long long)size);
  void* const block = heap::allocate(size > 0 ? std::size_t(size) : 1);
  if (!block) return fail(Err::no_mem, "there is no memory for %lld bytes", (long long)size);
  *static_cast<void**>(baseptr) = block;
  return Err::ok;
}

Err free_mem(void* base) noexcept {
  if (base) heap::release(base);
  return Err::ok;
}

Err comm_call_errhandler(Comm& comm, int errorcode) noexcept {
  raise(&comm, Err(errorcode), "MPI_Comm_call_errhandler");
  return Err::ok;
}

Err session_call_errhandler(Session& session, int errorcode) noexcept {
  raise(&session, Err(errorcode), "MPI_Session_call_errhandler");
  return Err::ok;
}

Err win_call_errhandler(Win& win, int errorcode) noexcept {
  raise(&win, Err(errorcode), "MPI_Win_call_errhandler");
  return Err::ok;
}

Err file_call_errhandler(File* file, int errorcode) noexcept {
  raise(heard_by(file), Err(errorcode), "MPI_File_call_errhandler");
  return Err::ok;
}

}  // namespace dunlin::bindings
