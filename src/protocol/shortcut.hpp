// The shortest way of a short message: when nothing is unusual, straight into or out of the ring of the pair.
//
// Called by the C bindings before anything else.  A shortcut has no opinion on errors, wildcards, queues or
// threads: whatever it does not recognise at once it declines, and the call goes the general way.  So it
// needs no stack and no saved registers.  Document: Nemesis, posted-receive bypass (row N8 of
// docs/sources.md).
//
// hot path: MPI_Send 79 and MPI_Recv 109 instructions with 8 bytes, callgrind (bench/instructions).
// Thread safety: only where base/big_lock.hpp is not needed.
#pragma once

#include "base/big_lock.hpp"
#include "datatype/datatype.hpp"
#include "object/status.hpp"
#include "protocol/messaging.hpp"

namespace dunlin::protocol {

/// Null pointers and MPI_IN_PLACE (1) go the general way, which says what is wrong.
inline bool is_buffer(const void* buffer) noexcept { return reinterpret_cast<std::uintptr_t>(buffer) > 1; }

/// A standard-mode send.  True: it is done.
[[gnu::always_inline]] inline bool try_send_short(const void* buffer, std::int64_t count,
                                                  const Datatype* type, int dest, int tag,
                                                  const Comm* comm) noexcept {
  if (!comm || !type || !type->is_plain() || unsigned(dest) >= unsigned(comm->target_size) || tag < 0)
    return false;
  const std::uint64_t bytes = std::uint64_t(count) * std::uint64_t(type->size());
  Peer* const peer = comm->messaging->peers.or_null(comm->target_members[dest]);
  if (!peer || bytes >= peer->short_bytes_end_now || !is_buffer(buffer)) return false;
  return peer->shm->try_send_short({comm->context, comm->rank, tag, std::uint32_t(bytes), {}},
                                   static_cast<const std::byte*>(buffer));
}

/// The same for MPI_Isend.
[[gnu::always_inline]] inline bool try_isend_short(const void* buffer, std::int64_t count,
                                                   const Datatype* type, int dest, int tag, const Comm* comm,
                                                   MPI_Request* request) noexcept {
  if (!request || !try_send_short(buffer, count, type, dest, tag, comm)) return false;
  *request = reinterpret_cast<MPI_Request>(&CompletedRequest::of_sends());
  return true;
}

/// MPI_Irecv from one named source with one tag, where nothing unexpected waits and all that is posted has
/// the same key: the window of receives of a stream.  True: it is posted.
[[gnu::always_inline]] inline bool try_irecv_short(void* buffer, std::int64_t count, const Datatype* type,
                                                   int source, int tag, Comm* comm,
                                                   MPI_Request* request) noexcept {
  if (!comm || !type || !type->is_plain() || unsigned(source) >= unsigned(comm->target_size) || tag < 0)
    return false;
  match::Matcher& matcher = comm->messaging->matcher();
  const match::Key key{comm->context, source, tag};
  if (!is_buffer(buffer) || count < 0 || !request || !matcher.can_post_to_run(key)) return false;
  if (!ObjectPool::has(sizeof(ReceiveRequest))) return false;
  auto* const receive = new ReceiveRequest;
  receive->hold(*comm);
  receive->key = key;
  receive->data.address = static_cast<std::byte*>(buffer);
  receive->data.bytes = std::uint64_t(count) * std::uint64_t(type->size());
  matcher.post_to_run(*receive);
  *request = reinterpret_cast<MPI_Request>(static_cast<Object*>(receive));
  return true;
}

/// A receive from one named source with one tag.  True: it is done.
[[gnu::always_inline]] inline bool try_receive_short(void* buffer, std::int64_t count, const Datatype* type,
                                                     int source, int tag, const Comm* comm,
                                                     MPI_Status* status) noexcept {
  if (!comm || !type || !type->is_plain() || unsigned(source) >= unsigned(comm->target_size) || tag < 0)
    return false;
  Messaging& messaging = *comm->messaging;
  Peer* const peer = messaging.peers.or_null(comm->target_members[source]);
  if (!peer || !peer->incoming || !messaging.matcher().is_quiet() || !is_buffer(buffer)) return false;
  // Before the look, found or not: later a register would have to be saved.
  if (!messaging.named_receives.try_use()) return false;
  const std::int64_t room = count * type->size();
  const std::int64_t bytes =
      peer->incoming->try_take(comm->context, source, tag, static_cast<std::byte*>(buffer), room);
  if (bytes < 0) return false;
  if (status) {
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    set_status_bytes(*status, std::uint64_t(bytes));
    set_status_cancelled(*status, false);
  }
  return true;
}

}  // namespace dunlin::protocol
