// Long data on its way by RDMA, straight from buffer to buffer, and the buffers that are open for it.
//
// Used by the channels of one process (transport::RemoteAccess).  Which buffers stay registered:
// registrations.hpp. A transfer goes in pieces of at most DUNLIN_OFI_PIECE_BYTES, one after the other.
// Document: RDMA channel, zero copy (rows R5 and R6 of docs/sources.md).  Thread safety: base/big_lock.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/ofi/fabric.hpp"
#include "transport/ofi/frames.hpp"
#include "transport/ofi/registrations.hpp"
#include "transport/transport.hpp"

namespace dunlin::transport::ofi {

struct Transfer : Operation {
  Channel* channel;
  std::uint64_t target;  // where libfabric has the peer's address
  std::byte* local;
  std::size_t bytes;
  RemoteBuffer remote;
  std::uint64_t token;
  bool is_write;
  Registrations::Hold memory = {};  // of `local`
  std::size_t done = 0;             // bytes that are over
  std::size_t under_way = 0;        // bytes of the piece that the network has
  Transfer* next = nullptr;         // waiting for room in the network
};

class Transfers {
 public:
  explicit Transfers(Fabric& fabric) noexcept;

  /// False: refused, and forgotten.
  bool try_begin(std::unique_ptr<Transfer> transfer) noexcept;
  /// A piece is over.
  void complete(Transfer& transfer, bool is_ok, Inbox& inbox) noexcept;
  /// Tries again what found no room.
  void go_on(Inbox& inbox) noexcept {
    if (waiting_) go_on_waiting(inbox);
  }

  std::uint64_t try_open_for_reads(const std::byte* at, std::size_t bytes, RemoteBuffer& buffer) noexcept;
  void close(std::uint64_t opened) noexcept;
  bool try_open_for_write(std::byte* at, std::size_t bytes, std::uint64_t token,
                          RemoteBuffer& buffer) noexcept;
  /// The peer has written all of the buffer with this number; false: none has it.
  bool try_end(std::uint32_t number, Inbox& inbox) noexcept;

 private:
  struct Opened {
    Registrations::Hold memory;
    std::uint64_t token = 0;  // 0: the number is free
  };
  void post(Transfer& transfer) noexcept;
  void go_on_waiting(Inbox& inbox) noexcept;

  Fabric& fabric_;
  Registrations registrations_;
  const std::size_t piece_bytes_;
  Transfer* waiting_ = nullptr;
  std::vector<Opened> opened_;  // for writing, by number
  std::vector<std::uint32_t> free_numbers_;
};

}  // namespace dunlin::transport::ofi
