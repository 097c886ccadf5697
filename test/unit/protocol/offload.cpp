#include "protocol/offload.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <vector>

#include "protocol/peers.hpp"

namespace dunlin::protocol {
namespace {

/// Takes receives, and leaves their ends to the test.
class Network final : public transport::Tagged {
 public:
  unsigned bits() const noexcept override { return 64; }
  std::uint64_t bytes_max() const noexcept override { return 1 << 30; }
  std::size_t receives_max() const noexcept override { return 128; }
  std::uint32_t messages_held_max() const noexcept override { return kHeldMost; }
  std::uint64_t bytes_held_max() const noexcept override { return 1 << 10; }
  bool is_lost(int) noexcept override { return has_lost_all; }
  transport::Sent try_send(transport::Operation&, int, std::uint64_t, std::uint32_t,
                           std::span<const std::byte>) noexcept override {
    return transport::Sent::yes;
  }
  bool try_receive(transport::Operation& operation, std::span<std::byte>,
                   const transport::Pattern&) noexcept override {
    receives.push_back(&operation);
    return true;
  }
  void cancel(transport::Operation& operation) noexcept override { withdrawn.push_back(&operation); }
  bool try_look(transport::Operation&, const transport::Pattern&, bool,
                transport::Arrival& found) noexcept override {
    if (held.empty()) return false;
    found.bits = held.front();
    held.pop_front();
    return true;
  }
  bool try_receive_taken(transport::Operation&, std::span<std::byte>) noexcept override { return true; }

  static constexpr std::uint32_t kHeldMost = 20;
  std::vector<transport::Operation*> receives, withdrawn;
  std::deque<std::uint64_t> held;  // bits of messages that nobody has asked for
  bool has_lost_all = false;
};

/// Control messages to a peer, kept for the test.
class Controls final : public transport::Channel {
 public:
  transport::Sent try_send(const transport::Envelope& envelope, std::span<const std::byte> head,
                           const Source&) noexcept override {
    EXPECT_EQ(envelope.kind, transport::MessageKind::control);
    std::memcpy(&said.emplace_back(), head.data(), sizeof(Control));
    return transport::Sent::yes;
  }
  std::size_t bytes_max() const noexcept override { return 1024; }

  std::vector<Control> said;
};

class OffloadEnds : public testing::Test {
 protected:
  static constexpr int kRanks = 4096, kSource = 3, kTag = 7;

  void post(int source, int tag) {
    request.key = {0, source, tag};
    request.data.address = &room;
    request.data.bytes = 1;
    offload.post(request);
  }

