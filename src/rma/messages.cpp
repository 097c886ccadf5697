#include "rma/messages.hpp"

#include <cstdio>
#include <cstring>

#include "base/assert.hpp"
#include "datatype/cursor.hpp"
#include "protocol/messaging.hpp"
#include "pt2pt/functions.hpp"
#include "rma/accumulate.hpp"
#include "rma/operation.hpp"
#include "rma/tags.hpp"

namespace dunlin::rma {
namespace {

/// What a request begins with; the runs follow, then the expected value of a compare-and-swap, then the data.
struct Head {
  OperationKind kind;
  op::Operator operation = op::Operator::user;
  bool is_wanted = false;
  std::int32_t element = 0;  // the predefined type, as MPI_Type_toint gives it
  std::uint64_t runs = 0;
  std::uint64_t bytes = 0;  // of the data, packed
  std::uint64_t given = 0;  // of them, bytes that travel with the request
};

/// What an answer begins with; what was asked for follows.
struct Answer {
  Err error = Err::ok;
  std::uint32_t reserved = 0;
};

const Datatype& byte_type() noexcept { return *from_handle<Datatype>(MPI_BYTE); }

const Op& op_of(op::Operator operation) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(MPI_OP_NULL) + std::uintptr_t(operation);
  return *from_handle<Op>(reinterpret_cast<MPI_Op>(number));
}

void forget(Request* request) noexcept {
  if (request && !request->is_static) request->release();
}

/// Appends bytes to a message.
void put(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(from);
  to.insert(to.end(), begin, begin + bytes);
}

/// What the program waits for, where it asked.
class OperationRequest final : public Request {
 public:
  OperationRequest() noexcept { has_empty_status = true; }
  void explain(WaitReason& reason) const noexcept override {
    std::snprintf(reason.what, sizeof reason.what, "a one-sided operation that its target carries out");
  }
};

/// An operation of this process under way.
class Sent final : public progress::Pollable {
 public:
  Sent(Window& window, const Operation& operation, OperationRequest* waiting) noexcept
      : window_(window),
        rank_(operation.target),
        is_wanted_(operation.is_wanted),
        wanted_(operation.wanted),
        waiting_(waiting) {
    if (wanted_.type) held_ = Ref<Datatype>(const_cast<Datatype*>(wanted_.type));
    write(operation);
  }
  Err begin() noexcept;
  Outcome poll() noexcept override;

 private:
  void write(const Operation& operation);

  Window& window_;
  const int rank_;
  const bool is_wanted_;
  const Target wanted_;
  Ref<Datatype> held_;
  OperationRequest* const waiting_;  // or nullptr
  std::vector<std::byte> request_, answer_;
  Request* out_ = nullptr;
  Request* in_ = nullptr;
};

void Sent::write(const Operation& operation) {
  Head head{.kind = operation.kind, .bytes = operation.bytes};
  head.is_wanted = operation.is_wanted;
  if (operation.op) head.operation = operation.op->operation();
  if (operation.element) head.element = const_cast<Datatype*>(operation.element)->to_int();
  head.given = operation.is_given ? operation.bytes : 0;
  put(request_, &head, sizeof head);
  Cursor there(*operation.type, operation.count, reinterpret_cast<void*>(operation.address));
  while (there.position() < operation.bytes) {
    Piece runs[64];
    const std::size_t count = there.pieces(runs, operation.bytes - there.position());
    put(request_, runs, count * sizeof(Piece));
    head.runs += count;
  }
  std::memcpy(request_.data(), &head, sizeof head);
  if (operation.expected) put(request_, operation.expected, operation.bytes);
  if (head.given) {
    const std::size_t at = request_.size();
    request_.resize(at + operation.bytes);
    Cursor(operation.given).pack(&request_[at], operation.bytes);
  }
  answer_.resize(sizeof(Answer) + (head.is_wanted ? operation.bytes : 0));
}

Err Sent::begin() noexcept {
  Comm& comm = *window_.comm;
  protocol::Peers& peers = comm.messaging->peers;
  const std::uint64_t cookie = window_.part(rank_).cookie;
  peers.send_control(peers.of(comm.target_members[rank_]), {.kind = protocol::ControlKind::one_sided,
                                                            .a = cookie,
                                                            .b = request_.size(),
                                                            .c = std::uint64_t(comm.rank)});
  Err error =
      pt2pt::irecv(answer_.data(), std::int64_t(answer_.size()), byte_type(), rank_, kAnswerTag, comm, &in_);
  if (error == Err::ok)
    error = pt2pt::isend(request_.data(), std::int64_t(request_.size()), byte_type(), rank_, kRequestTag,
                         comm, &out_);
  return error;
}

progress::Pollable::Outcome Sent::poll() noexcept {
  if (!out_->is_complete || !in_->is_complete) return Outcome::idle;
  Answer answer;
  std::memcpy(&answer, answer_.data(), sizeof answer);
  if (answer.error != Err::ok) {
    const Err error =
        fail(answer.error, "rank %d: the memory was never attached to the dynamic window", rank_);
    if (waiting_)
      waiting_->completion.error = error;
    else if (window_.first_error == Err::ok)
      window_.first_error = error;
  } else if (is_wanted_) {
    Cursor(wanted_).unpack(&answer_[sizeof answer], answer_.size() - sizeof answer);
  }
  forget(out_);
  forget(in_);
  --window_.under_way;
  --window_.part(rank_).under_way;
  if (waiting_) waiting_->finish();
  delete this;
  return Outcome::finished;
}

/// Carries out one request in this process's memory.
void carry_out(Window& window, std::span<const std::byte> request, std::vector<std::byte>& answer) {
  Head head;
  std::memcpy(&head, request.data(), sizeof head);
  std::vector<Piece> runs(head.runs);
  std::memcpy(runs.data(), &request[sizeof head], head.runs * sizeof(Piece));
  const std::byte* rest = request.data() + sizeof head + head.runs * sizeof(Piece);
  const bool has_answer = head.is_wanted;
  answer.assign(sizeof(Answer) + (has_answer ? head.bytes : 0), {});
  for (const Piece& run : runs)
    if (!window.has(run.address, run.bytes)) {
      const Answer refusal{Err::rma_range};
      std::memcpy(answer.data(), &refusal, sizeof refusal);
      return;
    }
  std::byte* const result = has_answer ? &answer[sizeof(Answer)] : nullptr;
  ShortLock& lock = window.segment.block(window.comm->rank).elements;
  if (head.kind == OperationKind::put || head.kind == OperationKind::get) {
    std::size_t at = 0;
    for (const Piece& run : runs) {
      const bool is_put = head.kind == OperationKind::put;
      std::memcpy(is_put ? run.address : result + at, is_put ? rest + at : run.address, run.bytes);
      at += run.bytes;
    }
    return;
  }
  const auto* const type = static_cast<const Datatype*>(Object::from_int(head.element));
  DUNLIN_ASSERT(type != nullptr);
  const Elements elements{runs, *type, lock};
  if (head.kind == OperationKind::compare_and_swap)
    elements.compare_and_swap(rest, rest + head.bytes, result);
  else
    elements.combine(op_of(head.operation), head.given ? rest : nullptr, result);
}

void control_arrived(const protocol::Control& control) noexcept {
  reinterpret_cast<Window*>(control.a)->incoming.announced(int(control.c), std::size_t(control.b));
}

}  // namespace

