// Messages and resumption of a running collective; see run.hpp.
#include "coll/run.hpp"

#include <cstdio>
#include <cstring>

#include "base/big_lock.hpp"
#include "os/cpu.hpp"
#include "progress/engine.hpp"
#include "pt2pt/functions.hpp"

namespace dunlin::coll {

using protocol::Mode;
using protocol::ReceiveRequest;
using protocol::SendRequest;

template <class T>
Run::Operation<T>* Run::make(Operation<T>*& unused) noexcept {
  void* memory = unused;
  if (unused)
    unused = unused->next;
  else
    memory = arena.take(sizeof(Operation<T>));
  if (!memory) {
    set_error(Err::no_mem);
    return nullptr;
  }
  return ::new (memory) Operation<T>;
}

void Run::post_send(Comm& comm, Plane plane, const Source& data, int to, int tag) noexcept {
  DUNLIN_ASSERT(to >= 0 && to < comm.target_size);
  if (error != Err::ok) return;
  if (comm.messaging->try_send_now(comm, plane, data, to, tag)) [[likely]]
    return;
  Send* send = make(unused_sends_);
  if (!send) return;
  send->request.comm = &comm;
  send->next = sends_;
  sends_ = send;
  comm.messaging->send(send->request, comm, plane, data, to, tag, Mode::standard);
}

void Run::post_receive(Comm& comm, Plane plane, const Target& data, int from, int tag) noexcept {
  DUNLIN_ASSERT(from >= 0 && from < comm.target_size);
  if (error != Err::ok) return;
  if (is_blocking && !is_deferred_ && !receives_) {
    is_deferred_ = true;
    deferred_ = {&comm, plane, data, from, tag};
    return;
  }
  if (is_deferred_) start_deferred();
  start_receive(comm, plane, data, from, tag);
}

void Run::start_receive(Comm& comm, Plane plane, const Target& data, int from, int tag) noexcept {
  Receive* receive = make(unused_receives_);
  if (!receive) return;
  receive->request.comm = &comm;
  receive->next = receives_;
  receives_ = receive;
  comm.messaging->receive(receive->request, comm, plane, data, from, tag);
}

void Run::start_deferred() noexcept {
  DUNLIN_ASSERT(is_deferred_ && is_blocking);
  is_deferred_ = false;
  start_receive(*deferred_.comm, deferred_.plane, deferred_.data, deferred_.from, deferred_.tag);
}

void Run::finish_deferred() noexcept {
  const auto& [comm, plane, data, from, tag] = deferred_;
  if (error != Err::ok) {
    is_deferred_ = false;
    return;
  }
  if (sends_) return start_deferred();
  is_deferred_ = false;
  Completion completion;
  const Err received = pt2pt::receive(*comm, plane, data, from, tag, completion);
  if (received == Err::truncate) [[unlikely]]
    note_wrong_length(received);
  else if (received == Err::ok && completion.bytes != data.bytes) [[unlikely]]
    note_wrong_length(
        protocol::wrong_length(*comm, comm->context_of(plane), completion, completion.bytes, data.bytes));
  else
    set_error(received);
}

void Run::note_wrong_length(Err detected) noexcept {
  DUNLIN_ASSERT(detected != Err::ok);
  if (wrong_length_ != Err::ok) return;
  wrong_length_ = detected;
  const char* const text = error_detail(detected);
  const std::size_t bytes = std::strlen(text) + 1;
  auto* const kept = static_cast<char*>(arena.take(bytes));
  wrong_length_text_ = kept ? static_cast<const char*>(std::memcpy(kept, text, bytes)) : "";
}

void Run::end(const SendRequest& send) noexcept { set_error(send.completion.error); }

/// What a rank receives in a collective is as long as it expects, or the ranks disagree.
void Run::end(const ReceiveRequest& receive) noexcept {
  const Completion& completion = receive.completion;
  const bool is_short = completion.error == Err::ok && completion.bytes != receive.data.bytes;
  if (!is_short && completion.error != Err::truncate) [[likely]]
    return set_error(completion.error);
  const std::uint64_t sent = is_short ? completion.bytes : receive.refused;
  note_wrong_length(
      protocol::wrong_length(*receive.comm, receive.key.context, completion, sent, receive.data.bytes));
}

template <class T>
void Run::sweep(Operation<T>*& list, Operation<T>*& unused) noexcept {
  for (Operation<T>** link = &list; *link;) {
    Operation<T>* each = *link;
    if (!each->request.is_complete) {
      link = &each->next;
      continue;
    }
    if (!each->request.completion.is_cancelled) end(each->request);
    *link = each->next;
    DUNLIN_ASSERT(!each->request.is_let_go);
    each->request.~T();
    each->next = unused;
    unused = each;
  }
}

bool Run::sweep() noexcept {
  sweep(sends_, unused_sends_);
  sweep(receives_, unused_receives_);
  return !sends_ && !receives_;
}

bool Run::is_step_ready() noexcept {
  if (is_blocking) {
    wait();
  } else {
    if (!flags_.is_empty()) os::pause();  // as in `wait_for_flags`: a look that is too early costs more
    if (!is_quiet()) return false;
  }
  return error == Err::ok;
}

void Run::wait() noexcept {
  DUNLIN_ASSERT(is_blocking);
  if (is_deferred_) finish_deferred();
  if (!flags_.is_empty()) wait_for_flags();
  while (!is_quiet()) {
    if (error != Err::ok && !is_cancelled_) cancel_all();
    // Receives first: their source is the rank to look at; sends finish by the way.
    const Request& awaited = receives_ ? static_cast<Request&>(receives_->request) : sends_->request;
    engine.wait(awaited);
    DUNLIN_ASSERT(awaited.is_complete);
  }
}

void Run::explain(WaitReason& reason) const noexcept {
  for (const Receive* each = receives_; each; each = each->next)
    if (!each->request.is_complete) return each->request.explain(reason);
  for (const Send* each = sends_; each; each = each->next)
    if (!each->request.is_complete) return each->request.explain(reason);
  if (flags_.is_empty()) return;
  const int member = flags_members_ ? flags_members_[flags_.member()] : flags_.member();
  if (member == flags_comm_->rank) {  // a place in shared memory, which an earlier one of ours still has
    std::snprintf(reason.what, sizeof reason.what, "an earlier nonblocking collective of this rank");
    std::snprintf(reason.hint, sizeof reason.hint, "its earlier nonblocking collectives must end first");
    return flags_comm_->explain(reason);
  }
  std::snprintf(reason.what, sizeof reason.what, "its part in a collective");
  reason.peer = flags_comm_->target_members[member];
  reason.number = (flags_tag_ & ~kPersistent) + 1;
  reason.context = flags_comm_->context;
  flags_comm_->explain(reason);
}

/// Flags of ranks that run at this moment go up within a poll or a few.  Not before a pause: ranks that come
/// together have each just written their line, and who looks before its writer's cache has it makes it be
/// fetched twice.  Where ranks share CPUs, each time that this one gives its CPU away lets one of them
/// arrive; a round of the engine in between would take a third of a switch from each.
void Run::wait_for_flags() noexcept {
  const bool gives_way = engine.is_oversubscribed() && !BigLock::is_needed();
  for (int polls = gives_way ? flags_.count() : engine.polls_direct(); polls > 0; --polls) {
    os::pause();
    if (flags_.are_up()) return engine.end_direct();  // a root that stays ahead keeps nobody else waiting
    if (gives_way) engine.give_way();
  }
  engine.wait_until(
      [](const void* run) noexcept {
        return const_cast<Run*>(static_cast<const Run*>(run))->flags_.are_up();
      },
      this,
      [](const void* run, WaitReason& reason) noexcept { static_cast<const Run*>(run)->explain(reason); });
}

/// After an error nobody may count on the partners any more: takes back what no partner has matched yet.
void Run::cancel_all() noexcept {
  is_cancelled_ = true;
  for (Send* each = sends_; each; each = each->next)
    if (!each->request.is_complete) (void)each->request.cancel();
  for (Receive* each = receives_; each; each = each->next)
    if (!each->request.is_complete) (void)each->request.cancel();
}

Run::Progress Run::advance() noexcept {
  DUNLIN_ASSERT(!is_blocking);
  bool has_moved = false;
  while (error == Err::ok && leaf) {
    if (!is_quiet()) {
      if (error != Err::ok) break;
      return has_moved ? Progress::advanced : Progress::idle;
    }
    if (error != Err::ok) break;
    has_moved = true;
    const std::coroutine_handle<> task = leaf;
    leaf = nullptr;
    task.resume();
  }
  if (error != Err::ok && !is_quiet()) {
    if (!is_cancelled_) cancel_all();
    if (!is_quiet()) return Progress::idle;
  }
  (void)conclude();
  return Progress::ended;
}

void Run::destroy_frames() noexcept {
  for (Frame* each = newest; each;) {
    const std::coroutine_handle<> handle = each->handle;
    each = each->older;
    if (!handle.done()) handle.destroy();  // one that is done holds only what needs no destructor
  }
  newest = nullptr;
  leaf = nullptr;
  flags_ = {};
}

}  // namespace dunlin::coll
