#include "rma/messages.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/assert.hpp"
#include "datatype/cursor.hpp"
#include "object/error_origin.hpp"
#include "object/status.hpp"
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
struct AnswerHead {
  Err error = Err::ok;
  std::uint32_t reserved = 0;
};

// The windows' own queues end here; their targets hold as much.
constexpr std::size_t kBytesMost = std::size_t{16} << 20;
constexpr std::size_t kBytesOfOne = 1024;  // of an operation, without its messages: its records and requests

const Datatype& byte_type() noexcept { return *from_handle<Datatype>(MPI_BYTE); }

const Op& op_of(op::Operator operation) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(MPI_OP_NULL) + std::uintptr_t(operation);
  return *from_handle<Op>(reinterpret_cast<MPI_Op>(number));
}

void forget_if_any(Request* request) noexcept {
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
  OperationRequest(Window& window, int target) noexcept : window_(&window), target_(target) {
    has_own_status = true;
  }
  Err query(void* status) noexcept override {
    set_empty_status(static_cast<MPI_Status*>(status), false);
    return completion.error;
  }
  /// The window's error handler hears of its error.
  Err reported() noexcept override {
    if (completion.error != Err::ok) set_error_origin(window_.get());
    return Err::ok;
  }
  void explain(WaitReason& reason) const noexcept override {
    window_->explain(reason);
    reason.peer = window_->comm->target_members[target_];
    std::snprintf(reason.what, sizeof reason.what, "a one-sided operation that its target carries out");
  }

 private:
  const Ref<Window> window_;  // the program may free its handle before it looks
  const int target_;
};

/// What the network does.
class NetworkRequest final : public Request {};

/// The request of an operation.
std::vector<std::byte> written(const Operation& operation) {
  Head head{.kind = operation.kind, .bytes = operation.bytes};
  head.is_wanted = operation.is_wanted;
  if (operation.op) head.operation = operation.op->operation();
  if (operation.element) head.element = const_cast<Datatype*>(operation.element)->to_int();
  head.given = operation.is_given ? operation.bytes : 0;
  std::vector<std::byte> request;
  put(request, &head, sizeof head);
  Cursor there(*operation.type, operation.count, reinterpret_cast<void*>(operation.address));
  while (there.position() < operation.bytes) {
    Piece runs[64];
    const std::size_t count = there.pieces(runs, operation.bytes - there.position());
    put(request, runs, count * sizeof(Piece));
    head.runs += count;
  }
  std::memcpy(request.data(), &head, sizeof head);
  if (operation.expected) put(request, operation.expected, operation.bytes);
  if (head.given) {
    const std::size_t at = request.size();
    request.resize(at + operation.bytes);
    Cursor(operation.given).pack(&request[at], operation.bytes);
  }
  return request;
}

/// Whether all these bytes of this process belong to the window.
bool has(const Window& window, const Piece& run) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(run.address);
  const int me = window.comm->rank;
  if (window.is_dynamic()) return window.part(me).attached->find(address, run.bytes).bytes > 0;
  const std::uint64_t offset = address - window.part(me).address;
  return offset <= window.part(me).bytes && run.bytes <= window.part(me).bytes - offset;
}

/// A message of the window's own communicator; nothing in it can be wrong.
Request* send_bytes(Comm& comm, const std::vector<std::byte>& bytes, int rank, int tag) noexcept {
  Request* request = nullptr;
  const Err error =
      pt2pt::isend(bytes.data(), std::int64_t(bytes.size()), byte_type(), rank, tag, comm, &request);
  DUNLIN_ASSERT(error == Err::ok);
  return request;
}
Request* receive_bytes(Comm& comm, std::vector<std::byte>& bytes, int rank, int tag) noexcept {
  Request* request = nullptr;
  const Err error =
      pt2pt::irecv(bytes.data(), std::int64_t(bytes.size()), byte_type(), rank, tag, comm, &request);
  DUNLIN_ASSERT(error == Err::ok);
  return request;
}

Head head_of(std::span<const std::byte> request) noexcept {
  Head head;
  std::memcpy(&head, request.data(), sizeof head);
  return head;
}

