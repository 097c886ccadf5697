#include <cstdio>

#include "comm/functions.hpp"
#include "progress/engine.hpp"
#include "pt2pt/functions.hpp"

namespace dunlin::comm {
namespace {

/// The program may still wait for what has a request; it would not hear of the end of the rest.
bool is_idle(const void* object) noexcept {
  const Comm& comm = *static_cast<const Comm*>(object);
  return comm.messaging->is_idle() && comm.let_go_count == 0;
}

void explain(const void* object, WaitReason& reason) noexcept {
  const Comm& comm = *static_cast<const Comm*>(object);
  comm.explain(reason);
  if (comm.let_go_count > 0)
    std::snprintf(reason.what, sizeof reason.what, "%lld of its operations whose requests were freed",
                  (long long)comm.let_go_count);
  else
    std::snprintf(reason.what, sizeof reason.what, "its messages to leave");
}

}  // namespace

// Operations under way hold references (object/request.hpp): the communicator goes when the last has come to
// its end.
Err comm_free(Comm& comm) noexcept {
  if (comm.is_predefined())
    return fail(Err::comm, "comm is MPI_COMM_WORLD or MPI_COMM_SELF, which cannot be freed");
  if (Err e = comm.attributes.erase_all(comm); e != Err::ok) return e;
  if (comm.buffer)  // detached with the communicator: the program gets its memory back (MPI 5.0, 3.6)
    if (Err e = pt2pt::comm_flush_buffer(comm); e != Err::ok) return e;
  comm.release();
  return Err::ok;
}

Err comm_disconnect(Comm& comm) noexcept {
  if (comm.is_predefined())
    return fail(Err::comm, "comm is MPI_COMM_WORLD or MPI_COMM_SELF, which cannot be disconnected");
  comm.engine->wait_until(&is_idle, &comm, &explain);
  return comm_free(comm);
}

}  // namespace dunlin::comm
