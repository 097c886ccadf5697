// See transport.hpp.
#include "transport/self/transport.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/assert.hpp"
#include "base/little_behind.hpp"
#include "datatype/cursor.hpp"

namespace dunlin::transport::self {
namespace {

/// A message lying in the sender's own buffers: head, then data.
class OwnPayload final : public Payload {
 public:
  OwnPayload(std::span<const std::byte> head, const Source& data) noexcept : head_(head), data_(data) {
    if (head.empty() && data.is_contiguous()) {
      first = {data.address, data.bytes};
      return;
    }
    const std::size_t bytes = std::min(start_.size(), head.size() + data.bytes);
    OwnPayload::copy_to(start_.data(), 0, bytes);
    first = {start_.data(), bytes};
  }

  void copy_to(std::byte* to, std::size_t from, std::size_t bytes) const noexcept override {
    if (from < head_.size()) {
      const std::size_t part = std::min(bytes, head_.size() - from);
      std::memcpy(to, head_.data() + from, part);
      to += part;
      from += part;
      bytes -= part;
    }
    if (bytes == 0) return;
    const std::size_t position = from - head_.size();
    if (data_.is_contiguous()) {
      copy_block(to, data_.address + position, bytes);
      return;
    }
    Cursor cursor(data_);
    cursor.seek(data_.position + position);
    cursor.pack(to, bytes);
  }

 private:
  std::span<const std::byte> head_;
  const Source& data_;
  std::array<std::byte, 192> start_;  // headers are read in place from `first`; they fit
};

}  // namespace

Sent Channel::try_send(const Envelope& envelope, std::span<const std::byte> head,
                       const Source& data) noexcept {
  DUNLIN_ASSERT(head.size() + data.bytes == envelope.bytes);
  if (is_delivering_) return Sent::full;
  is_delivering_ = true;
  inbox_.arrived(me_, envelope, OwnPayload(head, data));
  is_delivering_ = false;
  return Sent::yes;
}

}  // namespace dunlin::transport::self
