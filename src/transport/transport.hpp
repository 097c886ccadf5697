// How small ordered messages travel between two processes: the interface that every transport implements.
//
// A `Channel` carries envelopes with payload to one peer, in order, and never blocks, allocates or queues:
// back-pressure is a return value, so that pending sends live in exactly one place (protocol/).  A
// `Transport` makes channels and polls all of them.  `Inbox` is where messages arrive; protocol/ implements
// it.  Large data does not go through channels when memory can be reached directly (peer/peer_memory.hpp).
//
// Adding a transport: a folder, these two classes, and its making in runtime/instance.cpp, in the order of
// preference (there is no registry); test/conformance/transport runs on it.
// Thread safety: all calls under base/big_lock.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/err.hpp"
#include "datatype/data.hpp"
#include "transport/tagged.hpp"

namespace dunlin::transport {

/// What an envelope announces.  The protocol layer gives the kinds their meaning; transports only carry them.
enum class MessageKind : std::uint8_t {
  eager = 0,          // payload is the whole message
  eager_synchronous,  // payload starts with the sender's 8-byte cookie, which the receiver returns once
                      // matched
  rendezvous,         // payload is protocol::Offer; data follows after the match
  control,  // payload starts with a protocol::Control word: acknowledgements, chunks, credits, cancels
};

/// 24 bytes on every wire.  `context`, `source`, `tag` are what matching looks at.
struct Envelope {
  std::uint64_t context = 0;  // see Comm::context
  std::int32_t source = 0;    // rank of the sender in the communicator (for control: unused)
  std::int32_t tag = 0;
  std::uint32_t bytes = 0;  // of payload that travels with this envelope; below 2^24
  MessageKind kind = MessageKind::eager;
};

enum class Sent : std::uint8_t {
  yes,     // payload is copied or handed over; its memory may be reused
  full,    // no room now, nothing was sent; try again after a poll
  failed,  // the peer cannot be reached any more
};

/// Payload of an arriving message, still lying in the transport's memory and perhaps in many short runs (the
/// ring's lines each hold 40 or 56 bytes of it).  Valid only during `Inbox::arrived`; `copy_to` may be called
/// several times.
class Payload {
 public:
  /// Copies bytes [from, from + bytes) of the payload; the range must lie inside it.
  virtual void copy_to(std::byte* to, std::size_t from, std::size_t bytes) const noexcept = 0;
  /// The payload's first run, for reading small headers in place.
  std::span<const std::byte> first;
  /// The run that follows, when the two are all.
  std::span<const std::byte> second;

 protected:
  ~Payload() = default;
};

/// How a buffer of a peer is named in operations on it (RemoteAccess).
struct RemoteBuffer {
  std::uint64_t address = 0, key = 0;
  std::uint32_t number = 0;  // of those that are open for writing
};

/// What has come to its end: `token` names it to who began it.
enum class Moved : std::uint8_t {
  read,     // RemoteAccess::try_read: the bytes are here
  written,  // try_write: the buffer may be reused
  filled,   // try_open_for_write: the peer has written all of it
  put,      // try_put: the bytes are at the peer
  got,      // try_get: the bytes are here
};

class Inbox {
 public:
  /// `peer` is the peer index of the sender.
  virtual void arrived(int peer, const Envelope& envelope, const Payload& payload) noexcept = 0;
  /// hot path: the same for an eager message in one run of at most 40 bytes, with all that matters in
  /// registers; `source_and_tag` has the source in its low half.  False: not taken, `arrived` has to hear of
  /// it.
  virtual bool try_arrive_short(std::uint64_t /*context*/, std::uint64_t /*source_and_tag*/,
                                const std::byte* /*payload*/, std::size_t /*bytes*/) noexcept {
    return false;
  }
  /// False: the peer was lost, and the bytes with it.
  virtual void moved(Moved /*what*/, std::uint64_t /*token*/, bool /*is_ok*/) noexcept {}
  /// Of transport::Tagged.  False: the peer was lost.
  virtual void sent(Operation& /*send*/, bool /*is_ok*/) noexcept {}
  virtual void received(Operation& /*receive*/, const Arrival& /*message*/, Received /*how*/) noexcept {}
  /// A peer wants to know how many of its tagged messages have come.
  virtual Come come_from(int /*peer*/) noexcept { return {}; }

