#include "transport/ofi/transfers.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "base/variable.hpp"
#include "transport/ofi/channel.hpp"
#include "transport/ofi/frame.hpp"

namespace dunlin::transport::ofi {
namespace {

IntVariable piece_bytes{"OFI_PIECE_BYTES",
                        0,
                        "bytes",
                        "long data goes by RDMA operations of so many, two at once to a peer, or by one of "
                        "twice as many; 0: 128 KiB where they take the target's process (TCP), else 1 GiB",
                        0,
                        std::int64_t{1} << 40};
IntVariable stripe_bytes{
    "OFI_STRIPE_BYTES", 1 << 20, "bytes",
    "where several interfaces are used: how much of a long message one of them moves at a "
    "time; one of fewer than two such pieces goes by the first interface alone",
    4096};

/// 128 KiB: docs/benchmarks/network.md, "Pieces".
std::size_t piece_bytes_of(const Fabric& fabric) noexcept {
  const std::size_t wanted = std::size_t(piece_bytes.get());
  const std::size_t bytes = wanted > 0 ? wanted : fabric.is_rma_offloaded() ? 1 << 30 : 128 << 10;
  return std::min(bytes, fabric.message_bytes_max() / kPiecesAtOnce);
}

}  // namespace

Transfers::Transfers(std::span<const std::unique_ptr<Fabric>> devices, Frames& frames,
                     std::size_t short_bytes_end) noexcept
    : devices_(devices),
      frames_(frames),
      short_bytes_end_(short_bytes_end),
      piece_bytes_(piece_bytes_of(*devices.front())),
      stripe_bytes_(std::min(std::size_t(stripe_bytes.get()), piece_bytes_)) {
  for (const auto& each : devices) registrations_.push_back(std::make_unique<Registrations>(*each));
}

std::size_t Transfers::devices_for(std::size_t bytes, std::size_t devices) const noexcept {
  return std::clamp<std::size_t>(bytes / stripe_bytes_, 1, devices);
}

/// Empty: refused.
Transfers::Holds Transfers::try_hold(const std::byte* at, std::size_t bytes, std::size_t devices,
                                     bool by_peers) noexcept {
  Holds all;
  for (std::size_t device = 0; device < devices; ++device) {
    all.push_back(registrations_[device]->try_hold(at, bytes, by_peers));
    if (!all.back()) return {};
  }
  return all;
}

OpenedBuffer Transfers::opened(const Holds& memory, const std::byte* at) noexcept {
  OpenedBuffer buffer;
  for (std::size_t device = 0; device < memory.size(); ++device)
    buffer.parts[device] = {memory[device].region().remote_address(at), memory[device].region().key()};
  return buffer;
}

/// The memory that the network is to use here: a frame where that is better and one is free, else the buffer.
bool Transfers::try_hold(Transfer& transfer) noexcept {
  if (transfer.is_one_sided() && transfer.bytes < short_bytes_end_) transfer.frame = frames_.try_take();
  if (transfer.frame) {
    if (transfer.is_write()) std::memcpy(transfer.frame->bytes, transfer.local, transfer.bytes);
    return true;
  }
  transfer.memory = try_hold(transfer.local, transfer.bytes, transfer.devices, false);
  return !transfer.memory.empty();
}

bool Transfers::try_begin(std::unique_ptr<Transfer> transfer) noexcept {
  DUNLIN_ASSERT(transfer->bytes > 0);
  if (!try_hold(*transfer)) return false;
  for (std::size_t device = 0; device < transfer->devices; ++device) {
    for (Piece& piece : transfer->pieces[device]) {
      piece.kind = Operation::Kind::transfer;
      piece.transfer = transfer.get();
      piece.device = device;
    }
  }
  Channel& channel = *transfer->channel;
  Line& line = channel.line();
  transfer->is_queued = true;
  Transfer* const last = transfer.release();  // end_if_over() takes it back
  (line.last ? line.last->next : line.first) = last;
  line.last = last;
  begin_waiting(channel);
  return true;
}

/// It is as long as what may be under way, and nothing else wants to be: one piece saves one question.
bool Transfers::goes_alone(const Transfer& transfer) const noexcept {
  const Line& line = transfer.channel->line();
  return transfer.begun == 0 && transfer.bytes <= kPiecesAtOnce * piece_bytes_ && transfer.devices == 1 &&
         line.under_way[0] == 0 && !transfer.next;
}

/// Of the piece that is next; 0: nothing is to be begun now.  The last one may tell the target: then it
/// begins when all others are over.
std::size_t Transfers::next_bytes(const Transfer& transfer) const noexcept {
  const std::size_t left = transfer.bytes - transfer.begun;
  if (goes_alone(transfer)) return left;
  const std::size_t bytes = std::min(transfer.devices == 1 ? piece_bytes_ : stripe_bytes_, left);
  const bool is_last = bytes == left;
  return transfer.end == Moved::written && is_last && transfer.done < transfer.begun ? 0 : bytes;
}

/// What there is room for, oldest first.
void Transfers::begin_waiting(Channel& channel) noexcept {
  Line& line = channel.line();
  Transfer* before = nullptr;
  for (Transfer* each = line.first; each != nullptr;) {
    if (!try_post(*each)) return;
    Transfer* const next = each->next;
    if (each->begun == each->bytes) {
      (before ? before->next : line.first) = next;
      if (!next) line.last = before;
      each->next = nullptr;
      each->is_queued = false;
    } else {
      before = each;  // its last piece waits for its others
    }
    each = next;
  }
}

/// The next pieces, on all devices that have room; false: none has, nor for what waits behind it.
bool Transfers::try_post(Transfer& transfer) noexcept {
  Line& line = transfer.channel->line();
  for (std::size_t place = 0; place < transfer.devices * kPiecesAtOnce; ++place) {
    const std::size_t device = place % transfer.devices;
    Piece& piece = transfer.pieces[device][place / transfer.devices];
    const std::size_t bytes = next_bytes(transfer);
    if (bytes == 0) return true;
    if (piece.bytes > 0 || !has_room(line, device, bytes)) continue;
    piece.bytes = bytes;
    if (!try_post(piece)) {
      piece.bytes = 0;
      if (!std::exchange(line.is_stuck, true)) stuck_.push_back(transfer.channel);
      return false;
    }
    transfer.begun += bytes;
    line.under_way[device] += bytes;
  }
  return transfer.begun == transfer.bytes;
}

bool Transfers::try_post(Piece& piece) noexcept {
  const Transfer& transfer = *piece.transfer;
  const BufferPart& part = transfer.remote.parts[piece.device];
  const bool tells_target =
      transfer.end == Moved::written && transfer.begun + piece.bytes == transfer.bytes;
  const Frame* const frame = transfer.frame;
  const iovec here{(frame ? frame->bytes : transfer.local) + transfer.begun, piece.bytes};
  const fi_rma_iov there{part.address + transfer.begun, piece.bytes, part.key};
  void* memory = frame ? frames_.descriptor() : transfer.memory[piece.device].region().descriptor();
  fi_msg_rma message = {};
  message.msg_iov = &here;
  message.desc = &memory;
  message.iov_count = 1;
  message.addr = transfer.channel->target(piece.device);
  message.rma_iov = &there;
  message.rma_iov_count = 1;
  message.context = &piece;
  message.data = Notice{Notice::Kind::data, transfer.number}.word();
  const std::uint64_t how = tells_target ? FI_REMOTE_CQ_DATA : FI_DELIVERY_COMPLETE;
  Fabric& device = *devices_[piece.device];
  const ssize_t code = transfer.is_write() ? ::fi_writemsg(device.endpoint(), &message, FI_COMPLETION | how)
                                           : ::fi_readmsg(device.endpoint(), &message, FI_COMPLETION);
  if (code == 0 || code == -FI_EAGAIN) transfer.channel->tried(piece.device, code == 0);
  if (code == 0) {
    ++(transfer.is_write() ? device.counters.writes : device.counters.reads);
    return true;
  }
  if (code != -FI_EAGAIN) transfer.channel->broke(device.text_of(int(code)));
  return false;
}

void Transfers::go_on(Inbox& inbox) noexcept {
  for (Channel* each : std::exchange(stuck_, {})) {
    each->line().is_stuck = false;
    go_on(*each, inbox);
  }
}

void Transfers::go_on(Channel& channel, Inbox& inbox) noexcept {
  if (!channel.is_broken()) return begin_waiting(channel);
  Line& line = channel.line();
  Transfer* each = std::exchange(line.first, nullptr);
  line.last = nullptr;
  while (each) {
    Transfer* const next = each->next;
    each->is_queued = false;
    each->is_ok = false;
    end_if_over(*each, inbox);
    each = next;
  }
}

void Transfers::complete(Piece& piece, bool is_ok, Inbox& inbox) noexcept {
  Transfer& transfer = *piece.transfer;
  const bool was_queued = transfer.is_queued;
  const std::size_t bytes = std::exchange(piece.bytes, 0);
  DUNLIN_ASSERT(transfer.channel->line().under_way[piece.device] >= bytes);
  transfer.channel->line().under_way[piece.device] -= bytes;
  transfer.done += bytes;
  transfer.is_ok &= is_ok;
  go_on(*transfer.channel, inbox);  // ends it, if it waited there for a peer that is lost
  if (!was_queued) end_if_over(transfer, inbox);
}

/// All is over, or all that was begun before something failed.
void Transfers::end_if_over(Transfer& transfer, Inbox& inbox) noexcept {
  if (transfer.is_queued || transfer.done < transfer.begun) return;
  const std::unique_ptr<Transfer> over(&transfer);
  over->memory.clear();
  if (over->frame) {
    if (over->is_ok && !over->is_write()) std::memcpy(over->local, over->frame->bytes, over->bytes);
    frames_.give_back(*over->frame);
  }
  inbox.moved(over->end, over->token, over->is_ok);
}

std::uint64_t Transfers::try_open(const std::byte* at, std::size_t bytes, std::size_t devices,
                                  OpenedBuffer& buffer) noexcept {
  auto memory = std::make_unique<Holds>(try_hold(at, bytes, devices, true));
  if (memory->empty()) return 0;
  buffer = opened(*memory, at);
  return reinterpret_cast<std::uint64_t>(memory.release());
}

void Transfers::close(std::uint64_t opened) noexcept { delete reinterpret_cast<Holds*>(opened); }

bool Transfers::try_open_for_write(std::byte* at, std::size_t bytes, std::size_t devices, std::uint64_t token,
                                   OpenedBuffer& buffer, std::uint32_t& number) noexcept {
  DUNLIN_ASSERT(token != 0);
  if (free_numbers_.empty() && opened_.size() >> Notice::kNumberBits) return false;
  Holds memory = try_hold(at, bytes, devices, true);
  if (memory.empty()) return false;
  if (free_numbers_.empty()) {
    free_numbers_.push_back(std::uint32_t(opened_.size()));
    opened_.emplace_back();
  }
  number = free_numbers_.back();
  free_numbers_.pop_back();
  buffer = opened(memory, at);
  opened_[number] = {std::move(memory), token};
  return true;
}

bool Transfers::try_end(std::uint32_t number, Inbox& inbox) noexcept {
  if (number >= opened_.size() || opened_[number].token == 0) return false;
  const std::uint64_t token = std::exchange(opened_[number].token, 0);
  opened_[number].memory.clear();
  free_numbers_.push_back(number);
  inbox.moved(Moved::filled, token, true);
  return true;
}

}  // namespace dunlin::transport::ofi
