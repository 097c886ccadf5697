// A transfer between two processes that begins, or ends, where nobody polls at that moment.
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

}  // namespace
}  // namespace dunlin::test