/// Carries out one request in this process's memory.
void carry_out(Window& window, std::span<const std::byte> request, std::vector<std::byte>& answer) {
  const Head head = head_of(request);
  std::vector<Piece> runs(head.runs);
  std::memcpy(runs.data(), &request[sizeof head], head.runs * sizeof(Piece));
  const std::byte* rest = request.data() + sizeof head + head.runs * sizeof(Piece);
  const bool has_answer = head.is_wanted;
  answer.assign(sizeof(AnswerHead) + (has_answer ? head.bytes : 0), {});
  for (const Piece& run : runs)
    if (!has(window, run)) {
      const AnswerHead refusal{Err::rma_range};
      std::memcpy(answer.data(), &refusal, sizeof refusal);
      return;
    }
  std::byte* const result = has_answer ? &answer[sizeof(AnswerHead)] : nullptr;
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
  const int me = window.comm->rank;
  const Elements elements{runs, *type, window.own_block().elements, window.part(me).address};
  if (head.kind == OperationKind::compare_and_swap)
    elements.compare_and_swap(rest, rest + head.bytes, result);
  else
    elements.combine(op_of(head.operation), head.given ? rest : nullptr, result);
}

bool is_lock(OperationKind kind) noexcept {
  return kind == OperationKind::lock_shared || kind == OperationKind::lock_exclusive;
}

/// Tells the calling thread from others.
const void* this_thread() noexcept {
  static thread_local char own;
  return &own;
}

void control_arrived(const protocol::Control& control) noexcept {
  reinterpret_cast<Window*>(control.a)->incoming.announced(int(control.c), std::size_t(control.b));
}

}  // namespace

void hear_requests(protocol::Messaging& messaging) noexcept {
  messaging.set_handler(protocol::ControlKind::one_sided, control_arrived);
}

/// Whoever waits here carries out what others want, as in any wait, so that two that are ahead of each other
/// go on.
void Outgoing::await_room(int rank, std::size_t bytes) noexcept {
  struct Awaited {
    const Outgoing& outgoing;
    const int rank;
    const std::size_t bytes;
    bool has_room() const noexcept { return outgoing.bytes_ == 0 || outgoing.bytes_ + bytes <= kBytesMost; }
  } const awaited{*this, rank, bytes};
  if (awaited.has_room()) return;
  window_.comm->engine->wait_until(
      [](const void* a) noexcept { return static_cast<const Awaited*>(a)->has_room(); }, &awaited,
      [](const void* a, WaitReason& reason) noexcept {
        const auto& [outgoing, rank, bytes] = *static_cast<const Awaited*>(a);
        outgoing.window_.explain(reason);
        reason.peer = outgoing.window_.comm->target_members[rank];
        std::snprintf(reason.what, sizeof reason.what, "room for one more one-sided operation");
      });
}

/// The last one of its target; there must be room.
Outgoing::One& Outgoing::begin(int rank, std::size_t bytes, Request** request) noexcept {
  One& one = each_[rank].emplace_back();
  one.bytes = bytes;
  bytes_ += bytes;
  if (request) *request = one.waiting = new OperationRequest(window_, rank);
  Part& part = window_.part(rank);
  ++window_.under_way;
  ++part.under_way;
  window_.gather_facts(part);
  window_.gather_facts();
  return one;
}

void Outgoing::park() noexcept {
  if (is_parked_) return;
  is_parked_ = true;
  window_.comm->engine->add(*this);
}

bool Outgoing::try_move(const Operation& operation, Request** request) noexcept {
  const int rank = operation.target;
  const bool is_put = operation.kind == OperationKind::put;
  if (!is_put && operation.kind != OperationKind::get) return false;
  if (window_.networks.empty() || !window_.networks[std::size_t(rank)]) return false;
  const bool has_gaps = !operation.type->is_contiguous() ||
                        !(is_put ? operation.given.is_contiguous() : operation.wanted.is_contiguous());
  // What is sent queues behind the request for a lock.
  if (has_gaps || awaits_lock(rank)) return false;
  Comm& comm = *window_.comm;
  transport::RemoteAccess* const network = comm.messaging->peers.of(comm.target_members[rank]).remote;
  if (!network || !may_use(*network)) return false;
  transport::RemoteBuffer there = *window_.networks[std::size_t(rank)];
  there.address += operation.address - window_.part(rank).address;
  await_room(rank, kBytesOfOne);
  auto* const moved = new NetworkRequest;
  const auto token = reinterpret_cast<std::uint64_t>(static_cast<Request*>(moved));
  if (!(is_put ? network->try_put(operation.given.address, operation.bytes, there, token)
               : network->try_get(operation.wanted.address, operation.bytes, there, token)))
    return moved->release(), false;
  begin(rank, kBytesOfOne, request).out = moved;
  park();
  return true;
}

