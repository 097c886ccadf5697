// What travels between two processes over a network: one header in front of every message, and the word that
// comes with an RDMA write.
//
// Used by channel.cpp (writes) and transport.cpp (reads).  All nodes of a job have one byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "transport/ofi/fabric.hpp"
#include "transport/transport.hpp"

namespace dunlin::transport::ofi {

enum class FrameKind : std::uint8_t {
  message,             // an envelope and its payload
  message_of_buffers,  // the same behind a count (u64) and so many `OpenedBuffer`, each named by what follows
  batch,               // several messages that waited together, each an envelope and its payload, to 8 bytes
  ring_offer,          // payload is RingOffer: where the sender of this takes frames of ours by RDMA write
  promotion,           // the next frame of this sender lies in its ring
  credit,              // nothing: the header tells how many frames the sender of this has taken
  // Apart from all others: by message, also where those go by ring, and counted by nobody.
  question,  // the header tells how many frames its sender has taken; and how many has its receiver?
  answer,    // the same, without the question
};
constexpr bool is_apart(FrameKind kind) noexcept {
  return kind == FrameKind::question || kind == FrameKind::answer;
}

/// In front of every frame, in a message as in a ring.
struct FrameHeader {
  std::uint64_t secret = 0;   // the job's: who does not know it is no rank of it
  std::uint64_t context = 0;  // the envelope's, where it is a message
  std::int32_t source = 0;
  std::int32_t tag = 0;
  std::uint32_t bytes = 0;  // of the payload that follows
  MessageKind kind = MessageKind::eager;
  FrameKind frame = FrameKind::message;
  std::uint16_t sequence = 0;  // how many frames this sender has sent before, modulo 2^16
  std::int32_t sender = 0;     // peer index
  std::uint32_t released = 0;  // how many it has taken: messages, then ring; modulo 2^32
};
static_assert(sizeof(FrameHeader) == 40 && std::is_trivially_copyable_v<FrameHeader>);

/// Where a ring lies, for the peer that is to write into it.
struct RingOffer {
  std::uint64_t address = 0;  // of the ring's block, as RDMA writes name it
  std::uint64_t key = 0;
  std::uint32_t number = 0;  // of this connection at the ring's owner
  std::uint32_t reserved = 0;
};
static_assert(sizeof(RingOffer) == 24 && std::is_trivially_copyable_v<RingOffer>);

/// A buffer on one device: how operations of peers name its first byte.
struct BufferPart {
  std::uint64_t address = 0, key = 0;
  bool operator==(const BufferPart&) const = default;
};
/// A buffer of the sender that several devices may move, by its name on the first.
struct OpenedBuffer {
  BufferPart parts[kDevicesMost];  // by device
};
static_assert(std::is_trivially_copyable_v<OpenedBuffer>);

/// What an RDMA write tells its target: 32 bits, which every provider carries.
struct Notice {
  enum class Kind : std::uint32_t {
    frame,     // the ring has a new frame: `slot`, or all below the head that was written (stage basic)
    released,  // the mailbox says how many frames were read
    data,      // a long message has been written whole: `number` names the receive
  };
  static constexpr int kSlotBits = 10, kNumberBits = 20;

  Kind kind;
  std::uint32_t number;  // of the connection at the target, or of the receive
  std::uint32_t slot = 0;

  constexpr std::uint64_t word() const noexcept {
    return std::uint32_t(kind) << (kSlotBits + kNumberBits) | number << kSlotBits | slot;
  }
  static constexpr Notice of(std::uint64_t word) noexcept {
    return {Kind(word >> (kSlotBits + kNumberBits) & 3),
            std::uint32_t(word >> kSlotBits) & ((1u << kNumberBits) - 1),
            std::uint32_t(word) & ((1u << kSlotBits) - 1)};
  }
};

}  // namespace dunlin::transport::ofi
