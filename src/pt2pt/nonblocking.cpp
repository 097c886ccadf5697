// Nonblocking sends and receives (MPI 5.0, 3.7 and 3.10).
#include <cstdlib>
#include <new>

#include "datatype/cursor.hpp"
#include "pt2pt/internal.hpp"

namespace dunlin::pt2pt {
namespace {

/// A send with a receive: complete when both are.  `copy` is the packed data of MPI_Isendrecv_replace.
class ExchangeRequest final : public Request, public progress::Pollable {
 public:
  protocol::SendRequest send;
  protocol::ReceiveRequest receive;
  std::byte* copy = nullptr;

  Outcome poll() noexcept override {
    if (!send.is_complete || !receive.is_complete) return Outcome::idle;
    DUNLIN_ASSERT(!is_complete);
    completion = receive.completion;
    if (completion.error == Err::ok) completion.error = send.completion.error;
    finish();
    return Outcome::finished;
  }

 private:
  ~ExchangeRequest() override { std::free(copy); }
};

Err start_send(const Source& data, int dest, int tag, Comm& comm, protocol::Mode mode,
               Request** request) noexcept {
  if (dest == MPI_PROC_NULL ||
      (mode != protocol::Mode::synchronous && is_sent_at_once(data, dest, tag, comm))) {
    *request = &completed_send();
    return Err::ok;
  }
  auto* send = new protocol::SendRequest;
  send->hold(comm);
  hold_type(*send, data.type);
  comm.messaging->send(*send, comm, Plane::point_to_point, data, dest, tag, mode);
  *request = send;
  return Err::ok;
}

Err start_exchange(ExchangeRequest* both, const Source& out, int dest, int sendtag, const Target& in,
                   int source, int recvtag, Comm& comm, Request** request) noexcept {
  DUNLIN_ASSERT(dest != MPI_PROC_NULL);
  both->send.hold(comm);
  hold_type(both->send, out.type);
  both->receive.hold(comm);
  hold_type(both->receive, in.type);
  both->comm = &comm;
  if (source == MPI_PROC_NULL) {
    both->receive.completion = null_completion();
    both->receive.finish();
  } else {
    comm.messaging->receive(both->receive, comm, Plane::point_to_point, in, source, matching_tag(recvtag));
  }
  comm.messaging->send(both->send, comm, Plane::point_to_point, out, dest, sendtag, protocol::Mode::standard);
  if (both->poll() != progress::Pollable::Outcome::finished) comm.engine->add(*both);
  *request = both;
  return Err::ok;
}

}  // namespace

Request& completed_null_receive() noexcept {
  alignas(CompletedRequest) static unsigned char storage[sizeof(CompletedRequest)];  // never destroyed
  static auto* const request = ::new (storage) CompletedRequest(false, null_completion());
  return *request;
}

Err isend(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
          Request** request) noexcept {
  return start_send(source_of(datatype, buf, count), dest, tag, comm, protocol::Mode::standard, request);
}

Err irsend(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
           Request** request) noexcept {
  return isend(buf, count, datatype, dest, tag, comm, request);
}

Err issend(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
           Request** request) noexcept {
  return start_send(source_of(datatype, buf, count), dest, tag, comm, protocol::Mode::synchronous, request);
}

Err ibsend(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
           Request** request) noexcept {
  if (Err error = send_buffered(source_of(datatype, buf, count), dest, tag, comm); error != Err::ok)
    return error;
  *request = &completed_send();
  return Err::ok;
}

Err irecv(void* buf, std::int64_t count, const Datatype& datatype, int source, int tag, Comm& comm,
          Request** request) noexcept {
  if (source == MPI_PROC_NULL) {
    *request = &completed_null_receive();
    return Err::ok;
  }
  auto* receive = new protocol::ReceiveRequest;
  const Target data = target_of(datatype, buf, count);
  receive->hold(comm);
  hold_type(*receive, data.type);
  comm.messaging->receive(*receive, comm, Plane::point_to_point, data, source, matching_tag(tag));
  *request = receive;
  return Err::ok;
}

Err isendrecv(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, int dest, int sendtag,
              void* recvbuf, std::int64_t recvcount, const Datatype& recvtype, int source, int recvtag,
              Comm& comm, Request** request) noexcept {
  const Source data = source_of(sendtype, sendbuf, sendcount);
  if (is_sent_ahead(data, dest, sendtag, comm))
    return irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, request);
  return start_exchange(new ExchangeRequest, data, dest, sendtag, target_of(recvtype, recvbuf, recvcount),
                        source, recvtag, comm, request);
}

Err isendrecv_replace(void* buf, std::int64_t count, const Datatype& datatype, int dest, int sendtag,
                      int source, int recvtag, Comm& comm, Request** request) noexcept {
  const Source data = source_of(datatype, buf, count);
  if (is_sent_ahead(data, dest, sendtag, comm))
    return irecv(buf, count, datatype, source, recvtag, comm, request);
  auto* copy = static_cast<std::byte*>(std::malloc(data.bytes + 1));
  if (!copy) return fail(Err::no_mem, "no memory for a copy of the %zu bytes to be replaced", data.bytes);
  Cursor(data).pack(copy, data.bytes);
  auto* both = new ExchangeRequest;
  both->copy = copy;
  return start_exchange(both, Source{copy, data.bytes}, dest, sendtag, target_of(datatype, buf, count),
                        source, recvtag, comm, request);
}

}  // namespace dunlin::pt2pt