void Outgoing::send(const Operation& operation, Request** request) noexcept {
  Comm& comm = *window_.comm;
  const Part& part = window_.part(operation.target);
  std::vector<std::byte> message = written(operation);
  const std::size_t answer_bytes = sizeof(AnswerHead) + (operation.is_wanted ? operation.bytes : 0);
  const std::size_t bytes = kBytesOfOne + message.capacity() + answer_bytes;
  await_room(operation.target, bytes);
  One& one = begin(operation.target, bytes, request);
  one.request = std::move(message);
  one.answer.resize(answer_bytes);
  one.is_wanted = operation.is_wanted;
  one.wanted = operation.wanted;
  if (one.wanted.type) one.type = Ref<Datatype>(const_cast<Datatype*>(one.wanted.type));
  one.in = receive_bytes(comm, one.answer, operation.target, kAnswerTag);
  protocol::Peers& peers = comm.messaging->peers;
  protocol::Peer& peer = peers.of(comm.target_members[operation.target]);
  peers.send_control(peer, {.kind = protocol::ControlKind::one_sided,
                            .a = part.cookie,
                            .b = one.request.size(),
                            .c = std::uint64_t(comm.rank)});
  one.out = send_bytes(comm, one.request, operation.target, kRequestTag);
  one.must_ring = !try_ring(operation.target);
  park();
}

void Outgoing::send_alone(int target, OperationKind kind) noexcept {
  Operation operation{.kind = kind, .target = target};
  operation.type = &byte_type();
  send(operation, nullptr);
}

void Outgoing::ask_for_lock(int target, bool is_shared) noexcept {
  locks_.push_back({target, this_thread()});
  ++locks_awaited_;
  send_alone(target, is_shared ? OperationKind::lock_shared : OperationKind::lock_exclusive);
}

void Outgoing::give_lock_back(int target) noexcept { send_alone(target, OperationKind::unlock); }

bool Outgoing::awaits_lock(int target) const noexcept {
  return std::any_of(locks_.begin(), locks_.end(),
                     [&](const AskedLock& each) noexcept { return each.target == target; });
}

int Outgoing::lock_awaited_here() const noexcept {
  for (const AskedLock& each : locks_)
    if (each.thread == this_thread()) return each.target;
  return -1;
}

/// Has the target's helper thread look, where it is on this node.  False: not all has left yet that it is to
/// see.
bool Outgoing::try_ring(int rank) noexcept {
  Comm& comm = *window_.comm;
  protocol::Peers& peers = comm.messaging->peers;
  protocol::Peer& peer = peers.of(comm.target_members[rank]);
  if (!peer.shm) return true;
  peers.shared_memory()->bell(peer.index).ring();
  return !peer.has_pending();
}

Err Outgoing::take_answer(int rank, const One& one) noexcept {
  if (is_lock(head_of(one.request).kind)) {
    std::erase_if(locks_, [&](const AskedLock& each) noexcept { return each.target == rank; });
    --locks_awaited_;
  }
  AnswerHead answer;
  std::memcpy(&answer, one.answer.data(), sizeof answer);
  if (answer.error != Err::ok)
    return fail(answer.error,
                "rank %d has not attached, or has detached, memory that an operation was to use", rank);
  if (one.is_wanted)
    Cursor(one.wanted).unpack(&one.answer[sizeof answer], one.answer.size() - sizeof answer);
  return Err::ok;
}

void Outgoing::end(int rank, One& one) noexcept {
  const Err error = one.in ? take_answer(rank, one) : one.out->completion.error;
  if (error != Err::ok && one.waiting)
    one.waiting->completion.error = error;
  else if (error != Err::ok && window_.first_error == Err::ok)
    window_.first_error = error;
  forget_if_any(one.out);
  forget_if_any(one.in);
  bytes_ -= one.bytes;
  --window_.under_way;
  --window_.part(rank).under_way;
  ++window_.part(rank).come_back;
  window_.gather_facts(window_.part(rank));
  window_.gather_facts();
  if (one.waiting) one.waiting->finish();
}

progress::Pollable::Outcome Outgoing::poll() noexcept {
  bool has_moved = false;
  for (auto target = each_.begin(); target != each_.end();) {
    std::deque<One>& queue = target->second;
    while (!queue.empty() && queue.front().out->is_complete &&
           (!queue.front().in || queue.front().in->is_complete)) {
      One one = std::move(queue.front());
      queue.pop_front();
      end(target->first, one);
      has_moved = true;
    }
    if (!queue.empty() && queue.back().must_ring) queue.back().must_ring = !try_ring(target->first);
    target = queue.empty() ? each_.erase(target) : std::next(target);
  }
  if (!each_.empty()) return has_moved ? Outcome::advanced : Outcome::idle;
  is_parked_ = false;
  return Outcome::finished;
}

