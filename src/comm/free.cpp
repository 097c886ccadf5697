#include <cstdio>

#include "comm/functions.hpp"
#include "progress/engine.hpp"
#include "pt2pt/functions.hpp"

namespace dunlin::comm {
namespace {

bool is_idle(const void* messaging) noexcept {
  return static_cast<const protocol::Messaging*>(messaging)->is_idle();
}

void explain(const void*, WaitReason& reason) noexcept {
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
  comm.engine->wait_until(&is_idle, comm.messaging, &explain);
  return comm_free(comm);
}

}  // namespace dunlin::comm
