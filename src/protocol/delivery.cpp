#include "protocol/delivery.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "datatype/cursor.hpp"

namespace dunlin::protocol {

std::size_t fit(ReceiveRequest& request, std::uint64_t bytes) noexcept {
  const std::uint64_t room = request.data.bytes;
  if (bytes > room) {
    request.completion.error =
        fail(Err::truncate, "the message has %llu bytes, the receive buffer only room for %llu",
             static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(room));
    bytes = room;
  }
  return request.completion.bytes = bytes;
}

void unpack(const Target& to, std::size_t position, const transport::Payload& payload, std::size_t head,
            std::size_t bytes) noexcept {
  DUNLIN_ASSERT(position + bytes <= to.bytes);
  if (bytes == 0) return;
  if (to.is_contiguous()) return payload.copy_to(to.address + position, head, bytes);
  Cursor cursor(to);
  cursor.seek(position);
  const bool is_behind_first = head == payload.first.size() && bytes <= payload.second.size();
  if (is_behind_first || head + bytes <= payload.first.size()) {
    cursor.unpack(is_behind_first ? payload.second.data() : payload.first.data() + head, bytes);
    return;
  }
  for (std::byte part[1024]; bytes > 0;) {
    const std::size_t now = std::min(bytes, sizeof part);
    payload.copy_to(part, head, now);
    cursor.unpack(part, now);
    head += now;
    bytes -= now;
  }
}

}  // namespace dunlin::protocol
