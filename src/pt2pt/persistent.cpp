// Persistent sends and receives (MPI 5.0, 3.9): the arguments, kept, and a request that is started again and
// again.
#include "object/status.hpp"
#include "progress/helper.hpp"
#include "pt2pt/internal.hpp"

namespace dunlin::pt2pt {
namespace {

/// What both directions keep.
struct Arguments {
  Comm* comm;
  int peer;  // destination or source
  int tag;
};

enum class How : std::uint8_t { standard, buffered, synchronous };

class PersistentSend final : public protocol::SendRequest {
 public:
  PersistentSend(const Source& source, const Arguments& arguments, How how) noexcept
      : source_(source), arguments_(arguments), how_(how) {
    hold(*arguments.comm);
    hold_type(*this, source.type);
    is_persistent = true;
    is_active = false;
    has_empty_status = true;
  }

  Err begin_round() noexcept override {
    DUNLIN_ASSERT(stage == Stage::fresh || stage == Stage::done);
    is_active = true;
    is_complete = false;
    is_cancel_asked = false;
    completion = Completion{};
    if (arguments_.peer == MPI_PROC_NULL) return finish(), Err::ok;
    if (how_ == How::buffered) {
      const Err error = send_buffered(source_, arguments_.peer, arguments_.tag, *comm);
      return finish(), error;
    }
    comm->messaging->send(*this, *comm, Plane::point_to_point, source_, arguments_.peer, arguments_.tag,
                          how_ == How::synchronous ? protocol::Mode::synchronous : protocol::Mode::standard);
    return Err::ok;
  }

 private:
  const Source source_;
  const Arguments arguments_;
  const How how_;
};

class PersistentReceive final : public protocol::ReceiveRequest {
 public:
  PersistentReceive(const Target& target, const Arguments& arguments) noexcept
      : target_(target), arguments_(arguments) {
    hold(*arguments.comm);
    hold_type(*this, target.type);
    is_persistent = true;
    is_active = false;
  }

  Err begin_round() noexcept override {
    is_active = true;
    is_complete = false;
    is_matched = false;
    has_own_status = false;
    completion = Completion{};
    if (arguments_.peer == MPI_PROC_NULL) {
      completion = null_completion();
      return finish(), Err::ok;
    }
    comm->messaging->receive(*this, *comm, Plane::point_to_point, target_, arguments_.peer,
                             matching_tag(arguments_.tag));
    return Err::ok;
  }

 private:
  const Target target_;
  const Arguments arguments_;
};

}  // namespace

Err send_init(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
              Request** request) noexcept {
  *request = new PersistentSend(source_of(datatype, buf, count), {&comm, dest, tag}, How::standard);
  return Err::ok;
}

Err bsend_init(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
               Request** request) noexcept {
  *request = new PersistentSend(source_of(datatype, buf, count), {&comm, dest, tag}, How::buffered);
  return Err::ok;
}

Err ssend_init(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
               Request** request) noexcept {
  *request = new PersistentSend(source_of(datatype, buf, count), {&comm, dest, tag}, How::synchronous);
  return Err::ok;
}

Err rsend_init(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
               Request** request) noexcept {
  return send_init(buf, count, datatype, dest, tag, comm, request);
}

Err recv_init(void* buf, std::int64_t count, const Datatype& datatype, int source, int tag, Comm& comm,
              Request** request) noexcept {
  *request = new PersistentReceive(target_of(datatype, buf, count), {&comm, source, tag});
  return Err::ok;
}

Err start(Request& request) noexcept {
  const Err error = request.start();
  if (request.wants_help()) progress::Helper::want(*request.comm->engine, progress::Helper::For::overlap);
  return error;
}

Err startall(int count, MPI_Request* array_of_requests) noexcept {
  const Request* helped = nullptr;
  for (int i = 0; i < count; ++i) {
    auto* request = from_handle<Request>(array_of_requests[i]);
    if (!request) return fail(Err::request, "array_of_requests[%d] is no request", i);
    if (Err error = request->start(); error != Err::ok) return error;
    if (request->wants_help()) helped = request;
  }
  if (helped) progress::Helper::want(*helped->comm->engine, progress::Helper::For::overlap);
  return Err::ok;
}

}  // namespace dunlin::pt2pt
