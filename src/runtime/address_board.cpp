#include "runtime/address_board.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/assert.hpp"
#include "os/grow_file.hpp"

namespace dunlin::runtime {

std::size_t AddressBoard::bytes(int node_size) noexcept {
  const std::size_t page = 4096;
  return (std::size_t(node_size) * sizeof(Slot) + page - 1) / page * page;
}

Err AddressBoard::open(int fd, std::size_t offset, int node_size) noexcept {
  DUNLIN_ASSERT(!slots_);
  const std::size_t bytes_needed = bytes(node_size);
  if (!os::try_grow_file(fd, offset + bytes_needed))
    return fail(Err::no_mem, "the node's shared segment cannot grow: %s", os::why_no_shared_memory(errno));
  void* mapped = ::mmap(nullptr, bytes_needed, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off_t(offset));
  if (mapped == MAP_FAILED)
    return fail(Err::no_mem, "the node's shared segment cannot be mapped: %s",
                os::why_no_shared_memory(errno));
  slots_ = static_cast<Slot*>(mapped);
  mapped_bytes_ = bytes_needed;
  return Err::ok;
}

AddressBoard::~AddressBoard() {
  if (slots_) ::munmap(slots_, mapped_bytes_);
}

void AddressBoard::write(int node_rank, std::span<const std::byte> address) noexcept {
  DUNLIN_ASSERT(address.size() <= peer::kPublishedBytesMax);
  Slot& slot = slots_[node_rank];
  std::memcpy(slot.address, address.data(), address.size());
  // B1 (pairs with B2 in read): the address is complete before its length says so.
  slot.bytes.store(address.size(), std::memory_order_release);
}

std::span<const std::byte> AddressBoard::read(int node_rank) const noexcept {
  const Slot& slot = slots_[node_rank];
  return {slot.address, slot.bytes.load(std::memory_order_acquire)};  // B2
}

}  // namespace dunlin::runtime
