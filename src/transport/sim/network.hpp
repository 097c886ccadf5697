// A network inside one process, for tests: many engines exchange messages in an order that a seed decides.
//
// Messages of a pair stay in order; everything else is up to the dice: which pairs deliver at a poll and how
// much, when a channel is full, how a payload is cut into runs.  The same seed and the same calls give the
// same run. Used by test/simulate and test/conformance only; not part of the library.
//
// Memory grows with the pairs that talk, not with all pairs: 4,096 ranks are no difficulty.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "transport/transport.hpp"

namespace dunlin::transport::sim {

/// What may happen to messages.
struct Weather {
  std::uint64_t seed = 1;
  std::size_t bytes_max = 4096;  // payload of one message
  std::size_t messages_max = 8;  // under way from one rank to another; beyond: full
  unsigned refuse_percent = 0;   // of sends that find room, but are told `full`
  unsigned delay_percent = 30;   // of chances to deliver a message that are passed
};

class Network;

/// Messages under way from one rank to another.
struct Lane {
  struct Message {
    Envelope envelope;
    std::vector<std::byte> payload;
  };
  int from = 0;
  std::deque<Message> messages;
  std::uint64_t sent = 0;
  bool is_cut = false;
};

class Channel final : public transport::Channel {
 public:
  Channel(Network& network, Lane& lane) noexcept : network_(network), lane_(lane) {}
  Sent try_send(const Envelope& envelope, std::span<const std::byte> head,
                const Source& data) noexcept override;
  std::size_t bytes_max() const noexcept override;

 private:
  Network& network_;
  Lane& lane_;
};

class Transport final : public transport::Transport {
 public:
  Transport(Network& network, int me) noexcept;
  const char* name() const noexcept override { return "sim"; }
  transport::Channel* connect(int peer) noexcept override;
  int poll(Inbox& inbox) noexcept override;
  int poll_peer(int peer, Inbox& inbox) noexcept override;

 private:
  Network& network_;
  const int me_;
  std::map<int, Channel> channels_;  // by peer
};

class Network {
 public:
  Network(int size, const Weather& weather);

  int size() const noexcept { return size_; }
  const Weather& weather() const noexcept { return weather_; }
  Transport& transport(int rank) noexcept { return *transports_[std::size_t(rank)]; }
  /// From now on sends from `from` to `to` fail.
  void cut(int from, int to) noexcept { lane(from, to).is_cut = true; }
  /// Messages sent and not delivered.
  std::size_t under_way() const noexcept { return under_way_; }
  std::uint64_t delivered() const noexcept { return delivered_; }
  /// Calls `see(from, to, messages sent)` for every pair that has talked.
  template <class See>
  void for_each_lane(const See& see) const {
    for (int to = 0; to < size_; ++to)
      for (const auto& lane : lanes_[std::size_t(to)]) see(lane->from, to, lane->sent);
  }
  /// Lets other ranks run, where ranks make blocking calls on stacks of their own.  Called at the end of
  /// every poll of a rank's transport, and by `interrupt`.
  std::function<void()> give_way;
  /// For places where a process may be put aside in the midst of its work.
  void interrupt() {
    constexpr unsigned kPercent = 20;
    if (give_way && chance(kPercent)) give_way();
  }
  /// True in `percent` of 100 cases.
  bool chance(unsigned percent) noexcept { return percent > 0 && dice_() % 100 < percent; }
  std::uint64_t roll(std::uint64_t below) noexcept { return dice_() % below; }

 private:
  friend class Channel;
  friend class Transport;
  using Lanes = std::vector<std::unique_ptr<Lane>>;  // in the order of first contact
  Lane& lane(int from, int to) noexcept;
  Sent try_send(Lane& lane, const Envelope& envelope, std::span<const std::byte> head,
                const Source& data) noexcept;
  int deliver(Lane& lane, Inbox& inbox) noexcept;

  const int size_;
  const Weather weather_;
  std::mt19937_64 dice_;
  std::vector<Lanes> lanes_;                            // by receiver
  std::vector<std::unique_ptr<Transport>> transports_;  // by rank
  std::size_t under_way_ = 0;
  std::uint64_t delivered_ = 0;
};

}  // namespace dunlin::transport::sim
