// One pair of processes on different nodes: frames to the peer, and the ring in which its frames come.
//
// The first frames of a pair go by message into receive buffers that all peers of a process share.  A pair
// that goes on talking gets a ring in each process (where the stage has rings, and DUNLIN_OFI_RINGS are not
// used up): each side tells the other by message where its ring lies; then a promotion frame is the sender's
// last word by message, and the receiver reads the ring from there on.  So the order of the two ways is kept
// by construction.
//
// A provider begins messages in the order in which they were sent, but may end a long one after a short one
// that was sent later (rxm, which fetches long ones).  So frames by message are numbered, and one that is
// early keeps its receive buffer until its turn; those it waits for have theirs already.
//
// A write into a ring carries a notice, which the provider gives the target when the bytes are there: nobody
// looks at memory to guess.  Back-pressure: a sender knows how many frames the receiver has read, by a count
// in every frame of the other way, or by a write of its own where half a ring has gone unreported.  Of frames
// by message no more than kMessagesMost are under way: a provider may take in more than it gives out, and
// keep the rest (rxm over TCP: 18 KiB for each, however short it is).  They are counted in the same place;
// half of them gone unreported make a frame of their own (FrameKind::credit).  Only messages need credit.
//
// Messages that have waited for room leave together, as many as a frame holds (begin_batch).
//
// Where both have several devices, messages go by the first of them and all move long data: a buffer that is
// open for the peer has a name on each, and the names on the others travel with the next frame that has room,
// at the latest the one that names it (FrameKind::message_of_buffers).
//
// Made by ofi::Transport at first contact: about 200 bytes, and with a ring DUNLIN_OFI_RING_BYTES.
// Document: RDMA channel (rows R1 to R4 of docs/sources.md).  Thread safety: base/big_lock.hpp.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "os/clock.hpp"
#include "transport/ofi/address.hpp"
#include "transport/ofi/fabric.hpp"
#include "transport/ofi/frame.hpp"
#include "transport/ofi/frames.hpp"
#include "transport/ofi/ring.hpp"
#include "transport/ofi/stage.hpp"
#include "transport/ofi/transfers.hpp"
#include "transport/transport.hpp"

namespace dunlin::transport::ofi {

/// What the channels of one process share.
struct Sender {
  Fabric& fabric;
  const Stage& stage;
  Frames frames;
  Transfers transfers;
  int me;                              // peer index
  int rings_left;                      // that may still be made
  std::vector<Channel*> debtors = {};  // may have something to tell their peers
  std::uint64_t secret = 0;            // the job's
  // Whose last words the provider has copied, and does not tell whether they have left; and how many frames
  // that will tell are still to be sent.
  std::vector<Channel*> untold_of = {};
  int flushes_owed = 0;
};

class Channel final : public transport::Channel, public RemoteAccess {
 public:
  /// `targets`: where libfabric has the peer's addresses, by device.
  Channel(Sender& sender, int peer, std::uint32_t number, Address address,
          const std::vector<std::uint64_t>& targets) noexcept;

  Sent try_send(const Envelope& envelope, std::span<const std::byte> head,
                const Source& data) noexcept override;
  std::size_t bytes_max() const noexcept override { return sender_.stage.frame_bytes - sizeof(FrameHeader); }
  void begin_batch() noexcept override { is_batching_ = true; }
  bool try_end_batch() noexcept override {
    is_batching_ = false;
    return try_send_batch();
  }
  RemoteAccess* remote_access() noexcept override { return sender_.stage.moves ? this : nullptr; }

  std::size_t bytes_min() const noexcept override { return sender_.stage.long_bytes; }
  bool is_written() const noexcept override { return sender_.stage.is_written; }
  std::uint64_t try_open_for_reads(const std::byte* at, std::size_t bytes,
                                   RemoteBuffer& buffer) noexcept override;
  void close(std::uint64_t opened) noexcept override;
  bool try_open_for_write(std::byte* at, std::size_t bytes, std::uint64_t token,
                          RemoteBuffer& buffer) noexcept override;
  bool try_read(std::byte* to, std::size_t bytes, const RemoteBuffer& from,
                std::uint64_t token) noexcept override {
    return try_transfer(to, bytes, from, token, Moved::read);
  }
  bool try_write(const std::byte* from, std::size_t bytes, const RemoteBuffer& to,
                 std::uint64_t token) noexcept override {
    return try_transfer(const_cast<std::byte*>(from), bytes, to, token, Moved::written);
  }
  bool is_offloaded() const noexcept override { return sender_.fabric.is_rma_offloaded(); }
  std::uint64_t try_open_for_all(std::byte* at, std::size_t bytes, RemoteBuffer& buffer) noexcept override;
  bool try_put(const std::byte* from, std::size_t bytes, const RemoteBuffer& to,
               std::uint64_t token) noexcept override {
    return try_transfer(const_cast<std::byte*>(from), bytes, to, token, Moved::put);
  }
  bool try_get(std::byte* to, std::size_t bytes, const RemoteBuffer& from,
               std::uint64_t token) noexcept override {
    return try_transfer(to, bytes, from, token, Moved::got);
  }

