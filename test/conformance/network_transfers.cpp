// Between two processes over a network: a transfer that begins, or ends, where nobody polls at that moment, and
// messages that travel together.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "test/conformance/transport_node.hpp"
#include "transport/ofi/transport.hpp"

namespace dunlin::test {
namespace {

/// Two processes that have not talked yet.
class Strangers final : private transport::ofi::Directory {
 public:
  bool try_open() {
    for (int me = 0; me < 2; ++me) {
      auto opened = transport::ofi::Transport::open({me, 2, {}, this});
      if (!opened) return false;
      ends[me] = std::move(*opened);
    }
    return true;
  }
  void poll(int end) { ends[end]->poll(inboxes[end]); }
  transport::RemoteAccess& access(int from, int to) { return *ends[from]->connect(to)->remote_access(); }
  /// From process 0 into memory of process 1.
  void write(const std::vector<std::byte>& data, std::vector<std::byte>& to, std::uint64_t token) {
    transport::RemoteBuffer buffer;
    ASSERT_TRUE(access(1, 0).try_open_for_write(to.data(), to.size(), token, buffer));
    ASSERT_TRUE(access(0, 1).try_write(data.data(), data.size(), buffer, token));
  }
  std::unique_ptr<transport::ofi::Transport> ends[2];
  RecordingInbox inboxes[2];

 private:
  Result<std::string> address_of(int peer) noexcept override { return ends[peer]->address(); }
};

/// A write that finds no connection is tried again by later polls, also by the one between the announcement
/// of a sleep and the sleep.  Over TCP it is over as soon as the socket has taken it, and the peer says
/// nothing.
TEST(NetworkTransfers, AreNotSleptOverWhereTheLastLookHasBegunThem) {
  Strangers two;
  if (!two.try_open()) GTEST_SKIP() << error_detail(Err::other);
  const std::vector<std::byte> data(8);
  std::vector<std::byte> to(data.size());
  two.write(data, to, 1);
  ASSERT_TRUE(two.inboxes[0].moves.empty());
  for (int looks = 0; two.inboxes[1].moves.empty(); ++looks) {
    ASSERT_LT(looks, 100'000);
    two.ends[0]->announce_sleep();
    two.poll(0);
    for (int polls = 0; polls < 100; ++polls) two.poll(1);  // until it needs the other end, too
  }
  const auto start = std::chrono::steady_clock::now();
  two.ends[0]->sleep(2'000'000'000);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  two.ends[0]->withdraw_sleep();
  two.poll(0);
  ASSERT_EQ(two.inboxes[0].moves.size(), 1u);
  EXPECT_EQ(two.inboxes[0].moves[0].what, transport::Moved::written);
}

/// A ring has few places, and a short message would take one.
TEST(NetworkMessages, ThatAreGatheredTakeOnePlaceOfTheRing) {
  Strangers two;
  if (!two.try_open()) GTEST_SKIP() << error_detail(Err::other);
  transport::Channel& channel = *two.ends[0]->connect(1);
  const std::byte byte{7};
  std::size_t sent = 0;
  const auto try_send = [&] {
    const transport::Envelope envelope{.tag = std::int32_t(sent), .bytes = 1};
    if (channel.try_send(envelope, {}, {&byte, 1}) != transport::Sent::yes) return false;
    return ++sent, true;
  };
  const auto receive = [&] {
    for (int polls = 0; two.inboxes[1].messages.size() < sent; ++polls) {
      ASSERT_LT(polls, 10'000'000);
      two.poll(0);
      two.poll(1);
    }
  };
  for (int first = 0; first < 20; ++first) {  // until there is a ring
    while (!try_send()) two.poll(0), two.poll(1);
    receive();
  }
  std::size_t alone = 0;
  while (alone < 300 && try_send()) ++alone;
  EXPECT_LT(alone, 300u);
  receive();
  while (!try_send()) two.poll(0), two.poll(1);  // until it has heard of that
  channel.gather();
  for (int each = 0; each < 1000; ++each) ASSERT_TRUE(try_send());
  ASSERT_TRUE(channel.send_gathered());
  receive();
  for (std::size_t each = 0; each < sent; ++each)
    ASSERT_EQ(two.inboxes[1].messages[each].envelope.tag, std::int32_t(each));
}

}  // namespace
}  // namespace dunlin::test
