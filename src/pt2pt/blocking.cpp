// Blocking sends and receives (MPI 5.0, 3.2, 3.4, 3.10).
#include <cstdlib>
#include <memory>

#include "datatype/cursor.hpp"
#include "object/status.hpp"
#include "pt2pt/internal.hpp"

namespace dunlin::pt2pt {

static Err send_and_wait(const Source& data, int dest, int tag, Comm& comm, protocol::Mode mode) noexcept {
  if (dest == MPI_PROC_NULL) return Err::ok;
  protocol::SendRequest request;
  comm.messaging->send(request, comm, Plane::point_to_point, data, dest, tag, mode);
  comm.engine->wait(request);
  DUNLIN_ASSERT(request.stage == protocol::SendRequest::Stage::done);
  return request.completion.error;
}

// hot path: what the shortcut of the bindings declined.
Err send(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag,
         Comm& comm) noexcept {
  const Source data = source_of(datatype, buf, count);
  if (is_sent_at_once(data, dest, tag, comm)) [[likely]]
    return Err::ok;
  return send_and_wait(data, dest, tag, comm, protocol::Mode::standard);
}

Err ssend(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag,
          Comm& comm) noexcept {
  return send_and_wait(source_of(datatype, buf, count), dest, tag, comm, protocol::Mode::synchronous);
}

Err rsend(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag,
          Comm& comm) noexcept {
  return send(buf, count, datatype, dest, tag, comm);
}

Err bsend(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag,
          Comm& comm) noexcept {
  return send_buffered(source_of(datatype, buf, count), dest, tag, comm);
}

[[gnu::noinline]] static void receive_and_wait(Comm& comm, Plane plane, const Target& data, int source,
                                               int tag, Completion& completion) noexcept {
  protocol::ReceiveRequest request;
  comm.engine->wait(request, comm.messaging->receive_next(request, comm, plane, data, source, tag));
  DUNLIN_ASSERT(request.completion.bytes <= data.bytes);
  DUNLIN_ASSERT(source == match::kAny || request.completion.source == source);
  completion = request.completion;
}

// hot path: what the shortcut of the bindings declined, above all a message that has not arrived yet.
Err receive(Comm& comm, Plane plane, const Target& data, int source, int tag,
            Completion& completion) noexcept {
  if (!comm.messaging->try_receive_now(comm, plane, data, source, tag, completion))
    receive_and_wait(comm, plane, data, source, tag, completion);
  return completion.error;
}

Err recv(void* buf, std::int64_t count, const Datatype& datatype, int source, int tag, Comm& comm,
         MPI_Status* status) noexcept {
  Completion completion = null_completion();
  if (source != MPI_PROC_NULL) [[likely]] {
    completion = {};
    (void)receive(comm, Plane::point_to_point, target_of(datatype, buf, count), source, matching_tag(tag),
                  completion);
  }
  set_status(status, completion);
  return completion.error;
}

/// Both halves, where the send may have to wait; `source` may be MPI_PROC_NULL.
[[gnu::noinline]] static Err exchange(const Source& out, int dest, int sendtag, const Target& in, int source,
                                      int recvtag, Comm& comm, MPI_Status* status) noexcept {
  protocol::Messaging& messaging = *comm.messaging;
  protocol::ReceiveRequest receive;
  protocol::SendRequest send;
  const auto start_receive = [&]() noexcept {
    if (source != MPI_PROC_NULL)
      return messaging.receive(receive, comm, Plane::point_to_point, in, source, matching_tag(recvtag));
    receive.completion = null_completion();
    receive.finish();
  };
  // The send goes first, so that the peer can take its data while we take what it has offered already; but a
  // message to oneself goes straight into a posted receive.
  const bool is_to_self = dest != MPI_PROC_NULL && comm.target_members[dest] == messaging.me();
  if (is_to_self) start_receive();
  if (is_sent_at_once(out, dest, sendtag, comm))
    send.finish();
  else
    messaging.send(send, comm, Plane::point_to_point, out, dest, sendtag, protocol::Mode::standard);
  if (!is_to_self) start_receive();
  comm.engine->wait(receive, source >= 0 ? comm.target_members[source] : -1);
  comm.engine->wait(send);
  DUNLIN_ASSERT(receive.is_complete && send.is_complete);
  set_status(status, receive.completion);
  return receive.completion.error != Err::ok ? receive.completion.error : send.completion.error;
}

// hot path.
Err sendrecv(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, int dest, int sendtag,
             void* recvbuf, std::int64_t recvcount, const Datatype& recvtype, int source, int recvtag,
             Comm& comm, MPI_Status* status) noexcept {
  const Source data = source_of(sendtype, sendbuf, sendcount);
  if (is_sent_ahead(data, dest, sendtag, comm)) [[likely]]
    return recv(recvbuf, recvcount, recvtype, source, recvtag, comm, status);
  return exchange(data, dest, sendtag, target_of(recvtype, recvbuf, recvcount), source, recvtag, comm,
                  status);
}

Err sendrecv_replace(void* buf, std::int64_t count, const Datatype& datatype, int dest, int sendtag,
                     int source, int recvtag, Comm& comm, MPI_Status* status) noexcept {
  const Source data = source_of(datatype, buf, count);
  if (is_sent_ahead(data, dest, sendtag, comm)) [[likely]]
    return recv(buf, count, datatype, source, recvtag, comm, status);
  const std::unique_ptr<std::byte, decltype(&std::free)> packed(
      static_cast<std::byte*>(std::malloc(data.bytes + 1)), &std::free);
  if (!packed) return fail(Err::no_mem, "no memory for a copy of the %zu bytes to be replaced", data.bytes);
  Cursor(data).pack(packed.get(), data.bytes);
  return exchange(Source{packed.get(), data.bytes}, dest, sendtag, target_of(datatype, buf, count), source,
                  recvtag, comm, status);
}

}  // namespace dunlin::pt2pt