  /// A frame has come by message, and is kept.
  void keep(Frame& frame) noexcept { kept_.push_back(&frame); }
  /// Gives back what was kept, in the order of sending; nullptr: the next frame has not come.
  Frame* take_next() noexcept;
  /// A frame is there, by message or in the ring, and its turn has come.
  void frame_arrived(const FrameHeader& header, const std::byte* payload, Inbox& inbox) noexcept;
  /// A write of the peer has come; false: this cannot be from it.
  bool try_note(const Notice& notice) noexcept;
  /// Delivers what the ring holds; answers how many messages that were.
  int read_ring(Inbox& inbox) noexcept;
  /// Taken out of the debtors, which are asked anew.
  void settle() noexcept {
    is_debtor_ = false;
    pay_debts();
  }
  /// Taken out of `Sender::untold_of`: a frame follows, whose completion tells that all before it has left;
  /// or none, where it has found no way for DUNLIN_OFI_SILENCE_S.
  void flush() noexcept;
  /// Where libfabric has the peer's address, for messages or on that device.
  std::uint64_t target(std::size_t device = 0) const noexcept { return ways_[device].target; }
  std::size_t devices() const noexcept { return ways_.size(); }
  Line& line() noexcept { return line_; }
  bool is_broken() const noexcept { return broken_since_ns_ != 0; }
  /// At each look at all connections, where a provider may make a lost one anew without a word: asks the peer
  /// how many frames it has taken, if it has not told for long, and repeats what no answer would tell.
  /// `has_ended`: a connection to or from the peer has been lost; `has_carried`: one has carried much.
  void compare_counts(bool has_ended, bool has_carried) noexcept;
  /// A frame apart from others has come.
  void counts_arrived(const FrameHeader& header, const std::byte* payload, Inbox& inbox) noexcept;
  /// Of a tagged message to the peer (tagged.hpp): all of them are counted, too.
  void tagged_began() noexcept { ++tagged_.began; }
  void tagged_ended() noexcept { ++tagged_.ended; }
  /// Whether messages to the peer, or from it, were lost.
  bool misses_frames() const noexcept { return misses_ || answers_in_vain_ >= kAnswersInVain; }
  /// Whether that was so long ago.
  bool is_lost_for(std::int64_t silence_ns) const noexcept {
    return is_broken() && os::now_ns() - broken_since_ns_ >= silence_ns;
  }
  int peer() const noexcept { return peer_; }
  const Address& address() const noexcept { return address_; }
  /// What libfabric has answered to a send.
  Sent result_of(std::int64_t code) noexcept;
  /// Something has left on that device, or was tried and could not.
  void tried(std::size_t device, bool has_left) noexcept;
  /// Whether it has been tried for so long, and nothing has ever left.
  bool is_unreached_for(std::size_t device, std::int64_t ns) const noexcept;
  /// The network has given this peer up.
  void broke(const char* why) noexcept;

 private:
  /// At the head of a ring's block; written by the peer only, read when a notice says so.
  struct Mailbox {
    std::uint64_t written;   // by the peer into this ring (stage basic)
    std::uint64_t released;  // by the peer out of its own ring
    std::byte unused[48];
  };
  static_assert(sizeof(Mailbox) == 64);

