// Buffered sends (MPI 5.0, 3.4 and 3.6): the message is copied into memory the program attached, and sent
// from there.
//
// A message that the transport takes at once needs no copy.  Buffers: of the communicator, else of its
// session, else of the process; memory of the program, or MPI_BUFFER_AUTOMATIC, which takes from the heap
// what it needs.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "datatype/cursor.hpp"
#include "pt2pt/internal.hpp"

namespace dunlin::pt2pt {

namespace {

/// MPI_Buffer_iflush: complete when the messages that were in the buffer when it started have left.
class FlushRequest final : public Request {
 public:
  explicit FlushRequest(std::uint64_t last) noexcept : last(last) { has_empty_status = true; }
  const std::uint64_t last;  // sequence of the newest message that it waits for
  FlushRequest* next = nullptr;
};

}  // namespace

/// Attached memory, first fit.  Blocks are few and short-lived, so a sorted list serves; O(blocks) per
/// message.
class BufferPool {
 public:
  BufferPool(void* memory, std::int64_t bytes) noexcept
      : memory_(static_cast<std::byte*>(memory)), bytes_(memory == MPI_BUFFER_AUTOMATIC ? 0 : bytes) {}

  bool is_automatic() const noexcept { return memory_ == MPI_BUFFER_AUTOMATIC; }
  void* memory() const noexcept { return memory_; }
  std::int64_t bytes() const noexcept { return bytes_; }
  bool is_empty() const noexcept { return used_.empty(); }
  /// Must not be empty.
  Request& start_flush() noexcept {
    DUNLIN_ASSERT(!is_empty());
    auto* const flush = new FlushRequest(newest_);
    flush->next = flushes_;
    flushes_ = flush;
    return *flush;
  }

  std::byte* take(std::int64_t bytes) noexcept {
    if (is_automatic()) {
      auto* at = static_cast<std::byte*>(std::malloc(std::size_t(bytes) + 1));
      if (at) used_.push_back({at, bytes, ++newest_});
      return at;
    }
    std::byte* at = memory_;
    auto place = used_.begin();
    for (; place != used_.end() && place->at - at < bytes; ++place) at = place->at + place->bytes;
    if (memory_ + bytes_ - at < bytes) return nullptr;
    used_.insert(place, {at, std::max<std::int64_t>(bytes, 1), ++newest_});
    return at;
  }

  void give_back(const std::byte* at) noexcept {
    const auto block = std::find_if(used_.begin(), used_.end(), [&](const Block& b) { return b.at == at; });
    DUNLIN_ASSERT(block != used_.end());
    if (is_automatic()) std::free(block->at);
    used_.erase(block);
    if (flushes_) finish_flushes();
  }

 private:
  struct Block {
    std::byte* at;
    std::int64_t bytes;
    std::uint64_t sequence;
  };
  /// Whether every message up to `sequence` has left.
  bool has_sent(std::uint64_t sequence) const noexcept {
    return std::all_of(used_.begin(), used_.end(), [&](const Block& b) { return b.sequence > sequence; });
  }
  void finish_flushes() noexcept {
    for (FlushRequest** link = &flushes_; *link;) {
      FlushRequest* const each = *link;
      if (!has_sent(each->last)) {
        link = &each->next;
        continue;
      }
      *link = each->next;
      each->finish();  // may be its end
    }
    DUNLIN_ASSERT(!is_empty() || !flushes_);  // an empty pool may go
  }

  std::byte* const memory_;
  const std::int64_t bytes_;
  std::vector<Block> used_;  // by address, unless automatic
  std::uint64_t newest_ = 0;
  FlushRequest* flushes_ = nullptr;  // under way
};

namespace {

BufferPool* process_pool = nullptr;

class BufferedSend final : public protocol::SendRequest {
 public:
  BufferedSend(BufferPool& pool, std::byte* copy) noexcept : pool_(pool), copy_(copy) {}

