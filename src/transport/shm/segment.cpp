// See segment.hpp.
#include "transport/shm/segment.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

#include "base/assert.hpp"
#include "base/variable.hpp"
#include "os/cpu.hpp"
#include "os/grow_file.hpp"

namespace dunlin::transport::shm {
namespace {

IntVariable ring_lines_setting{
    "SHM_RING_LINES",
    256,
    "lines",
    "64-byte lines of the ring between two ranks of a node, rounded up to a power of two",
    4,
    32768};
IntVariable bulk_bytes_setting{"SHM_BULK_BYTES",
                               0,
                               "bytes",
                               "room beside a ring for payloads that are too long for its lines, rounded up "
                               "to a power of two; 0: 256 KiB, "
                               "on processors of AMD twice the second-level cache",
                               0,
                               1 << 26};
IntVariable cells_setting{
    "SHM_CELLS",
    64,
    "cells",
    "cells in which a rank sends its first messages to each peer of the node, rounded up to a power of two",
    1,
    65536};
IntVariable cell_bytes_setting{"SHM_CELL_BYTES",
                               256,
                               "bytes",
                               "size of a cell of DUNLIN_SHM_CELLS with its 48 bytes of header",
                               64,
                               4096};

// On 2 VCPUs of an Intel Sapphire Rapids as on an AMD Zen 5: half round trip of 512 B .45 us by lines, .63 by
// bulk.  Longer ones are no faster by lines on Zen 5, and streams of them slower on both.
IntVariable lines_bytes_setting{
    "SHM_LINES_BYTES",
    512,
    "bytes",
    "payloads up to this size go into the lines of the ring; rounded up to a power of two",
    40,
    32768};

constexpr std::uint64_t kAgreed = std::uint64_t{0xd7} << 56;  // changes with the layout and the lines

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) noexcept { return (bytes + to - 1) / to * to; }

/// Where stores to lines that the receiver still holds are slow, longer than the second-level cache, which
/// then holds none of them: half round trips of 16 and 64 KiB, written before and read after, take 1.5
/// and 4.5 us by 2 MiB, 1.7 and 5.2 by 1 MiB, 2.7 and 9.7 by 256 KiB (2 VCPUs of an AMD Zen 4 with 1 MiB
/// each).  Elsewhere as short as streams allow, whose messages then lie in a small part of that cache: 4 KiB
/// 1.00 us by 256 KiB, 1.11 by 1 MiB, streams of 8 KiB 11.2 GB/s by either and 7.0 by 128 KiB (2 VCPUs of an
/// Intel Emerald Rapids with 2 MiB each).  What all pairs of a rank may fill is bounded where there are many:
/// 128 ranks have 1 MiB a pair, and touch a sixteenth of it unless they talk much.
std::int64_t preset_bulk_bytes(int ranks) noexcept {
  constexpr std::int64_t kShort = 256 << 10, kOfARank = 64 << 20, kLeast = 1 << 20, kMost = 16 << 20;
  if (!os::stores_slowly_to_owned_lines()) return kShort;
  return std::clamp(std::min(2 * std::int64_t(os::cache_bytes(2)), kOfARank / ranks), kLeast, kMost);
}

/// The sizes that all ranks use: those of the first to come here.
Result<Sizes> agree(int fd, std::size_t offset, int ranks) noexcept {
  constexpr std::size_t kBytes = 4096;
  if (!os::try_grow_file(fd, offset + kBytes)) {
    return fail(Err::no_mem, "the node's shared memory cannot be made larger: %s",
                os::why_no_shared_memory(errno));
  }
  void* page = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off_t(offset));
  if (page == MAP_FAILED) {
    return fail(Err::no_mem, "the node's shared memory cannot be mapped: %s",
                os::why_no_shared_memory(errno));
  }
  auto& word = *static_cast<std::atomic<std::uint64_t>*>(page);
  std::uint64_t agreed = 0;
  const std::uint64_t mine = Sizes::wanted(ranks).pack();
  // Relaxed: the word carries all there is to know.
  if (word.compare_exchange_strong(agreed, mine, std::memory_order_relaxed)) agreed = mine;
  munmap(page, kBytes);
  if ((agreed ^ kAgreed) >> 56 != 0)
    return fail(Err::intern, "the node's shared memory is laid out by another version");
  return Sizes::unpack(agreed);
}

}  // namespace

Sizes Sizes::wanted(int ranks) noexcept {
  constexpr std::int64_t kBulkBytesMin = 1024;
  const std::int64_t set = bulk_bytes_setting.get();
  const std::int64_t bulk_bytes = set ? std::max(set, kBulkBytesMin) : preset_bulk_bytes(ranks);
  return {std::bit_ceil(std::uint64_t(ring_lines_setting.get())), std::bit_ceil(std::uint64_t(bulk_bytes)),
          std::bit_ceil(std::uint64_t(cells_setting.get())),
          std::bit_ceil(std::uint64_t(cell_bytes_setting.get())),
          std::bit_ceil(std::uint64_t(lines_bytes_setting.get()))};
}

