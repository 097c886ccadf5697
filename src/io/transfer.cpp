#include "io/transfer.hpp"

#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

#include "base/assert.hpp"
#include "base/variable.hpp"
#include "coll/agree.hpp"
#include "datatype/signature.hpp"
#include "io/collective.hpp"
#include "io/functions.hpp"
#include "io/read_queue.hpp"
#include "object/error_origin.hpp"
#include "object/status.hpp"
#include "progress/engine.hpp"
#include "progress/helper.hpp"
#include "protocol/messaging.hpp"
#include "transport/shm/transport.hpp"

namespace dunlin::io {
namespace {

IntVariable background_bytes{"FILE_BACKGROUND_BYTES", 64 << 10, "bytes",
                             "nonblocking accesses to files from this length on are done by a thread", 0};

/// One call on its way: its checks, its place in the file, and the conversion of its data.
class Transfer {
 public:
  Transfer(OpenFile& file, const Call& call) noexcept
      : file_(&file),
        type_(call.type),
        representation_(file.view.representation),
        access_{call.direction, {},   file.view.tiling, 0, file.is_atomic, file.view.filled_from,
                file.comm->size} {}
  Err prepare(const Call& call) noexcept;
  /// Names the view's filetype, and the program's type and buffer.
  const Access& access() const noexcept { return access_; }
  OpenFile& file() const noexcept { return *file_; }
  /// `finish` may do so.
  bool calls_program() const noexcept { return representation_->calls_program(); }
  /// What the program hears of it.
  Err finish(const Outcome& outcome, Completion& completion) noexcept;

 private:
  Err check(const OpenFile& file, const Call& call) const noexcept;
  Err find_length(const View& view, const Call& call) noexcept;
  Err find_place(OpenFile& file, const Call& call) noexcept;
  Err find_place_in_order(OpenFile& file) noexcept;
  Err convert_for_file(const View& view, const Call& call) noexcept;