void Incoming::announced(int rank, std::size_t bytes) noexcept {
  each_[rank].push_back({.request = std::vector<std::byte>(bytes)});
  window_.comm->engine->expect_help(1);
  if (is_parked_) return;
  is_parked_ = true;
  window_.comm->engine->add(*this);
}

/// Whether `one`, the first of its origin, is done.
bool Incoming::try_carry_out(int rank, One& one) noexcept {
  Comm& comm = *window_.comm;
  if (!one.has_come) {
    if (!one.in) one.in = receive_bytes(comm, one.request, rank, kRequestTag);
    if (!one.in->is_complete) return false;
    forget_if_any(one.in);
    one.has_come = true;
  }
  const OperationKind kind = head_of(one.request).kind;
  if (is_lock(kind) && !try_let_in(rank, kind == OperationKind::lock_shared)) return false;
  if (kind == OperationKind::unlock) let_out(rank);
  Answer& answer = answers_[rank].emplace_back();
  if (is_lock(kind) || kind == OperationKind::unlock)
    answer.bytes.resize(sizeof(AnswerHead));
  else
    carry_out(window_, one.request, answer.bytes);
  answer.out = send_bytes(comm, answer.bytes, rank, kAnswerTag);
  comm.engine->expect_help(-1);
  return true;
}

/// Whether the origin has our lock now.  Those that wait do so in order of arrival, and only the first of
/// them in the lock itself, which then knows of one a process; whoever lets it in wakes this process.  Where
/// nobody goes on to poll it steps aside at once, and takes the lock also where others wait: its turn may
/// never meet a poll.
bool Incoming::try_let_in(int rank, bool is_shared) noexcept {
  FairLock& lock = window_.own_block().lock;
  Guest& guest = guests_[rank];
  if (!guest.is_waiting) {
    guest.is_shared = is_shared;
    if (lock.try_enter(is_shared, rank)) return true;
    guest.is_waiting = true;
    waiting_.push_back(rank);
  }
  if (waiting_.front() != rank) return false;
  if (is_aside_) step_back();
  if (!ticket_) {
    ticket_ = lock.draw();
    lock.announce(*ticket_, window_.comm->rank);
  }
  const auto wake = [this](int each) noexcept { window_.wake(each); };
  bool has_entered = lock.try_enter_in_turn(*ticket_, is_shared, rank, wake);
  if (has_entered) {
    ticket_.reset();
  } else if (!window_.comm->engine->is_attended()) {
    has_entered = lock.try_enter(is_shared, rank);
    step_aside();  // a ticket that was not needed is the next one's
  }
  if (!has_entered) return false;
  guest.is_waiting = false;
  waiting_.pop_front();
  return true;
}

void Incoming::let_out(int rank) noexcept {
  window_.own_block().lock.leave(guests_[rank].is_shared, [this](int each) noexcept { window_.wake(each); });
}

void Incoming::step_aside() noexcept {
  window_.own_block().lock.step_aside(*ticket_, [this](int each) noexcept { window_.wake(each); });
  is_aside_ = true;
}

void Incoming::step_back() noexcept {
  if (!window_.own_block().lock.step_back(*ticket_)) ticket_.reset();
  is_aside_ = false;
}

void Incoming::left_alone() noexcept {
  if (ticket_ && !is_aside_) step_aside();
}

/// To one origin: those that have left.
bool Incoming::try_forget_answers(std::deque<Answer>& answers) noexcept {
  bool has_moved = false;
  for (; !answers.empty() && answers.front().out->is_complete; has_moved = true) {
    forget_if_any(answers.front().out);
    answers.pop_front();
  }
  return has_moved;
}

progress::Pollable::Outcome Incoming::poll() noexcept {
  bool has_moved = false;
  for (auto origin = each_.begin(); origin != each_.end();) {
    std::deque<One>& queue = origin->second;
    while (!queue.empty() && try_carry_out(origin->first, queue.front())) {
      queue.pop_front();
      has_moved = true;
    }
    origin = queue.empty() ? each_.erase(origin) : std::next(origin);
  }
  for (auto origin = answers_.begin(); origin != answers_.end();) {
    has_moved |= try_forget_answers(origin->second);
    origin = origin->second.empty() ? answers_.erase(origin) : std::next(origin);
  }
  if (!each_.empty() || !answers_.empty()) return has_moved ? Outcome::advanced : Outcome::idle;
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
