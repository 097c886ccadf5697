// Who reaches the port of a process but is no rank of its job is not heard.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "test/conformance/transport_node.hpp"
#include "transport/ofi/transport.hpp"

namespace dunlin::test {
namespace {

/// Two processes that know each other's addresses, of which the second may have another secret.
class Two final : private transport::ofi::Directory {
 public:
  bool try_open(std::uint64_t secret, std::uint64_t other_secret) {
    for (int me = 0; me < 2; ++me) {
      auto opened = transport::ofi::Transport::open({me, 2, {}, this});
      if (!opened) return false;
      ends[me] = std::move(*opened);
      ends[me]->set_secret(me == 0 ? secret : other_secret);
    }
    return true;
  }
  void send() {
    const std::byte byte{1};
    while (ends[1]->connect(0)->try_send({.bytes = 1}, {}, {&byte, 1}) != transport::Sent::yes) poll();
  }
  void poll() {
    for (int me = 0; me < 2; ++me) ends[me]->poll(inboxes[me]);
  }
  std::unique_ptr<transport::ofi::Transport> ends[2];
  RecordingInbox inboxes[2];

 private:
  Result<std::string> address_of(int peer) noexcept override { return ends[peer]->address(); }
};

TEST(NetworkStrangers, AreDroppedAndCounted) {
  Two two;
  if (!two.try_open(1, 2)) GTEST_SKIP() << error_detail(Err::other);
  for (int message = 0; message < 100; ++message) two.send();
  for (int polls = 0; two.ends[0]->strangers() < 100; ++polls) {
    ASSERT_LT(polls, 1'000'000);
    two.poll();
  }
  EXPECT_TRUE(two.inboxes[0].messages.empty());
}

TEST(NetworkStrangers, RanksOfTheJobAreHeard) {
  Two two;
  if (!two.try_open(1, 1)) GTEST_SKIP() << error_detail(Err::other);
  two.send();
  for (int polls = 0; two.inboxes[0].messages.empty(); ++polls) {
    ASSERT_LT(polls, 1'000'000);
    two.poll();
  }
  EXPECT_EQ(two.ends[0]->strangers(), 0u);
}

}  // namespace
}  // namespace dunlin::test