 private:
  ~BufferedSend() override { pool_.give_back(copy_); }
  BufferPool& pool_;
  std::byte* const copy_;
};

Err attach(BufferPool*& pool, void* buffer, std::int64_t size) noexcept {
  if (pool) return fail(Err::buffer, "a buffer is attached already; detach it first");
  pool = new BufferPool(buffer, size);
  return Err::ok;
}

void flush(const BufferPool* pool) noexcept {
  if (!pool || pool->is_empty()) return;
  progress::Engine::of_process()->wait_until(
      [](const void* p) noexcept { return static_cast<const BufferPool*>(p)->is_empty(); }, pool,
      [](const void*, WaitReason& reason) noexcept {
        std::snprintf(reason.what, sizeof reason.what, "buffered messages to leave");
      });
}

Err detach(BufferPool*& pool, void* buffer_addr, std::int64_t* size) noexcept {
  void* memory = nullptr;
  *size = 0;
  if (pool) {
    flush(pool);
    memory = pool->memory();
    *size = pool->bytes();
    delete pool;
    pool = nullptr;
  }
  std::memcpy(buffer_addr, &memory, sizeof memory);  // the argument is a void** in disguise
  return Err::ok;
}

Err start_flush(BufferPool* pool, Request** request) noexcept {
  if (!pool || pool->is_empty()) {
    *request = &completed_send();
    return Err::ok;
  }
  *request = &pool->start_flush();
  return Err::ok;
}

/// The nearest buffer: of the communicator, of the session it comes from, of the process (MPI 5.0, 3.6).
BufferPool* pool_of(const Comm& comm) noexcept {
  if (comm.buffer) return comm.buffer;
  const Session* session = comm.group->session.get();
  return session && session->buffer ? session->buffer : process_pool;
}

/// Room for a copy, or nullptr where there is none.  The program may know from a third rank that a message
/// has been received, or have received it itself, before we have heard of it: the word is on its way then,
/// and found before the ways are empty.  (The receiver's own messages never precede it: Peer::outgoing.)
std::byte* take_room(BufferPool& pool, std::int64_t bytes, progress::Engine& engine) noexcept {
  std::byte* taken = pool.take(bytes);
  while (!taken && engine.poll()) taken = pool.take(bytes);
  return taken;
}

}  // namespace

Err send_buffered(const Source& data, int dest, int tag, Comm& comm) noexcept {
  if (dest == MPI_PROC_NULL) return Err::ok;
  protocol::Messaging& messaging = *comm.messaging;
  if (messaging.try_send_now(comm, Plane::point_to_point, data, dest, tag)) return Err::ok;
  BufferPool* const pool = pool_of(comm);
  if (!pool)
    return fail(Err::buffer,
                "no buffer is attached for this message of %zu bytes; call MPI_Buffer_attach first",
                data.bytes);
  std::byte* const copy = take_room(*pool, std::int64_t(data.bytes), *comm.engine);
  if (!copy)
    return fail(Err::buffer,
                "the attached buffer of %lld bytes has no room for this message of %zu bytes now",
                static_cast<long long>(pool->bytes()), data.bytes);
  Cursor(data).pack(copy, data.bytes);
  auto* send = new BufferedSend(*pool, copy);
  send->hold(comm);
  send->let_go();  // no program holds a handle: it goes when the message has left
  messaging.send(*send, comm, Plane::point_to_point, Source{copy, data.bytes}, dest, tag,
                 protocol::Mode::standard);
  return Err::ok;
}

Err buffer_attach(void* buffer, std::int64_t size) noexcept { return attach(process_pool, buffer, size); }
Err buffer_detach(void* buffer_addr, std::int64_t* size) noexcept {
  return detach(process_pool, buffer_addr, size);
}
Err buffer_flush() noexcept { return flush(process_pool), Err::ok; }
Err buffer_iflush(Request** request) noexcept { return start_flush(process_pool, request); }

Err comm_attach_buffer(Comm& comm, void* buffer, std::int64_t size) noexcept {
  comm.free_buffer = [](BufferPool* pool) noexcept {
    delete pool;
  };  // empty then: messages hold the communicator
  return attach(comm.buffer, buffer, size);
}
Err comm_detach_buffer(Comm& comm, void* buffer_addr, std::int64_t* size) noexcept {
  return detach(comm.buffer, buffer_addr, size);
}
Err comm_flush_buffer(Comm& comm) noexcept { return flush(comm.buffer), Err::ok; }
Err comm_iflush_buffer(Comm& comm, Request** request) noexcept { return start_flush(comm.buffer, request); }

Err session_attach_buffer(Session& session, void* buffer, std::int64_t size) noexcept {
  return attach(session.buffer, buffer, size);
}
Err session_detach_buffer(Session& session, void* buffer_addr, std::int64_t* size) noexcept {
  return detach(session.buffer, buffer_addr, size);
}
Err session_flush_buffer(Session& session) noexcept { return flush(session.buffer), Err::ok; }
Err session_iflush_buffer(Session& session, Request** request) noexcept {
  return start_flush(session.buffer, request);
}

}  // namespace dunlin::pt2pt
