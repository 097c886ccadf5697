#include "protocol/offload.hpp"

#include <gtest/gtest.h>

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
  transport::Sent try_send(transport::Operation&, int, std::uint64_t, std::uint32_t,
                           std::span<const std::byte>) noexcept override {
    return transport::Sent::full;
  }
  bool try_receive(transport::Operation& operation, std::span<std::byte>,
                   const transport::Pattern&) noexcept override {
    receives.push_back(&operation);
    return true;
  }
  void cancel(transport::Operation& operation) noexcept override { withdrawn.push_back(&operation); }
  bool try_look(transport::Operation&, const transport::Pattern&, bool,
                transport::Arrival&) noexcept override {
    return false;
  }
  bool try_receive_taken(transport::Operation&, std::span<std::byte>) noexcept override { return true; }

  std::vector<transport::Operation*> receives, withdrawn;
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

}  // namespace
}  // namespace dunlin::protocol