  std::byte room;
  Network network;
  Peers peers{0, kRanks};
  const MatchBits bits{64, kRanks};
  Offload offload{peers, network, bits};
  ReceiveRequest request;
};

TEST_F(OffloadEnds, AReceiveThatIsLostSaysWhatItWasFor) {
  post(kSource, kTag);
  ASSERT_EQ(network.receives.size(), 1u);
  offload.received(*network.receives[0], {}, transport::Received::lost);
  EXPECT_TRUE(request.is_complete);
  EXPECT_EQ(request.completion.error, Err::proc_aborted);
  EXPECT_EQ(request.completion.source, kSource);
  EXPECT_EQ(request.completion.tag, kTag);
}

TEST_F(OffloadEnds, AReceiveThatNobodyHasCancelledIsLost) {
  post(match::kAny, kTag);
  ASSERT_EQ(network.receives.size(), 1u);
  offload.received(*network.receives[0], {}, transport::Received::cancelled);
  EXPECT_TRUE(request.is_complete);
  EXPECT_EQ(request.completion.error, Err::proc_aborted);
  EXPECT_FALSE(request.completion.is_cancelled);
}

TEST_F(OffloadEnds, AReceiveIsCancelledWhereThatWasAskedFor) {
  post(kSource, kTag);
  offload.cancel(request);
  ASSERT_EQ(network.withdrawn.size(), 1u);
  offload.received(*network.withdrawn[0], {}, transport::Received::cancelled);
  EXPECT_TRUE(request.is_complete);
  EXPECT_EQ(request.completion.error, Err::ok);
  EXPECT_TRUE(request.completion.is_cancelled);
}

TEST_F(OffloadEnds, AReceiveWithATagThatDoesNotFitSaysWhatItWasFor) {
  post(kSource, bits.tag_max() + 1);
  EXPECT_TRUE(network.receives.empty());
  EXPECT_TRUE(request.is_complete);
  EXPECT_EQ(request.completion.error, Err::tag);
  EXPECT_EQ(request.completion.source, kSource);
  EXPECT_EQ(offload.check_tag({0, kSource, bits.tag_max() + 1}), Err::tag);  // asked by probes
  EXPECT_EQ(offload.check_tag({0, kSource, bits.tag_max()}), Err::ok);
}

TEST_F(OffloadEnds, WhatHasComeIsTheSendersOrOfUnknownOrigin) {
  static const int members[] = {5, 9, 6};
  const auto comm = Ref<Comm>::adopt(new Comm);
  comm->context = 1 << 5;
  comm->target_members = members;
  comm->target_size = 3;
  const auto bits_of = [&](std::uint64_t context, Plane plane, int source) {
    return bits.pattern({context | std::uint64_t(plane), source, kTag}).bits;
  };
  Peer five, nine, other;
  five.index = 5;
  nine.index = 9;
  nine.flow.received = 100;
  network.held = {bits_of(comm->context, Plane::point_to_point, 0),
                  bits_of(comm->context, Plane::collective, 1),
                  bits_of(comm->context, Plane::point_to_point, 1)};
  EXPECT_EQ(offload.come_from(nine).seen, 102u);
  EXPECT_EQ(offload.come_from(nine).received, 100u);
  network.held = {bits_of(2 << 5, Plane::collective, 0)};  // no communicator of this process
  EXPECT_EQ(offload.come_from(five).seen, 2u);
  EXPECT_EQ(offload.come_from(other).seen, 1u);
}

/// A sender, as far as the network takes its messages.
class OffloadSends : public OffloadEnds {
 protected:
  static constexpr int kMost = Network::kHeldMost;

  OffloadSends() { peer.channel = &controls; }
  int send_until_full() {
    for (int count = 0;; ++count) {
      requests.emplace_back().peer = &peer;
      if (offload.try_start(requests.back()) != transport::Sent::yes) return count;
    }
  }
  void hear(std::uint32_t answered, std::uint32_t count) {
    EXPECT_TRUE(offload.try_hear(peer, {.kind = ControlKind::released, .number = answered, .a = count}));
  }

  Controls controls;
  Peer peer;
  std::deque<SendRequest> requests;
};

TEST_F(OffloadSends, WaitAtALimitAndAskOnce) {
  EXPECT_EQ(send_until_full(), kMost);
  EXPECT_EQ(send_until_full(), 0);
  ASSERT_EQ(controls.said.size(), 1u);
  EXPECT_EQ(controls.said[0].kind, ControlKind::more);
  hear(0, kMost / 2);  // as receives take them
  EXPECT_EQ(send_until_full(), kMost / 2);
  ASSERT_EQ(controls.said.size(), 2u);
  hear(controls.said[0].number, 0);  // too late: it was before the last ones
  EXPECT_EQ(send_until_full(), 0);
  ASSERT_EQ(controls.said.size(), 2u);  // else answers stay one question behind
  hear(controls.said[1].number, 0);     // all are taken
  EXPECT_EQ(send_until_full(), kMost);
  hear(0, 10 * kMost);  // more than it knows of, as of those before an answer
  EXPECT_EQ(send_until_full(), kMost);
}

TEST_F(OffloadSends, DoNotWaitForAPeerThatIsLost) {
  EXPECT_EQ(send_until_full(), kMost);
  network.has_lost_all = true;
  EXPECT_EQ(offload.try_start(requests.back()), transport::Sent::failed);
}

}  // namespace
}  // namespace dunlin::protocol
