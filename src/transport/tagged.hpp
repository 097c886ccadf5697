// A network that matches messages itself, by 64 bits that the sender gives and the receiver asks for: what
// the second engine of point-to-point stands on (protocol/offload.hpp).
//
// Implemented by ofi::Tagged.  Messages of one sender that one receive could take are matched in the order in
// which they were sent, receives in the order in which they were posted.  What comes before its receive is
// the network's to keep.  Thread safety: base/big_lock.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dunlin::transport {

enum class Sent : std::uint8_t;

/// One thing that the network does for us; it hands its address back when it is over.  The caller's, who
/// keeps it in place until then.
struct Operation {
  enum class Kind : std::uint8_t {
    receive,  // the three of channels: a frame's memory, a frame, long data
    send,
    transfer,
    tagged_send,
    tagged_receive,
    look,
  };
  alignas(8) std::byte scratch[64];  // the network's while the operation is under way
  Kind kind = Kind::send;
  int peer = -1;  // of a tagged_send: to whom; written by the network
};

/// Which messages a receive takes: those whose bits are equal where `ignored` has none.
struct Pattern {
  std::uint64_t bits = 0, ignored = 0;
};

/// A message that was matched or found.
struct Arrival {
  std::uint64_t bits = 0;
  std::uint64_t bytes = 0;  // its length, also where the buffer is shorter
  std::uint32_t note = 0;   // what its sender gave along
  bool is_foreign = false;  // no rank of this job has sent it
};

/// How a receive has come to its end.
enum class Received : std::uint8_t {
  yes,        // as much as fits is in the buffer
  cancelled,  // no message was matched
  lost,       // the message was, and its sender is gone
};

/// How many messages of one sender have come; modulo 2^32.
struct Come {
  std::uint32_t seen = 0;      // that nobody waits for, too, and those that are still fetched
  std::uint32_t received = 0;  // whole
};

class Tagged {
 public:
  /// How many bits, the low ones, are looked at.
  virtual unsigned bits() const noexcept = 0;
  /// Messages must not be longer.
  virtual std::uint64_t bytes_max() const noexcept = 0;
  /// So many receives can be under way at once; more find no room.
  virtual std::size_t receives_max() const noexcept = 0;
  /// What the network should hold at most of one sender's messages that no receive has taken: so many, and of
  /// each so many bytes; longer ones it leaves with the sender.
  virtual std::uint32_t messages_held_max() const noexcept = 0;
  virtual std::uint64_t bytes_held_max() const noexcept = 0;
  /// Nothing reaches that peer any more.
  virtual bool is_lost(int peer) noexcept = 0;
  /// `yes`: under way; Inbox::sent says when the memory may be used again.
  virtual Sent try_send(Operation& operation, int peer, std::uint64_t bits, std::uint32_t note,
                        std::span<const std::byte> data) noexcept = 0;
  /// Posts a receive, which Inbox::received ends.  `room` is not empty.  False: no room now.
  virtual bool try_receive(Operation& operation, std::span<std::byte> room,
                           const Pattern& wanted) noexcept = 0;
  /// Of a receive: it ends as cancelled, or as if nothing had been said.
  virtual void cancel(Operation& operation) noexcept = 0;
  /// Whether a message has come that no receive has taken: the oldest that is wanted.  `is_taken`: it is
  /// taken out of matching, for `try_receive_taken` with the same operation.
  virtual bool try_look(Operation& operation, const Pattern& wanted, bool is_taken,
                        Arrival& found) noexcept = 0;
  virtual bool try_receive_taken(Operation& operation, std::span<std::byte> room) noexcept = 0;

 protected:
  ~Tagged() = default;
};

}  // namespace dunlin::transport