  OpenFile* const file_;
  const Datatype* const type_;
  const Representation* const representation_;
  coll::Block program_;             // the program's buffer
  std::int64_t element_bytes_ = 0;  // of an element of its type, in the file
  std::int64_t etypes_ = 0;         // the length of the access
  std::unique_ptr<std::byte[]> converted_;
  Access access_;
};

Err Transfer::check(const OpenFile& file, const Call& call) const noexcept {
  if (call.count == kRefused) return Err::arg;
  if (call.direction == Direction::read && !file.can_read())
    return fail(Err::access, "\"%s\" was opened with MPI_MODE_WRONLY, so it cannot be read",
                file.name.c_str());
  if (call.direction == Direction::write && !file.can_write())
    return fail(Err::read_only, "\"%s\" was opened with MPI_MODE_RDONLY, so it cannot be written",
                file.name.c_str());
  if (file.is_sequential() && call.pointer != Pointer::shared)
    return fail(Err::unsupported_operation,
                "\"%s\" was opened with MPI_MODE_SEQUENTIAL: only the shared pointer may be used",
                file.name.c_str());
  if (call.pointer == Pointer::none && call.offset < 0)
    return fail(Err::arg, "argument offset is %lld; it must not be negative", (long long)call.offset);
  return Err::ok;
}

Err Transfer::find_length(const View& view, const Call& call) noexcept {
  if (const Err e = view.representation->size_in_file(*call.type, &element_bytes_); e != Err::ok) return e;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(call.count, element_bytes_, &bytes))
    return fail(Err::arg, "%lld elements of %lld bytes are more than 2^63 bytes", (long long)call.count,
                (long long)element_bytes_);
  if (bytes == 0) return Err::ok;
  if (view.tiling.is_empty()) return fail(Err::type, "the filetype of the view has no data");
  if (bytes % view.etype_bytes != 0)
    return fail(Err::io, "%lld bytes are no whole number of etypes of %lld bytes", (long long)bytes,
                (long long)view.etype_bytes);
  etypes_ = bytes / view.etype_bytes;
  return Err::ok;
}

/// Moves the pointer by the length of the access, whatever comes of it (MPI 5.0, 14.4.1), unless no file is
/// so long.
Err Transfer::find_place(OpenFile& file, const Call& call) noexcept {
  if (call.way == Way::ordered) return find_place_in_order(file);
  if (call.pointer == Pointer::none) return file.view.find_position(call.offset, etypes_, &access_.position);
  if (call.pointer == Pointer::individual) {
    const Err error = file.view.find_position(file.pointer, etypes_, &access_.position);
    if (error == Err::ok) file.pointer += etypes_;
    return error;
  }
  std::int64_t offset = 0;
  if (const Err e = add_to_shared_pointer(file, etypes_, &offset); e != Err::ok) return e;
  const Err error = file.view.find_position(offset, etypes_, &access_.position);
  if (error != Err::ok) (void)add_to_shared_pointer(file, -etypes_, &offset);
  return error;
}

/// Behind the ranks before.
Err Transfer::find_place_in_order(OpenFile& file) noexcept {
  Comm& comm = *file.comm;
  const std::vector<std::int64_t> lengths = coll::gather_all(comm, etypes_);
  std::int64_t before = 0, all = 0, offset = 0;
  for (int rank = 0; rank < comm.size; ++rank) {
    if (rank == comm.rank) before = all;
    if (__builtin_add_overflow(all, lengths[std::size_t(rank)], &all))
      return fail(Err::arg, "the ranks access more than 2^63 bytes");
  }
  Err error = Err::ok;
  if (comm.rank == 0) error = add_to_shared_pointer(file, all, &offset);
  const Datatype& byte = *from_handle<Datatype>(MPI_BYTE);
  if (const Err e = coll::bcast(&offset, sizeof offset, byte, 0, comm); e != Err::ok) return e;
  if (error != Err::ok) return error;
  // The view is the same on all ranks, and so is the error.
  error = file.view.find_position(offset, all, &access_.position);
  if (error == Err::ok) return file.view.find_position(offset + before, etypes_, &access_.position);
  if (comm.rank == 0) (void)add_to_shared_pointer(file, -all, &offset);
  return error;
}

Err Transfer::convert_for_file(const View& view, const Call& call) noexcept {
  if (representation_->is_native()) return Err::ok;
  const std::int64_t bytes = call.count * element_bytes_;
  converted_.reset(new (std::nothrow) std::byte[std::size_t(bytes)]);
  if (!converted_) return fail(Err::no_mem, "no memory for %lld bytes to convert", (long long)bytes);
  access_.memory = coll::Block::of_bytes(converted_.get(), std::size_t(bytes));
  if (call.direction == Direction::read) return Err::ok;
  return view.representation->write(call.buffer, call.count, *call.type, converted_.get());
}

Err Transfer::prepare(const Call& call) noexcept {
  OpenFile& file = *file_;
  const View& view = file.view;
  Err error = check(file, call);
  if (error == Err::ok) error = find_length(view, call);
  if (error == Err::ok) {
    program_ = access_.memory = {static_cast<std::byte*>(call.buffer), call.count, call.type};
    error = convert_for_file(view, call);
  }
  if (error != Err::ok) {
    etypes_ = 0;  // the others of a collective call need not wait for ever
    access_.memory = {};
    if (call.way != Way::ordered) return error;
  }
  if (call.direction == Direction::write && etypes_ > 0) file.has_written = true;
  const Err place = find_place(file, call);
  if (place != Err::ok) access_.memory = {};
  return error != Err::ok ? error : place;
}

Err Transfer::finish(const Outcome& outcome, Completion& completion) noexcept {
  completion.bytes = std::uint64_t(outcome.bytes);
  if (!representation_->is_native() && outcome.bytes > 0) {
    Length moved;
    const Length limit{INT64_MAX, outcome.bytes};
    if (const Err e = representation_->find_length(*type_, limit, &moved); e != Err::ok) return e;
    completion.bytes = std::uint64_t(datatype::bytes_of_elements(type_->signature(), moved.elements));
    if (access_.direction == Direction::read)
      if (const Err e = representation_->read(program_.at, moved.elements, *type_, converted_.get());
          e != Err::ok)
        return e;
  }
  if (outcome.reason == 0) return Err::ok;
  const bool is_read = access_.direction == Direction::read;
  return file_->error(outcome.reason, is_read ? "could not read" : "could not write", outcome.offset);
}

/// A nonblocking access.
class FileRequest final : public Request, public progress::Pollable {
 public:
  FileRequest(OpenFile& file, const Call& call) noexcept
      : file_(&file),
        type_(const_cast<Datatype*>(call.type)),
        filetype_(file.view.filetype_in_file),
        transfer_(file, call),
        is_together_(call.way != Way::independent && file.may_go_together) {
    hold(*file.comm);
    has_own_status = true;  // and an own error handler
  }
  /// An error is this rank's alone: the others of a collective access still wait for its part.
  Err prepare(const Call& call) noexcept { return transfer_.prepare(call); }
  Err run() noexcept {
    OpenFile& file = transfer_.file();
    ++file.under_way;
    if (is_together_) return run_together(file);
    job_.work = [](void* self) noexcept { static_cast<FileRequest*>(self)->move(); };
    job_.announce = [](void* self) noexcept { static_cast<FileRequest*>(self)->announce(); };
    job_.argument = this;
    job_.sleeper = comm->messaging->peers.shared_memory();
    if (std::int64_t(transfer_.access().memory.bytes()) < background_bytes.get()) {
      move();
      end();
      return Err::ok;
    }
    comm->engine->add(*this);
    outcome_.bytes = std::int64_t(transfer_.access().memory.bytes());  // unless `move` finds another
    if (!file.storage.try_queue(transfer_.access(), job_)) hand_over(job_);
    return Err::ok;
  }
  Pollable::Outcome poll() noexcept override {
    // W2 (pairs with W1)
    const bool is_done = together_ ? together_->is_complete : job_.done.load(std::memory_order_acquire) == 1;
    if (!is_done) return Pollable::Outcome::idle;
    // It calls no function of the program's (progress/helper.hpp): one of its threads comes.
    if (transfer_.calls_program() && progress::Helper::is_this_thread()) return Pollable::Outcome::idle;
    end();
    return Pollable::Outcome::finished;
  }
  Err query(void* status) noexcept override {
    set_status(status, completion);
    return completion.error;
  }
  Err reported() noexcept override {
    if (completion.error != Err::ok) set_error_origin(&transfer_.file());
    return Err::ok;
  }
  void explain(WaitReason& reason) const noexcept override {
    if (together_) return together_->explain(reason);
    std::snprintf(reason.what, sizeof reason.what, "an access to the file \"%.60s\"",
                  transfer_.file().name.c_str());
  }

