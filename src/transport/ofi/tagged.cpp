#include "transport/ofi/tagged.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <sys/uio.h>

#include <bit>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "transport/ofi/channel.hpp"

namespace dunlin::transport::ofi {
namespace {

constexpr std::uint64_t kNoteMask = 0xffffffff;
constexpr std::uint32_t kReadsMax = 1 << 24;  // seconds: a provider that has not answered by then never does

fi_msg_tagged message_of(const Operation& operation, const Pattern& wanted, const iovec* room) noexcept {
  fi_msg_tagged message = {};
  message.msg_iov = room;
  message.iov_count = room ? 1 : 0;
  message.addr = FI_ADDR_UNSPEC;
  message.tag = wanted.bits;
  message.ignore = wanted.ignored;
  message.context = const_cast<Operation*>(&operation);
  return message;
}

}  // namespace

unsigned Tagged::bits() const noexcept { return unsigned(std::bit_width(fabric_.tag_format())); }

/// With 8 bytes beside a message half of them are the secret's, with 4 there is no room for it.
std::uint64_t Tagged::word_of(std::uint32_t note) const noexcept {
  return fabric_.data_bytes() >= sizeof(std::uint64_t) ? (secret_ & ~kNoteMask) | note : note;
}

bool Tagged::is_lost(int peer) noexcept {
  const Channel* const channel = peers_.channel_of(peer);
  return !channel || channel->is_broken();
}

Sent Tagged::try_send(Operation& operation, int peer, std::uint64_t bits, std::uint32_t note,
                      std::span<const std::byte> data) noexcept {
  DUNLIN_ASSERT(operation.kind == Operation::Kind::tagged_send);
  Channel* const channel = peers_.channel_of(peer);
  if (!channel || channel->is_broken()) return Sent::failed;
  operation.peer = peer;
  const ssize_t code = ::fi_tsenddata(fabric_.endpoint(), data.data(), data.size(), nullptr, word_of(note),
                                      channel->target(), bits, &operation);
  if (code == 0) {
    ++fabric_.counters.messages;
    channel->tagged_began();
  }
  return channel->result_of(code);
}

bool Tagged::try_receive(Operation& operation, std::span<std::byte> room, const Pattern& wanted) noexcept {
  DUNLIN_ASSERT(operation.kind == Operation::Kind::tagged_receive);
  DUNLIN_ASSERT(!room.empty());  // rxm of libfabric 1.17 never ends an empty receive of a long message
  return ::fi_trecv(fabric_.endpoint(), room.data(), room.size(), nullptr, FI_ADDR_UNSPEC, wanted.bits,
                    wanted.ignored, &operation) == 0;
}

void Tagged::cancel(Operation& operation) noexcept {
  DUNLIN_ASSERT(operation.kind == Operation::Kind::tagged_receive);
  (void)::fi_cancel(&fabric_.endpoint()->fid, &operation);  // what it cannot cancel ends by itself
}

/// The answer comes as a completion: at once, as the provider has to ask nobody else.
bool Tagged::try_look(Operation& operation, const Pattern& wanted, bool is_taken, Arrival& found) noexcept {
  operation.kind = Operation::Kind::look;
  const fi_msg_tagged message = message_of(operation, wanted, nullptr);
  if (::fi_trecvmsg(fabric_.endpoint(), &message, FI_PEEK | FI_COMPLETION | (is_taken ? FI_CLAIM : 0)) != 0)
    return false;
  for (std::uint32_t reads = 0; reads < kReadsMax; ++reads) {
    fi_cq_tagged_entry entry;
    fi_cq_err_entry error = {};
    const ssize_t count = ::fi_cq_read(fabric_.completions(), &entry, 1);
    if (count == -FI_EAGAIN) continue;
    if (count != 1 && ::fi_cq_readerr(fabric_.completions(), &error, 0) != 1) continue;
    const bool is_mine = (count == 1 ? entry.op_context : error.op_context) == &operation;
    if (is_mine && count == 1) found = arrival_of(entry.tag, entry.len, entry.data);
    if (is_mine) return count == 1;
    if (count == 1) {
      error.op_context = entry.op_context;
      error.flags = entry.flags;
      error.len = entry.len;
      error.data = entry.data;
      error.tag = entry.tag;
    }
    passed_by.push_back(error);
  }
  log::die("%s cannot tell whether a message has come (MPI_Probe, MPI_Iprobe); set DUNLIN_P2P=matching",
           fabric_.provider());
}

bool Tagged::try_receive_taken(Operation& operation, std::span<std::byte> room) noexcept {
  operation.kind = Operation::Kind::tagged_receive;
  DUNLIN_ASSERT(!room.empty());
  const iovec whole{room.data(), room.size()};
  const fi_msg_tagged message = message_of(operation, {}, &whole);
  return ::fi_trecvmsg(fabric_.endpoint(), &message, FI_CLAIM | FI_COMPLETION) == 0;
}

Arrival Tagged::arrival_of(std::uint64_t bits, std::uint64_t bytes, std::uint64_t word) const noexcept {
  const auto note = std::uint32_t(word & kNoteMask);
  return {.bits = bits, .bytes = bytes, .note = note, .is_foreign = word != word_of(note)};
}

void Tagged::sent(Operation& operation, Inbox& inbox) const noexcept {
  peers_.channel_of(operation.peer)->tagged_ended();
  inbox.sent(operation, true);
}

void Tagged::received(const fi_cq_tagged_entry& entry, Inbox& inbox) const noexcept {
  inbox.received(*static_cast<Operation*>(entry.op_context), arrival_of(entry.tag, entry.len, entry.data),
                 Received::yes);
}

void Tagged::failed(const fi_cq_err_entry& error, Inbox& inbox) const noexcept {
  auto& operation = *static_cast<Operation*>(error.op_context);
  if (operation.kind == Operation::Kind::tagged_send) {
    peers_.channel_of(operation.peer)->broke(fabric_.text_of(error.err));
    return inbox.sent(operation, false);
  }
  const Arrival message = arrival_of(error.tag, error.len + error.olen, error.data);
  // A message that is too long has filled the buffer.
  const Received how = error.err == FI_ETRUNC      ? Received::yes
                       : error.err == FI_ECANCELED ? Received::cancelled
                                                   : Received::lost;
  inbox.received(operation, message, how);
}

}  // namespace dunlin::transport::ofi