 protected:
  ~Inbox() = default;
};

/// Long data straight from buffer to buffer, by a network that reads and writes the memory of one peer
/// (RDMA). Nothing here waits: what was begun ends with `Inbox::moved`.  Buffers stay as they are until then.
class RemoteAccess {
 public:
  /// Shorter data is better off in the channel.
  virtual std::size_t bytes_min() const noexcept = 0;
  /// Who begins: the sender by writing, or the receiver by reading.
  virtual bool is_written() const noexcept = 0;
  /// Lets the peer read these bytes until `close`; 0: refused.
  virtual std::uint64_t try_open_for_reads(const std::byte* at, std::size_t bytes,
                                           RemoteBuffer& buffer) noexcept = 0;
  virtual void close(std::uint64_t opened) noexcept = 0;
  /// Lets the peer fill these bytes once; false: refused.
  virtual bool try_open_for_write(std::byte* at, std::size_t bytes, std::uint64_t token,
                                  RemoteBuffer& buffer) noexcept = 0;
  /// Begins; false: refused.
  virtual bool try_read(std::byte* to, std::size_t bytes, const RemoteBuffer& from,
                        std::uint64_t token) noexcept = 0;
  virtual bool try_write(const std::byte* from, std::size_t bytes, const RemoteBuffer& to,
                         std::uint64_t token) noexcept = 0;

  // Memory that stays open and is read and written without a word, short data, too: one-sided operations.
  /// Whether that goes on while the peer's process does something else.
  virtual bool is_offloaded() const noexcept = 0;
  /// Lets all peers read and write these bytes until `close`; 0: refused.
  virtual std::uint64_t try_open_for_all(std::byte* at, std::size_t bytes, RemoteBuffer& buffer) noexcept = 0;
  /// Begins; false: refused.  In no order.
  virtual bool try_put(const std::byte* from, std::size_t bytes, const RemoteBuffer& to,
                       std::uint64_t token) noexcept = 0;
  virtual bool try_get(std::byte* to, std::size_t bytes, const RemoteBuffer& from,
                       std::uint64_t token) noexcept = 0;

 protected:
  ~RemoteAccess() = default;
};

class Channel {
 public:
  /// Sends `head` followed by `data` as one payload (head.size() + data.bytes == envelope.bytes).  `head` is
  /// at most 64 bytes of protocol header; empty for plain eager messages.
  virtual Sent try_send(const Envelope& envelope, std::span<const std::byte> head,
                        const Source& data) noexcept = 0;
  /// Largest payload try_send accepts (head and data together).  Constant over the channel's life.
  virtual std::size_t bytes_max() const noexcept = 0;
  /// Until `try_end_batch` messages that are sent may wait for each other, to leave together.
  virtual void begin_batch() noexcept {}
  /// False: some of them are still here, copied; nothing is sent before they have left, which needs this call
  /// again after a poll.
  virtual bool try_end_batch() noexcept { return true; }
  /// The network's access to the peer's memory, or nullptr.  Constant over the channel's life.
  virtual RemoteAccess* remote_access() noexcept { return nullptr; }

 protected:
  ~Channel() = default;
};

class Transport {
 public:
  virtual const char* name() const noexcept = 0;
  /// The channel to a peer, made at first use, or nullptr when this transport cannot reach it.  Owned by the
  /// transport.
  virtual Channel* connect(int peer) noexcept = 0;
  /// Delivers what has arrived; answers how many messages that were.
  virtual int poll(Inbox& inbox) noexcept = 0;
  /// As `poll`, but may look only at messages of `peer`: for a wait that names its source, before the full
  /// `poll`.
  virtual int poll_peer(int peer, Inbox& inbox) noexcept { return poll(inbox); }
  /// Peers that have been lost for so long that a wait for one of them is in vain.
  virtual std::span<const int> lost() const noexcept { return {}; }

  // Sleeping (progress/engine.cpp).  The waiter announces itself, polls once more, sleeps only if that
  // delivered nothing, and withdraws.  Only a transport whose peers wake a sleeper answers true from
  // `can_sleep`.
  virtual bool can_sleep() const noexcept { return false; }
  /// Whether messages come that wake nobody: then no sleep may be long.
  virtual bool must_be_polled() const noexcept { return !can_sleep(); }
  virtual void announce_sleep() noexcept {}
  /// The same, where the waiter sleeps in another transport: news of this one have to end that sleep, by its
  /// `wake`.  False: they cannot, and the sleep has to be short.
  virtual bool announce_sleep_in([[maybe_unused]] Transport& place) noexcept {
    announce_sleep();
    return !can_sleep() && !must_be_polled();
  }
  /// Returns after a wake-up, a signal or the time; spurious returns are fine.
  virtual void sleep(std::int64_t timeout_ns) noexcept {}
  virtual void withdraw_sleep() noexcept {}
  /// Another thread of this process: ends the sleep, or keeps it from beginning after `announce_sleep`.
  virtual void wake() noexcept {}
  virtual ~Transport() = default;
};

}  // namespace dunlin::transport
