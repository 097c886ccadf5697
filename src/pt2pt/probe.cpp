// Probing: looking at a message before receiving it, with and without taking it out of matching
// (MPI 5.0, 3.8).
#include <cstdio>

#include "object/error_origin.hpp"
#include "object/status.hpp"
#include "pt2pt/internal.hpp"
#include "pt2pt/message.hpp"

namespace dunlin::pt2pt {
namespace {

struct Wanted {
  Comm& comm;
  int source, tag;
  Err check() const noexcept { return comm.messaging->check_probe(comm, Plane::point_to_point, tag); }
  match::Unexpected* find() const noexcept {
    return comm.messaging->probe(comm, Plane::point_to_point, source, tag);
  }
  static bool is_found(const void* self) noexcept {
    return static_cast<const Wanted*>(self)->find() != nullptr;
  }
  static void explain(const void* self, WaitReason& reason) noexcept {
    const auto& [comm, source, tag] = *static_cast<const Wanted*>(self);
    std::snprintf(reason.what, sizeof reason.what, "a message to look at");
    reason.peer = source == match::kAny ? WaitReason::kAny : comm.target_members[source];
    reason.tag = tag == match::kAny ? WaitReason::kAny : tag;
    comm.explain(reason);
  }
};

void describe(match::Unexpected& message, MPI_Status* status) noexcept {
  set_status(status, {.source = message.key.source,
                      .tag = message.key.tag,
                      .bytes = protocol::Messaging::message_bytes(message)});
}

match::Unexpected* wait_for(const Wanted& wanted) noexcept {
  wanted.comm.engine->wait_until(&Wanted::is_found, &wanted, &Wanted::explain);
  match::Unexpected* const found = wanted.find();
  DUNLIN_ASSERT(found != nullptr);
  return found;
}

match::Unexpected* look_for(const Wanted& wanted) noexcept {
  if (match::Unexpected* message = wanted.find()) return message;
  wanted.comm.engine->poll_for_test(&wanted, &Wanted::explain);
  return wanted.find();
}

void extract(match::Unexpected& found, Comm& comm, MPI_Message* message) noexcept {
  *message = to_handle<MPI_Message>(*new Message(comm.messaging->extract(found), comm));
}

/// The message of a handle, whose handle becomes null.
Message* take(MPI_Message* handle) noexcept {
  Message* const message = from_handle<Message>(*handle);
  if (message) *handle = MPI_MESSAGE_NULL;
  return message;
}

Err no_message() noexcept {
  return fail(Err::request, "argument message is no message; was it received already?");
}

}  // namespace

Err probe(int source, int tag, Comm& comm, MPI_Status* status) noexcept {
  if (source == MPI_PROC_NULL) return set_status(status, null_completion()), Err::ok;
  const Wanted wanted{comm, source, matching_tag(tag)};
  if (const Err e = wanted.check(); e != Err::ok) return e;
  describe(*wait_for(wanted), status);
  return Err::ok;
}

Err iprobe(int source, int tag, Comm& comm, int* flag, MPI_Status* status) noexcept {
  *flag = 1;
  if (source == MPI_PROC_NULL) return set_status(status, null_completion()), Err::ok;
  const Wanted wanted{comm, source, matching_tag(tag)};
  if (const Err e = wanted.check(); e != Err::ok) return e;
  match::Unexpected* const found = look_for(wanted);
  *flag = found != nullptr;
  if (found) describe(*found, status);
  return Err::ok;
}

Err mprobe(int source, int tag, Comm& comm, MPI_Message* message, MPI_Status* status) noexcept {
  int flag = 0;
  if (source == MPI_PROC_NULL) return improbe(source, tag, comm, &flag, message, status);
  const Wanted wanted{comm, source, matching_tag(tag)};
  if (const Err e = wanted.check(); e != Err::ok) return e;
  match::Unexpected* const found = wait_for(wanted);
  describe(*found, status);
  extract(*found, comm, message);
  return Err::ok;
}

Err improbe(int source, int tag, Comm& comm, int* flag, MPI_Message* message, MPI_Status* status) noexcept {
  *flag = 1;
  if (source == MPI_PROC_NULL) {
    *message = MPI_MESSAGE_NO_PROC;
    return set_status(status, null_completion()), Err::ok;
  }
  const Wanted wanted{comm, source, matching_tag(tag)};
  if (const Err e = wanted.check(); e != Err::ok) return e;
  match::Unexpected* const found = look_for(wanted);
  *flag = found != nullptr;
  if (!found) return Err::ok;
  describe(*found, status);
  extract(*found, comm, message);
  return Err::ok;
}

Err mrecv(void* buf, std::int64_t count, const Datatype& datatype, MPI_Message* message,
          MPI_Status* status) noexcept {
  if (*message == MPI_MESSAGE_NO_PROC) {
    *message = MPI_MESSAGE_NULL;
    return set_status(status, null_completion()), Err::ok;
  }
  Message* const taken = take(message);
  if (!taken) return no_message();
  const Ref<Message> held = Ref<Message>::adopt(taken);
  protocol::ReceiveRequest request;
  taken->comm->messaging->receive_matched(request, *taken->comm, *taken->unexpected,
                                          target_of(datatype, buf, count));
  taken->comm->engine->wait(request);
  DUNLIN_ASSERT(request.completion.source == request.key.source);
  set_status(status, request.completion);
  if (request.completion.error != Err::ok) set_error_origin(taken->comm.get());
  return request.completion.error;
}

Err imrecv(void* buf, std::int64_t count, const Datatype& datatype, MPI_Message* message,
           Request** request) noexcept {
  if (*message == MPI_MESSAGE_NO_PROC) {
    *message = MPI_MESSAGE_NULL;
    *request = &completed_null_receive();
    return Err::ok;
  }
  Message* const taken = take(message);
  if (!taken) return no_message();
  const Ref<Message> held = Ref<Message>::adopt(taken);
  auto* receive = new protocol::ReceiveRequest;
  const Target data = target_of(datatype, buf, count);
  receive->hold(*taken->comm);
  hold_type(*receive, data.type);
  taken->comm->messaging->receive_matched(*receive, *taken->comm, *taken->unexpected, data);
  *request = receive;
  return Err::ok;
}

}  // namespace dunlin::pt2pt
