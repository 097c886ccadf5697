// The network of simulated ranks; see network.hpp.
#include "transport/sim/network.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "datatype/cursor.hpp"

namespace dunlin::transport::sim {
namespace {

/// A payload whose first run may be only a part of it, as in a ring of lines.
class CutPayload final : public Payload {
 public:
  CutPayload(std::span<const std::byte> all, std::size_t first_bytes) noexcept : all_(all) {
    first = all.first(first_bytes);
  }
  void copy_to(std::byte* to, std::size_t from, std::size_t bytes) const noexcept override {
    DUNLIN_ASSERT(from + bytes <= all_.size());
    if (bytes > 0) std::memcpy(to, all_.data() + from, bytes);
  }

 private:
  std::span<const std::byte> all_;
};

}  // namespace

Sent Channel::try_send(const Envelope& envelope, std::span<const std::byte> head,
                       const Source& data) noexcept {
  return network_.try_send(lane_, envelope, head, data);
}

std::size_t Channel::bytes_max() const noexcept { return network_.weather().bytes_max; }

Transport::Transport(Network& network, int me) noexcept : network_(network), me_(me) {}

transport::Channel* Transport::connect(int peer) noexcept {
  if (peer < 0 || peer >= network_.size()) return nullptr;
  if (const auto found = channels_.find(peer); found != channels_.end()) return &found->second;
  return &channels_.try_emplace(peer, network_, network_.lane(me_, peer)).first->second;
}

int Transport::poll(Inbox& inbox) noexcept {
  const Network::Lanes& lanes = network_.lanes_[std::size_t(me_)];
  const std::size_t count = lanes.size(), first = count > 0 ? network_.roll(count) : 0;
  int messages = 0;
  for (std::size_t i = 0; i < count; ++i) messages += network_.deliver(*lanes[(first + i) % count], inbox);
  if (network_.give_way) network_.give_way();
  return messages;
}

int Transport::poll_peer(int peer, Inbox& inbox) noexcept {
  return network_.deliver(network_.lane(peer, me_), inbox);
}

Network::Network(int size, const Weather& weather)
    : size_(size), weather_(weather), dice_(weather.seed), lanes_(std::size_t(size)) {
  for (int rank = 0; rank < size; ++rank) transports_.push_back(std::make_unique<Transport>(*this, rank));
}

Lane& Network::lane(int from, int to) noexcept {
  Lanes& lanes = lanes_[std::size_t(to)];
  for (const auto& each : lanes)
    if (each->from == from) return *each;
  lanes.push_back(std::make_unique<Lane>());
  lanes.back()->from = from;
  return *lanes.back();
}

Sent Network::try_send(Lane& lane, const Envelope& envelope, std::span<const std::byte> head,
                       const Source& data) noexcept {
  DUNLIN_ASSERT(head.size() + data.bytes == envelope.bytes);
  DUNLIN_ASSERT(envelope.bytes <= weather_.bytes_max);
  if (lane.is_cut) return Sent::failed;
  if (lane.messages.size() >= weather_.messages_max || chance(weather_.refuse_percent)) return Sent::full;
  Lane::Message message{envelope, std::vector<std::byte>(envelope.bytes)};
  std::copy(head.begin(), head.end(), message.payload.begin());
  std::byte* body = message.payload.data() + head.size();
  if (data.is_contiguous() && data.bytes > 0) std::memcpy(body, data.address, data.bytes);
  if (!data.is_contiguous()) Cursor(data).pack(body, data.bytes);
  lane.messages.push_back(std::move(message));
  ++lane.sent;
  ++under_way_;
  return Sent::yes;
}

int Network::deliver(Lane& lane, Inbox& inbox) noexcept {
  constexpr std::size_t kFirstRunMin = 40;  // what a line of the ring holds
  int messages = 0;
  while (!lane.messages.empty() && !chance(weather_.delay_percent)) {
    const Lane::Message message = std::move(lane.messages.front());
    lane.messages.pop_front();
    --under_way_;
    ++delivered_;
    ++messages;
    const std::size_t bytes = message.payload.size(), least = std::min(bytes, kFirstRunMin);
    const std::size_t first = chance(50) ? bytes : least + std::size_t(roll(bytes - least + 1));
    inbox.arrived(lane.from, message.envelope, CutPayload(message.payload, first));
  }
  return messages;
}

}  // namespace dunlin::transport::sim