  bool try_transfer(std::byte* local, std::size_t bytes, const RemoteBuffer& remote, std::uint64_t token,
                    Moved end) noexcept;
  std::size_t devices_for(std::size_t bytes) const noexcept {
    return devices() == 1 ? 1 : sender_.transfers.devices_for(bytes, devices());
  }
  void tell(const OpenedBuffer& buffer, std::size_t devices, std::uint64_t opened) noexcept;
  std::size_t told_with(const FrameHeader& header) const noexcept;
  void write_told(std::byte* frame, std::size_t told) const noexcept;
  const std::byte* hear(const std::byte* payload) noexcept;
  OpenedBuffer heard_of(const RemoteBuffer& buffer) noexcept;
  FrameHeader header_of(FrameKind kind) noexcept;
  Sent try_send_frame(const FrameHeader& header, std::span<const std::byte> head, const Source& data,
                      bool has_to_tell = false) noexcept;
  Sent try_batch(const Envelope& envelope, std::span<const std::byte> head, const Source& data) noexcept;
  bool try_send_batch() noexcept;
  bool has_room(FrameKind kind) const noexcept;
  Sent try_leave(Frame* frame, std::byte* bytes, std::size_t count) noexcept;
  Sent try_send_by_message(Frame* frame, const std::byte* bytes, std::size_t count) noexcept;
  Sent try_write(Frame* frame, const std::byte* bytes, std::size_t count) noexcept;
  bool try_write_word(const std::uint64_t& word, std::size_t at, const Notice& notice) noexcept;
  void messages_arrived(std::span<const std::byte> batch, Inbox& inbox) noexcept;
  bool try_promote() noexcept;
  bool try_pay_debts() noexcept;
  void pay_debts() noexcept;
  bool try_make_ring() noexcept;
  void owe() noexcept;
  void note_injected() noexcept;
  void heard_released(std::uint32_t released) noexcept;
  void heard_read(std::uint32_t frames) noexcept;
  std::uint32_t unreported() const noexcept { return taken_ - reported_; }
  bool try_send_apart(FrameKind kind) noexcept;
  // Frames: by message, then by ring; modulo 2^32.
  std::uint32_t frames_sent() const noexcept { return sent_ + std::uint32_t(writer_.written()); }
  std::uint32_t frames_taken() const noexcept { return taken_ + std::uint32_t(reader_.read()); }
  std::uint32_t frames_taken_there() const noexcept {
    return taken_there_ + std::uint32_t(writer_.released());
  }

  Sender& sender_;
  const int peer_;  // peer index
  const std::uint32_t number_;
  const Address address_;
  struct Way {
    std::uint64_t target;
    bool is_reached = false;          // something has left
    std::int64_t tried_since_ns = 0;  // until then: since when it was tried; 0: not yet
  };
  std::vector<Way> ways_;  // by device
  Line line_;
  std::int64_t broken_since_ns_ = 0;  // 0: it is not

  // Our ring, which the peer writes.
  std::unique_ptr<std::byte[]> block_;  // Mailbox, then slots
  Region region_;
  RingReader reader_;
  bool reads_ring_ = false;  // the peer has sent its promotion
  // The peer's ring, which we write.
  RingOffer theirs_ = {};
  RingWriter writer_;
  bool has_offer_ = false;
  bool is_promoted_ = false;
  int messages_left_;  // until a ring is worth its memory

  // Frames by message, by counts modulo 2^32.
  std::uint32_t sent_ = 0, taken_ = 0;
  std::uint32_t taken_there_ = 0;  // of ours, as far as we have heard
  std::uint32_t reported_ = 0;     // of those taken here
  std::vector<Frame*> kept_;

  // Messages that leave together.  The place of their frame is free: whatever else leaves, leaves after them.
  bool is_batching_ = false;
  Frame* batch_ = nullptr;       // those that have come together
  std::size_t batch_bytes_ = 0;  // of its payload

  // Messages that the network matches; modulo 2^32.
  struct {
    std::uint32_t began = 0, ended = 0;  // to the peer
    std::uint32_t looked = 0;            // began by the last look
    std::uint32_t taken_there = 0;       // of those, as its last answer has told
    Come come = {};                      // from the peer: for the next answer to it
  } tagged_;
  std::uint32_t all_sent() const noexcept { return frames_sent() + tagged_.began; }
  std::uint32_t all_taken_there() const noexcept { return frames_taken_there() + tagged_.taken_there; }

  // Of the last look (compare_counts).
  static constexpr std::uint32_t kAnswersInVain = 4;
  std::uint32_t looked_sent_ = 0;         // by then
  std::uint32_t looked_taken_there_ = 0;  // of those, as far as had been heard by then
  std::uint64_t looked_read_ = 0;         // of the ring, by then
  bool is_answered_ = false;              // since then
  std::uint32_t answers_in_vain_ = 0;     // in a row, by which the peer had taken no more
  std::uint32_t unanswered_looks_ = 0;    // since the last of them
  bool misses_ = false;                   // the ring tells of a frame that has not come

  // With several devices: buffers that the peer is still to hear of, and those of the peer that are open and
  // not used yet.
  struct Untold {
    OpenedBuffer buffer;
    std::uint64_t opened;  // for reads; 0: for a write
  };
  std::deque<Untold> untold_;
  std::deque<OpenedBuffer> heard_;

  // What the peer is still to hear.
  bool is_debtor_ = false;  // among Sender::debtors
  bool owes_offer_ = false, owes_written_ = false, owes_released_ = false, owes_credit_ = false;
  bool owes_flush_ = false, owes_question_ = false, owes_answer_ = false;
  std::int64_t flush_since_ns_ = 0;
  bool is_untold_of_ = false;  // in Sender::untold_of
};

}  // namespace dunlin::transport::ofi
