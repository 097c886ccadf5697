// Publishing layouts and reaching buffers by them (layouts.hpp).
#include "protocol/layouts.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/assert.hpp"
#include "datatype/layout.hpp"
#include "datatype/wire.hpp"
#include "heap/heap.hpp"

namespace dunlin::protocol {

namespace {

constexpr std::size_t kTypesMax = 256;  // decoded per peer; to forget one costs decoding it again

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

}  // namespace

std::uint64_t published_layout(const Datatype& type) noexcept {
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

std::span<const std::byte> extent_of(const std::byte* address, std::size_t bytes, const Datatype* type,
                                     std::int64_t count) noexcept {
  if (!type) return {address, bytes};
  if (count == 0) return {};
  const Span span = span_of(*type, count);
  return {address + span.low, std::size_t(span.high - span.low)};
}

Ref<Datatype> PeerLayouts::find(peer::PeerMemory& memory, std::uint64_t layout) noexcept {
  PublishedLayout head;
  if (!try_fetch(memory, layout, &head, sizeof head)) return {};
  if (const auto found = types_.find(head.serial); found != types_.end()) return found->second;
  if (head.bytes > datatype::kWireBytesMax + sizeof head) return {};
  std::vector<std::byte> words(head.bytes);
  if (!try_fetch(memory, layout + sizeof head, words.data(), words.size())) return {};
  Result<Ref<Datatype>> type = datatype::decode_layout(words);
  if (!type || (*type)->size() == 0) return {};
  if (types_.size() >= kTypesMax) types_.erase(types_.begin());
  return types_[head.serial] = *type;
}

MappedBuffer PeerLayouts::map(peer::PeerMemory& memory, const RemoteBuffer& buffer) noexcept {
  DUNLIN_ASSERT(buffer.bytes > 0);
  MappedBuffer mapped;
  mapped.bytes = buffer.bytes;
  if (buffer.layout == 0) {
    mapped.mapping = memory.map(buffer.address, buffer.bytes);
    mapped.address = mapped.mapping.at;
    return mapped;
  }
  mapped.type = find(memory, buffer.layout);
  if (!mapped.type) return mapped;
  const Span span = span_of(*mapped.type, mapped.source().count);
  mapped.mapping = memory.map(buffer.address + std::uint64_t(span.low), std::size_t(span.high - span.low));
  if (mapped.mapping) mapped.address = mapped.mapping.at - span.low;
  return mapped;
}

}  // namespace dunlin::protocol