 private:
  ~FileRequest() override = default;
  void announce() noexcept { transfer_.file().storage.announce(transfer_.access()); }
  void move() noexcept { outcome_ = transfer_.file().storage.move(transfer_.access()); }
  /// The other ranks are not to wait for this one's next call: the library's thread goes on where there is a
  /// core for it.
  Err run_together(OpenFile& file) noexcept {
    Request* request = nullptr;
    if (const Err e = begin_together(file, transfer_.access(), &outcome_, &request); e != Err::ok) {
      --file.under_way;
      return e;
    }
    together_ = Ref<Request>::adopt(request);
    if (poll() == Pollable::Outcome::finished) return Err::ok;
    comm->engine->add(*this);
    progress::Helper::want(*comm->engine, progress::Helper::For::others);
    return Err::ok;
  }
  void end() noexcept {
    if (together_ && together_->completion.error != Err::ok)
      completion.error = together_->completion.error;
    else
      completion.error = transfer_.finish(outcome_, completion);
    --transfer_.file().under_way;
    finish();  // may be the end of this object
  }
  const Ref<OpenFile> file_;  // as long as `transfer_` names them
  const Ref<Datatype> type_, filetype_;
  Transfer transfer_;
  io::Outcome outcome_;
  Read job_;               // where this rank goes alone
  Ref<Request> together_;  // else
  const bool is_together_;
};

/// Another thread may set the file's view meanwhile.
Err wait_for_all(OpenFile& file, const Transfer& transfer, Outcome* outcome) noexcept {
  const Ref<Datatype> filetype = file.view.filetype_in_file;
  return move_together(file, transfer.access(), outcome);
}

}  // namespace

Err do_now(OpenFile& file, const Call& call, MPI_Status* status) noexcept {
  Transfer transfer(file, call);
  const Err error = transfer.prepare(call);
  const bool is_together = call.way != Way::independent && file.may_go_together;
  if (!is_together && error != Err::ok) return error;
  Outcome outcome;
  if (!is_together)
    outcome = file.storage.move(transfer.access());
  else if (const Err e = wait_for_all(file, transfer, &outcome); e != Err::ok)
    return e;
  if (error != Err::ok) return error;
  Completion completion;
  const Err end = transfer.finish(outcome, completion);
  set_status(status, completion);
  return end;
}

Err begin(OpenFile& file, const Call& call, Request** request) noexcept {
  auto made = Ref<FileRequest>::adopt(new FileRequest(file, call));
  const Err error = made->prepare(call);
  const bool is_together = call.way != Way::independent && file.may_go_together;
  if (!is_together && error != Err::ok) return error;
  if (const Err e = made->run(); e != Err::ok) return e;
  if (error == Err::ok)
    *request = made.detach();
  else
    made.detach()->let_go();
  return error;
}

Err begin_split(OpenFile& file, const Call& call, const char* name) noexcept {
  if (file.split)
    return fail(Err::other, "%s has not been followed by its end: a file has one split collective at a time",
                file.split_call);
  Request* request = nullptr;
  if (const Err e = begin(file, call, &request); e != Err::ok) return e;
  file.split = Ref<Request>::adopt(request);
  file.split_call = name;
  return Err::ok;
}

Err end_split(OpenFile& file, const char* name, MPI_Status* status) noexcept {
  if (!file.split) return fail(Err::other, "%s was not called before", name);
  if (std::strcmp(file.split_call, name) != 0)
    return fail(Err::other, "the split collective under way was begun by %s", file.split_call);
  const Ref<Request> request = std::move(file.split);
  file.comm->engine->wait(*request);
  set_status(status, request->completion);
  return request->completion.error;
}

}  // namespace dunlin::io