void hear_requests(protocol::Messaging& messaging) noexcept {
  messaging.set_handler(protocol::ControlKind::one_sided, control_arrived);
}

Err send(Window& window, const Operation& operation, Request** request) noexcept {
  auto* const waiting = request ? new OperationRequest : nullptr;
  auto* const sent = new Sent(window, operation, waiting);
  if (const Err e = sent->begin(); e != Err::ok) return e;
  ++window.under_way;
  ++window.part(operation.target).under_way;
  window.comm->engine->add(*sent);
  if (request) *request = waiting;
  return Err::ok;
}

void Incoming::announced(int rank, std::size_t bytes) noexcept {
  each_.push_back({.rank = rank, .request = std::vector<std::byte>(bytes), .answer = {}});
  if (is_parked_) return;
  is_parked_ = true;
  window_.comm->engine->add(*this);
}

/// Whether `one` has come to its end.
bool Incoming::try_advance(One& one) noexcept {
  Comm& comm = *window_.comm;
  Err error = Err::ok;
  if (!one.under_way)
    error = pt2pt::irecv(one.request.data(), std::int64_t(one.request.size()), byte_type(), one.rank,
                         kRequestTag, comm, &one.under_way);
  DUNLIN_ASSERT(error == Err::ok);
  if (!one.under_way->is_complete) return false;
  if (!one.is_answered) {
    forget(one.under_way);
    carry_out(window_, one.request, one.answer);
    one.is_answered = true;
    error = pt2pt::isend(one.answer.data(), std::int64_t(one.answer.size()), byte_type(), one.rank,
                         kAnswerTag, comm, &one.under_way);
    DUNLIN_ASSERT(error == Err::ok);
    if (!one.under_way->is_complete) return false;
  }
  forget(one.under_way);
  return true;
}

/// All receives are posted, but only the first is carried out before it is answered: one origin's are in
/// order.
progress::Pollable::Outcome Incoming::poll() noexcept {
  bool moved = false;
  while (!each_.empty() && try_advance(each_.front())) {
    each_.pop_front();
    moved = true;
  }
  if (!each_.empty()) return moved ? Outcome::advanced : Outcome::idle;
  is_parked_ = false;
  return Outcome::finished;
}

void Incoming::finish() noexcept {
  window_.comm->engine->wait_until(
      [](const void* is_parked) noexcept { return !*static_cast<const bool*>(is_parked); }, &is_parked_,
      [](const void*, WaitReason& reason) noexcept {
        std::snprintf(reason.what, sizeof reason.what, "answers to one-sided operations of others to leave");
      });
}

}  // namespace dunlin::rma
