// What the files of pt2pt/ share: wildcards, and requests that are complete from the start.
#pragma once

#include "match/queue.hpp"
#include "pt2pt/functions.hpp"

namespace dunlin::pt2pt {

/// MPI_ANY_TAG as matching knows it; MPI_ANY_SOURCE is match::kAny already.
static_assert(MPI_ANY_SOURCE == match::kAny);
inline int matching_tag(int tag) noexcept { return tag == MPI_ANY_TAG ? match::kAny : tag; }

/// Keeps the datatype until the request goes: the program may free its handle before.
template <class TypedRequest>
inline void hold_type(TypedRequest& request, const Datatype* type) noexcept {
  if (type)
    request.held_type =
        Ref<Datatype>(const_cast<Datatype*>(type));  // reference counts are not part of a value
}

/// Shared by all sends that are complete at once.
inline Request& completed_send() noexcept { return CompletedRequest::of_sends(); }
/// Shared by all receives from MPI_PROC_NULL.
Request& completed_null_receive() noexcept;
/// The completion of a receive from MPI_PROC_NULL.
inline Completion null_completion() noexcept { return {.source = MPI_PROC_NULL, .tag = MPI_ANY_TAG}; }

/// A standard-mode send that needs no request: to nobody, or the channel takes it at once.
inline bool is_sent_at_once(const Source& data, int dest, int tag, Comm& comm) noexcept {
  return dest == MPI_PROC_NULL || comm.messaging->try_send_now(comm, Plane::point_to_point, data, dest, tag);
}

/// Whether the sending half of an exchange is done, and only the receive is left, which needs nothing posted
/// meanwhile, nor a copy of what it replaces.  A message to oneself goes straight into a posted receive.
inline bool is_sent_ahead(const Source& data, int dest, int tag, Comm& comm) noexcept {
  if (dest != MPI_PROC_NULL && comm.target_members[dest] == comm.messaging->me()) return false;
  return is_sent_at_once(data, dest, tag, comm);
}

/// Copies `data` into a buffer attached by the program and starts the send from there (buffered.cpp).
Err send_buffered(const Source& data, int dest, int tag, Comm& comm) noexcept;

}  // namespace dunlin::pt2pt
