// Publishing layouts and copying by them (layouts.hpp).
#include "protocol/layouts.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/assert.hpp"
#include "datatype/cursor.hpp"
#include "datatype/layout.hpp"
#include "datatype/wire.hpp"
#include "heap/heap.hpp"
#include "protocol/wire.hpp"

namespace dunlin::protocol {

namespace {

constexpr std::size_t kTypesMax = 256;       // decoded per peer; forgetting them costs decoding again
constexpr std::int64_t kReadRunBytes = 512;  // shorter runs on average: iovecs of CMA cost more than packing
constexpr std::size_t kReadPieces = 64;

/// Copies `bytes` bytes at the peer's address `at` to `to`.
bool try_fetch(peer::PeerMemory& memory, std::uint64_t at, void* to, std::size_t bytes) noexcept {
  if (const peer::Mapping mapping = memory.map(at, bytes)) {
    std::memcpy(to, mapping.at, bytes);
    if (memory.is_still_valid(mapping)) return true;
  }
  const peer::Piece here{static_cast<std::byte*>(to), bytes};
  const peer::RemotePiece there{at, bytes};
  return memory.try_read({&here, 1}, {&there, 1});
}

/// The bytes between the first and the last byte of `count` elements, relative to the buffer.
struct Span {
  std::int64_t low, high;
};
Span span_of(const Datatype& type, std::int64_t count) noexcept {
  const std::int64_t last = (count - 1) * type.extent();
  const std::int64_t low = type.true_lower_bound() + std::min(last, std::int64_t{0});
  return {low, type.true_lower_bound() + std::max(last, std::int64_t{0}) + type.true_extent()};
}

/// By gathered reads, for memory that cannot be mapped.  `from` has the peer's addresses.
bool try_read_pieces(peer::PeerMemory& memory, Cursor from, Cursor to, std::size_t bytes) noexcept {
  while (bytes > 0) {
    Piece here[kReadPieces], there[kReadPieces];
    const std::size_t start = to.position(), from_start = from.position();
    to.pieces(here, bytes);
    const std::size_t there_used = from.pieces(there, to.position() - start);
    const std::size_t now = from.position() - from_start;
    to.seek(start);
    const std::size_t here_used = to.pieces(here, now);
    DUNLIN_ASSERT(to.position() - start == now && now > 0);
    peer::Piece ours[kReadPieces];
    peer::RemotePiece theirs[kReadPieces];
    for (std::size_t i = 0; i < here_used; ++i) ours[i] = {here[i].address, here[i].bytes};
    for (std::size_t i = 0; i < there_used; ++i)
      theirs[i] = {reinterpret_cast<std::uint64_t>(there[i].address), there[i].bytes};
    if (!memory.try_read({ours, here_used}, {theirs, there_used})) return false;
    bytes -= now;
  }
  return true;
}

}  // namespace

bool is_scattered(const Source& data) noexcept {
  constexpr std::size_t kEagerBytesMax = 4 << 10;
  constexpr std::int64_t kBlockBytesMax = 64, kStrideMin = 1 << 10;
  if (data.is_contiguous() || data.bytes <= kEagerBytesMax) return false;
  const datatype::Layout& layout = data.type->layout();
  if (layout.form != datatype::Layout::Form::strided || layout.strided.block > kBlockBytesMax) return false;
  const datatype::Strided& s = layout.strided;
  const std::int64_t stride = s.dimensions > 0 ? s.dimension[0].stride : data.type->extent();
  return stride >= kStrideMin || stride <= -kStrideMin;
}

std::uint64_t published_layout(const Source& data) noexcept {
  if (data.is_contiguous()) return 0;
  const Datatype& type = *data.type;
  if (!type.published()) {
    const std::vector<std::byte> words = datatype::encode_layout(type);
    if (words.empty()) return 0;
    auto* block = static_cast<PublishedLayout*>(heap::allocate(sizeof(PublishedLayout) + words.size()));
    if (!block) return 0;
    *block = {type.serial(), words.size()};
    std::memcpy(block + 1, words.data(), words.size());
    type.set_published(block, heap::release);
  }
  return reinterpret_cast<std::uint64_t>(type.published());
}

const Datatype* PeerLayouts::find(peer::PeerMemory& memory, const Offer& offer) noexcept {
  PublishedLayout head;
  if (!try_fetch(memory, offer.layout(), &head, sizeof head)) return nullptr;
  if (const auto found = types_.find(head.serial); found != types_.end()) return found->second.get();
  if (head.bytes > datatype::kWireBytesMax + sizeof head) return nullptr;
  std::vector<std::byte> words(head.bytes);
  if (!try_fetch(memory, offer.layout() + sizeof head, words.data(), words.size())) return nullptr;
  Result<Ref<Datatype>> type = datatype::decode_layout(words);
  if (!type) return nullptr;
  if (types_.size() >= kTypesMax) types_.clear();
  return (types_[head.serial] = *type).get();
}

bool PeerLayouts::try_pull(peer::PeerMemory& memory, const Offer& offer, const Target& to,
                           std::size_t bytes) noexcept {
  const Datatype* type = find(memory, offer);
  if (!type || type->size() == 0) return false;
  const std::int64_t count = static_cast<std::int64_t>(offer.bytes) / type->size();
  if (count == 0) return false;
  const Span span = span_of(*type, count);
  const std::uint64_t first = offer.address + static_cast<std::uint64_t>(span.low);
  if (const peer::Mapping mapping = memory.map(first, static_cast<std::size_t>(span.high - span.low))) {
    copy_data(source_of(*type, mapping.at - span.low, count), to);
    if (memory.is_still_valid(mapping)) return true;
  }
  if (!memory.can_copy_anywhere() || type->size() / type->layout().runs < kReadRunBytes) return false;
  const Source theirs = source_of(*type, reinterpret_cast<const void*>(offer.address), count);
  return try_read_pieces(memory, Cursor(theirs), Cursor(to), bytes);
}

}  // namespace dunlin::protocol
