// The two operations of point-to-point: a send and a receive under way.
//
// pt2pt makes them for programs (from the request pool or on the stack of a blocking call), coll and comm for
// their own messages.  Filled by the caller, handed to `Messaging::send` / `Messaging::receive`, finished
// when `is_complete`.
#pragma once

#include "datatype/data.hpp"
#include "datatype/datatype.hpp"
#include "match/matcher.hpp"
#include "object/comm.hpp"
#include "object/request.hpp"
#include "protocol/outgoing.hpp"
#include "transport/transport.hpp"

namespace dunlin::protocol {

struct Peer;
class SharedCopy;

enum class Mode : std::uint8_t {
  standard,     // complete when the buffer may be reused
  synchronous,  // complete when a matching receive has started
  ready,        // as standard; the program promises that the receive is posted
};

/// A send that could not be finished at once.
class SendRequest : public Request, public Outgoing {
 public:
  enum class Stage : std::uint8_t {
    fresh,      // not handed to the transport yet
    queued,     // waits in the peer's queue for room
    offered,    // the envelope is out; the receiver has not matched it, or data is being copied
    streaming,  // the receiver asked for the data through the channel; `streamed` bytes are out
    done,
  };

  Source data;
  Ref<Datatype> held_type;  // set where the program may free the type before the end
  transport::Envelope envelope;
  Peer* peer = nullptr;
  Mode mode = Mode::standard;
  Stage stage = Stage::fresh;
  bool is_cancel_asked = false;
  std::uint64_t streamed = 0;         // bytes of `data` that are out
  std::uint64_t wanted = 0;           // bytes of `data` that the receiver has room for
  std::uint64_t receiver_cookie = 0;  // names the receive while streaming
  SendRequest* next_stream = nullptr;
  std::uint64_t exposed = 0;   // peer memory's cookie while offered
  std::uint64_t opened = 0;    // the network's name of `data` while offered to its peer's reads
  SharedCopy* copy = nullptr;  // while offered: what both sides copy

  Err cancel() noexcept override;
  void explain(WaitReason& reason) const noexcept override;

  transport::Sent try_go() noexcept override;
  void go_nowhere() noexcept override;

  /// The operation has come to its end; nothing of it is out any more.
  void end(Err error) noexcept {
    stage = Stage::done;
    completion.error = error;
    finish();
  }
};

/// Says that a message of `bytes` is too long for the `room` that there is or, in a collective, too short.
[[gnu::cold]] Err wrong_length(const Comm& comm, std::uint64_t context, const Completion& message,
                               std::uint64_t bytes, std::uint64_t room) noexcept;

class ReceiveRequest : public Request, public match::Posted {
 public:
  Target data;
  Ref<Datatype> held_type;     // set where the program may free the type before the end
  std::uint64_t streamed = 0;  // rendezvous through the channel: bytes that have come so far
  std::uint64_t expected = 0;  // rendezvous through the channel: bytes that will come
  std::int64_t asked_ns = 0;   // when, where the time it takes is to be compared; else 0
  bool is_matched = false;     // a message is being delivered: too late to cancel
  SharedCopy* copy = nullptr;  // while both sides copy
  std::uint64_t refused;       // bytes of a message of the wrong length; then `has_own_status`

  /// How many of a message's `bytes` there is room for; the completion says so.
  std::size_t fit(std::uint64_t bytes) noexcept;
  /// Copies `bytes` of the payload, from `head` on, to packed position `position` of the buffer.
  void unpack(std::size_t position, const transport::Payload& payload, std::size_t head,
              std::size_t bytes) const noexcept;

  Err cancel() noexcept override;
  void explain(WaitReason& reason) const noexcept override;
  /// After an error: its sentence is told to the thread that asks, which need not be the one that took the
  /// message.
  Err query(void* status) noexcept override;
};

}  // namespace dunlin::protocol
