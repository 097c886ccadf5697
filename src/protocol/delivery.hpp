// Into a receive's buffer: how much of a message fits, and payload into any layout.  Used by receiver.cpp and
// rendezvous.cpp.
#pragma once

#include "protocol/requests.hpp"
#include "transport/transport.hpp"

namespace dunlin::protocol {

/// How many of a message's `bytes` the receive has room for; its completion says so.
std::size_t fit(ReceiveRequest& request, std::uint64_t bytes) noexcept;

/// Copies `bytes` of the payload, from `head` on, to packed position `position` of the receive buffer.
void unpack(const Target& to, std::size_t position, const transport::Payload& payload, std::size_t head,
            std::size_t bytes) noexcept;

}  // namespace dunlin::protocol
