#include "transport/ofi/transfers.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/variable.hpp"
#include "transport/ofi/channel.hpp"
#include "transport/ofi/frame.hpp"

namespace dunlin::transport::ofi {
namespace {

IntVariable piece_bytes{"OFI_PIECE_BYTES", 1 << 30, "bytes", "most that one RDMA operation moves", 4096};

}  // namespace

Transfers::Transfers(Fabric& fabric) noexcept
    : fabric_(fabric),
      registrations_(fabric),
      piece_bytes_(std::min(std::size_t(piece_bytes.get()), fabric.message_bytes_max())) {}

bool Transfers::try_begin(std::unique_ptr<Transfer> transfer) noexcept {
  DUNLIN_ASSERT(transfer->bytes > 0);
  transfer->kind = Operation::Kind::transfer;
  transfer->memory = registrations_.try_hold(transfer->local, transfer->bytes, false);
  if (!transfer->memory) return false;
  post(*transfer.release());  // complete() takes it back
  return true;
}

/// The next piece.  Of a write, the last one tells the target; those before it are there when they are over.
void Transfers::post(Transfer& transfer) noexcept {
  transfer.under_way = std::min(piece_bytes_, transfer.bytes - transfer.done);
  const bool is_last = transfer.done + transfer.under_way == transfer.bytes;
  const iovec piece{transfer.local + transfer.done, transfer.under_way};
  const fi_rma_iov there{transfer.remote.address + transfer.done, transfer.under_way, transfer.remote.key};
  void* memory = transfer.memory.region().descriptor();
  fi_msg_rma message = {};
  message.msg_iov = &piece;
  message.desc = &memory;
  message.iov_count = 1;
  message.addr = transfer.target;
  message.rma_iov = &there;
  message.rma_iov_count = 1;
  message.context = &transfer;
  message.data = Notice{Notice::Kind::data, transfer.remote.number}.word();
  const std::uint64_t how = is_last ? FI_REMOTE_CQ_DATA : FI_DELIVERY_COMPLETE;
  const ssize_t code = transfer.is_write ? ::fi_writemsg(fabric_.endpoint(), &message, FI_COMPLETION | how)
                                         : ::fi_readmsg(fabric_.endpoint(), &message, FI_COMPLETION);
  if (code == 0) {
    ++(transfer.is_write ? fabric_.counters.writes : fabric_.counters.reads);
    return;
  }
  if (code != -FI_EAGAIN) transfer.channel->broke(fabric_.text_of(int(code)));
  transfer.under_way = 0;
  transfer.next = std::exchange(waiting_, &transfer);
}

void Transfers::go_on_waiting(Inbox& inbox) noexcept {
  Transfer* each = std::exchange(waiting_, nullptr);
  while (each) {
    Transfer* const next = each->next;
    if (each->channel->is_broken())
      complete(*each, false, inbox);
    else
      post(*each);
    each = next;
  }
}

void Transfers::complete(Transfer& transfer, bool is_ok, Inbox& inbox) noexcept {
  transfer.done += transfer.under_way;
  if (is_ok && transfer.done < transfer.bytes) return post(transfer);
  const std::unique_ptr<Transfer> over(&transfer);
  over->memory = {};
  inbox.moved(over->is_write ? Moved::written : Moved::read, over->token, is_ok);
}

std::uint64_t Transfers::try_open_for_reads(const std::byte* at, std::size_t bytes,
                                            RemoteBuffer& buffer) noexcept {
  auto memory = std::make_unique<Registrations::Hold>(registrations_.try_hold(at, bytes, true));
  if (!*memory) return 0;
  buffer.address = memory->region().remote_address(at);
  buffer.key = memory->region().key();
  return reinterpret_cast<std::uint64_t>(memory.release());
}

void Transfers::close(std::uint64_t opened) noexcept {
  delete reinterpret_cast<Registrations::Hold*>(opened);
}

bool Transfers::try_open_for_write(std::byte* at, std::size_t bytes, std::uint64_t token,
                                   RemoteBuffer& buffer) noexcept {
  DUNLIN_ASSERT(token != 0);
  if (free_numbers_.empty() && opened_.size() >> Notice::kNumberBits) return false;
  Registrations::Hold memory = registrations_.try_hold(at, bytes, true);
  if (!memory) return false;
  if (free_numbers_.empty()) {
    free_numbers_.push_back(std::uint32_t(opened_.size()));
    opened_.emplace_back();
  }
  buffer = {memory.region().remote_address(at), memory.region().key(), free_numbers_.back()};
  free_numbers_.pop_back();
  opened_[buffer.number] = {std::move(memory), token};
  return true;
}

bool Transfers::try_end(std::uint32_t number, Inbox& inbox) noexcept {
  if (number >= opened_.size() || opened_[number].token == 0) return false;
  const std::uint64_t token = std::exchange(opened_[number].token, 0);
  opened_[number].memory = {};
  free_numbers_.push_back(number);
  inbox.moved(Moved::filled, token, true);
  return true;
}

}  // namespace dunlin::transport::ofi