std::uint64_t Sizes::pack() const noexcept {
  const auto log2 = [](std::uint64_t size) { return std::uint64_t(std::countr_zero(size)); };
  return kAgreed | log2(ring_lines) | log2(bulk_bytes) << 8 | log2(cells) << 16 | log2(cell_bytes) << 24 |
         log2(lines_bytes_max) << 32;
}

Sizes Sizes::unpack(std::uint64_t word) noexcept {
  const auto size = [word](int shift) { return std::uint64_t{1} << ((word >> shift) & 63); };
  return {size(0), size(8), size(16), size(24), size(32)};
}

Segment::Segment(const Sizes& sizes, int ranks) noexcept : sizes_(sizes), ranks_(ranks) {
  first_bytes_ = round_up(kAttentionsOffset + std::uint64_t(ranks) * sizeof(Attention), kPageBytes);
  front_bytes_ = round_up(kDoorbellsOffset + std::uint64_t(ranks) * sizeof(Doorbell), 64);
  const std::uint64_t cells_end =
      front_bytes_ + std::uint64_t(ranks) * kPromotionBytes + sizes.cells * sizes.cell_bytes;
  transfers_offset_ = round_up(cells_end, kPageBytes);
  commons_offset_ = transfers_offset_ + round_up(kTransfers * sizeof(Transfer), kPageBytes);
  pairs_offset_ = commons_offset_ + kCommons * Commons::bytes(ranks);
  pair_bytes_ = round_up(sizeof(Credits) + sizes.ring_lines * sizeof(Line) + sizes.bulk_bytes, kPageBytes);
  region_bytes_ = pairs_offset_ + std::uint64_t(ranks) * pair_bytes_;
  total_bytes_ = first_bytes_ + std::uint64_t(ranks) * region_bytes_;
}

Result<Segment> Segment::open(int fd, std::size_t offset, int ranks) noexcept {
  DUNLIN_ASSERT(offset % kPageBytes == 0);
  DUNLIN_ASSERT(ranks >= 1);
  Result<Sizes> sizes = agree(fd, offset, ranks);
  if (!sizes) return sizes.error();
  Segment segment(*sizes, ranks);
  if (!os::try_grow_file(fd, offset + segment.total_bytes_)) {
    return fail(Err::no_mem, "the node's shared memory cannot grow to %llu bytes: %s",
                static_cast<unsigned long long>(segment.total_bytes_), os::why_no_shared_memory(errno));
  }
  void* base = mmap(nullptr, segment.total_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                    off_t(offset));
  if (base == MAP_FAILED) {
    return fail(Err::no_mem, "%llu bytes of the node's shared memory cannot be mapped: %s",
                static_cast<unsigned long long>(segment.total_bytes_), os::why_no_shared_memory(errno));
  }
  segment.base_ = static_cast<std::byte*>(base);
  return segment;
}

Segment::Segment(Segment&& other) noexcept { *this = std::move(other); }

Segment& Segment::operator=(Segment&& other) noexcept {
  if (this == &other) return *this;
  if (base_) munmap(base_, total_bytes_);
  sizes_ = other.sizes_;
  first_bytes_ = other.first_bytes_;
  front_bytes_ = other.front_bytes_;
  pair_bytes_ = other.pair_bytes_;
  transfers_offset_ = other.transfers_offset_;
  commons_offset_ = other.commons_offset_;
  pairs_offset_ = other.pairs_offset_;
  ranks_ = other.ranks_;
  region_bytes_ = other.region_bytes_;
  total_bytes_ = other.total_bytes_;
  base_ = std::exchange(other.base_, nullptr);
  return *this;
}

Segment::~Segment() {
  if (base_) munmap(base_, total_bytes_);
}

CellPool Segment::cell_pool(int sender) const noexcept {
  const std::uint64_t first = transfers_offset_ - sizes_.cells * sizes_.cell_bytes;
  return {base_, region(sender) + first, sizes_.cell_bytes, sizes_.cells};
}

Commons Segment::commons(int owner, int index) const noexcept {
  DUNLIN_ASSERT(index >= 0 && index < kCommons);
  return {base_ + region(owner) + commons_offset_ + std::uint64_t(index) * Commons::bytes(ranks_), ranks_};
}

RingPlace Segment::ring(int sender, int receiver) const noexcept {
  const std::uint64_t offset = region(receiver) + pairs_offset_ + std::uint64_t(sender) * pair_bytes_;
  RingPlace place;
  place.credits = at<Credits>(offset);
  place.lines = at<Line>(offset + sizeof(Credits));
  place.bulk = reinterpret_cast<std::byte*>(place.lines + sizes_.ring_lines);
  place.writer = &attention(sender);
  place.line_count = sizes_.ring_lines;
  place.bulk_bytes = sizes_.bulk_bytes;
  place.lines_bytes_max = sizes_.lines_bytes_max;
  return place;
}

}  // namespace dunlin::transport::shm
