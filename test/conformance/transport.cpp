// What every transport promises (transport/transport.hpp), whatever carries the bytes.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "datatype/datatype.hpp"
#include "datatype/functions.hpp"
#include "test/conformance/transport_node.hpp"

namespace dunlin::test {
namespace {

using transport::Envelope;
using transport::MessageKind;
using transport::Sent;

/// A message's bytes are these, from a place on that depends on its number: made once, since to compute each
/// is most of what a sanitizer has to do here.
const std::byte* pattern_of(std::uint64_t message, std::size_t bytes) {
  constexpr std::size_t kPlaces = 256;
  static std::vector<std::byte> all;
  for (std::size_t at = all.size(); at < kPlaces + bytes; ++at)
    all.push_back(std::byte((at * 7 + at / 251) & 0xff));
  return all.data() + message * 131 % kPlaces;
}

std::vector<std::byte> payload_of(std::uint64_t message, std::size_t bytes) {
  const std::byte* const first = pattern_of(message, bytes);
  return {first, first + bytes};
}

Envelope envelope_of(std::uint64_t message, std::size_t bytes) {
  return {0x1234'5678'9abc'0000 + message, std::int32_t(message % 1000), std::int32_t(message),
          std::uint32_t(bytes), MessageKind(message % 4)};
}

class Transports : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const NodeKind& kind = node_kinds()[std::size_t(GetParam())];
    node_ = kind.make(kind.ends);
    if (!node_) GTEST_SKIP() << "this machine or this build has no network";
  }
  Node& node() { return *node_; }
  int other() { return node().is_self() ? 0 : 1; }

  /// Polls the receiver until the message is out.
  void send(int from, int to, std::uint64_t message, std::size_t bytes, std::size_t head_bytes = 0) {
    const auto data = payload_of(message, bytes);
    const std::span<const std::byte> head(data.data(), head_bytes);
    const Source source{data.data() + head_bytes, bytes - head_bytes};
    for (int tries = 0;; ++tries) {
      ASSERT_LT(tries, 1'000'000) << "no room for " << bytes << " bytes";
      const Sent sent = node().channel(from, to).try_send(envelope_of(message, bytes), head, source);
      ASSERT_NE(sent, Sent::failed);
      if (sent == Sent::yes) return;
      node().poll(to);
    }
  }
  void receive(int end, std::size_t messages) {
    for (int polls = 0; node().inbox(end).messages.size() < messages; ++polls) {
      ASSERT_LT(polls, 1'000'000);
      node().poll(end);
    }
  }
  static void expect(const Message& message, int peer, std::uint64_t number, std::size_t bytes) {
    const Envelope wanted = envelope_of(number, bytes);
    EXPECT_EQ(message.peer, peer);
    EXPECT_EQ(message.envelope.context, wanted.context);
    EXPECT_EQ(message.envelope.source, wanted.source);
    EXPECT_EQ(message.envelope.tag, wanted.tag);
    EXPECT_EQ(message.envelope.bytes, wanted.bytes);
    EXPECT_EQ(message.envelope.kind, wanted.kind);
    EXPECT_TRUE(message.payload == payload_of(number, bytes))
        << "message " << number << " of " << bytes << " bytes";
  }

 private:
  std::unique_ptr<Node> node_;
};

TEST_P(Transports, ReachesItsPeersOnly) {
  for (int from = 0; from < node().ends(); ++from) {
    for (int to = 0; to < node().ends(); ++to) {
      transport::Channel* channel = node().transport(from).connect(node().peer(to));
      EXPECT_EQ(channel != nullptr, node().has_self() || from != to);
      EXPECT_EQ(channel, node().transport(from).connect(node().peer(to)));
    }
    EXPECT_EQ(node().transport(from).connect(node().peer(node().ends() - 1) + 1), nullptr);
  }
}

TEST_P(Transports, NothingArrivesUnsent) {
  for (int end = 0; end < node().ends(); ++end) {
    EXPECT_EQ(node().poll(end), 0);
    for (int peer = 0; peer < node().ends(); ++peer) {
      if (peer == end) continue;
      EXPECT_EQ(node().transport(end).poll_peer(node().peer(peer), node().inbox(end)), 0);
    }
  }
}

TEST_P(Transports, CarriesEverySizeIntactAndInOrder) {
  const std::size_t bytes_max = node().channel(0, other()).bytes_max();
  ASSERT_GE(bytes_max, 128u);
  std::vector<std::size_t> sizes(std::min<std::size_t>(bytes_max, 700) + 1);
  std::iota(sizes.begin(), sizes.end(), 0);
  for (std::size_t bytes = bytes_max; bytes > 700; bytes = bytes * 7 / 8) sizes.push_back(bytes);
  for (std::size_t number = 0; number < sizes.size(); ++number) send(0, other(), number, sizes[number]);
  receive(other(), sizes.size());
  ASSERT_EQ(node().inbox(other()).messages.size(), sizes.size());
  for (std::size_t number = 0; number < sizes.size(); ++number) {
    expect(node().inbox(other()).messages[number], node().peer(0), number, sizes[number]);
  }
  EXPECT_EQ(node().poll(other()), 0);
}

TEST_P(Transports, HeadAndDataAreOnePayload) {
  const std::size_t bytes_max = node().channel(0, other()).bytes_max();
  std::uint64_t number = 0;
  std::vector<std::size_t> sizes;
  for (const std::size_t head : {1u, 8u, 24u, 40u, 41u, 64u}) {
    for (const std::size_t data : {std::size_t{0}, std::size_t{1}, std::size_t{16}, std::size_t{100},
                                   std::size_t{500}, bytes_max - head}) {
      if (head + data > bytes_max) continue;
      send(0, other(), number++, head + data, head);
      sizes.push_back(head + data);
    }
  }
  receive(other(), sizes.size());
  for (number = 0; number < sizes.size(); ++number) {
    expect(node().inbox(other()).messages[number], node().peer(0), number, sizes[number]);
  }
}

/// Two bytes, two bytes of nothing, and so on.
class PairsOfBytes {
 public:
  explicit PairsOfBytes(std::size_t bytes) {
    static const bool is_ready = (init_predefined_datatypes(), true);
    EXPECT_TRUE(is_ready);
    EXPECT_EQ(
        datatype::type_vector(std::int64_t(bytes / 2), 2, 4, *from_handle<Datatype>(MPI_BYTE), false, &type_),
        Err::ok);
    EXPECT_EQ(datatype::type_commit(*type_), Err::ok);
  }
  ~PairsOfBytes() { EXPECT_EQ(datatype::type_free(*type_), Err::ok); }
  /// `packed` as such a layout holds it.
  static std::vector<std::byte> spread(std::span<const std::byte> packed) {
    std::vector<std::byte> spread(2 * packed.size() + 4);
    for (std::size_t at = 0; at < packed.size(); ++at) spread[at / 2 * 4 + at % 2] = packed[at];
    return spread;
  }
  const Datatype* type() const { return type_; }

 private:
  Datatype* type_ = nullptr;
};

TEST_P(Transports, DataNeedNotBeContiguous) {
  const std::size_t bytes_max = node().channel(0, other()).bytes_max() / 2 * 2;
  for (const std::size_t wanted : {2u, 8u, 38u, 40u, 42u, 120u, 600u, 2000u}) {
    const std::size_t bytes = std::min(wanted, bytes_max);
    for (const std::size_t head : {std::size_t{0}, std::size_t{2}, std::min<std::size_t>(64, bytes)}) {
      const auto packed = payload_of(wanted, bytes);
      const std::span<const std::byte> all(packed);
      const auto spread = PairsOfBytes::spread(all.subspan(head));
      const PairsOfBytes pairs(bytes - head);
      const Source source{spread.data(), bytes - head, pairs.type(), 1};
      const std::size_t before = node().inbox(other()).messages.size();
      while (node().channel(0, other()).try_send(envelope_of(wanted, bytes), all.first(head), source) !=
             Sent::yes) {
        node().poll(other());
      }
      receive(other(), before + 1);
      expect(node().inbox(other()).messages.back(), node().peer(0), wanted, bytes);
    }
  }
}

TEST_P(Transports, PayloadCanBeReadInPieces) {
  std::mt19937 random(1);
  std::uint64_t number = 0;
  int pieces = 0;
  node().inbox(other()).look = [&](const transport::Payload& payload, std::size_t bytes) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      const std::size_t from = random() % (bytes + 1);
      const std::size_t part = random() % (bytes - from + 1);
      std::vector<std::byte> piece(part + 2, std::byte{0x5a});
      payload.copy_to(piece.data() + 1, from, part);
      EXPECT_EQ(piece.front(), std::byte{0x5a});
      EXPECT_EQ(piece.back(), std::byte{0x5a});
      ASSERT_TRUE(std::equal(piece.begin() + 1, piece.end() - 1, pattern_of(number, bytes) + from))
          << part << " from " << from << " on, of " << bytes;
      ++pieces;
    }
    ++number;
  };
  const std::size_t bytes_max = std::min<std::size_t>(node().channel(0, other()).bytes_max(), 3000);
  int sent = 0;
  for (std::size_t bytes = 0; bytes <= bytes_max; bytes += 1 + bytes / 9)
    send(0, other(), std::uint64_t(sent++), bytes);
  receive(other(), std::size_t(sent));
  EXPECT_EQ(pieces, 20 * sent);
  node().inbox(other()).look = nullptr;
}

TEST_P(Transports, FullLosesNothing) {
  // Fill until there is no room (or for long enough), empty, and once more: the order stays, nothing is lost.
  std::uint64_t sent = 0;
  const auto size_of = [&](std::uint64_t number) {
    return std::size_t(number * 37 % std::min<std::size_t>(node().channel(0, other()).bytes_max(), 2000));
  };
  for (int round = 0; round < 3; ++round) {
    for (int count = 0; count < 5000; ++count) {
      const auto data = payload_of(sent, size_of(sent));
      const Source source{data.data(), data.size()};
      if (node().channel(0, other()).try_send(envelope_of(sent, data.size()), {}, source) != Sent::yes) break;
      ++sent;
    }
    receive(other(), sent);
  }
  ASSERT_EQ(node().inbox(other()).messages.size(), sent);
  for (std::uint64_t number = 0; number < sent; ++number) {
    expect(node().inbox(other()).messages[number], node().peer(0), number, size_of(number));
  }
}

TEST_P(Transports, LargestMessagesAlwaysFitAgain) {
  const std::size_t bytes_max = node().channel(0, other()).bytes_max();
  const int messages = bytes_max > 10'000 ? 60 : 1000;
  for (int number = 0; number < messages; ++number) {
    send(0, other(), std::uint64_t(number), bytes_max - std::size_t(number % 3));
  }
  receive(other(), std::size_t(messages));
  for (int number = 0; number < messages; ++number) {
    expect(node().inbox(other()).messages[std::size_t(number)], node().peer(0), std::uint64_t(number),
           bytes_max - std::size_t(number % 3));
  }
}

TEST_P(Transports, BatchesKeepEveryMessageAndItsPlace) {
  const std::size_t most = std::min<std::size_t>(node().channel(0, other()).bytes_max(), 70'000);
  const std::size_t sizes[] = {0, 8, 1, 64, 200, 4000, most - 24, most, 7};
  std::mt19937 random(5);
  std::vector<std::size_t> sent;
  const auto send_one = [&] {
    const std::size_t bytes = std::min(sizes[random() % std::size(sizes)], most);
    send(0, other(), sent.size(), bytes, random() % 2 ? std::min<std::size_t>(bytes, 8) : 0);
    sent.push_back(bytes);
  };
  transport::Channel& channel = node().channel(0, other());
  for (int batch = 0; batch < 20; ++batch) {
    channel.begin_batch();
    for (int left = int(random() % 20); left > 0; --left) send_one();
    const bool is_gone = channel.try_end_batch();
    if (random() % 2) send_one();  // behind them, even where they are still here
    for (int tries = 0; !is_gone && !channel.try_end_batch(); ++tries) {
      ASSERT_LT(tries, 1'000'000);
      node().poll(other());
    }
  }
  receive(other(), sent.size());
  for (std::size_t number = 0; number < sent.size(); ++number)
    expect(node().inbox(other()).messages[number], node().peer(0), number, sent[number]);
}

TEST_P(Transports, PollPeerFindsThePeersMessages) {
  const std::size_t bytes_max = node().channel(0, other()).bytes_max();
  for (std::uint64_t number = 0; number < 200; ++number) {
    const std::size_t bytes = number * 3 % bytes_max;
    send(0, other(), number, bytes);
    for (int polls = 0; node().inbox(other()).messages.size() <= number; ++polls) {
      ASSERT_LT(polls, 1000);
      node().step();
      node().transport(other()).poll_peer(node().peer(0), node().inbox(other()));
    }
    expect(node().inbox(other()).messages.back(), node().peer(0), number, bytes);
  }
}

TEST_P(Transports, RandomTrafficKeepsTheOrderOfEachPair) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const int ends = node().ends();
  std::map<std::pair<int, int>, std::vector<std::size_t>> sizes;  // sent, by (from, to)
  const std::size_t bytes_max = std::min<std::size_t>(node().channel(0, other()).bytes_max(), 5000);
  for (int step = 0; step < 20'000; ++step) {
    const int from = int(random() % unsigned(ends));
    const int to =
        node().is_self() ? 0 : int((unsigned(from) + 1 + random() % unsigned(ends - 1)) % unsigned(ends));
    auto& pair = sizes[{from, to}];
    const std::size_t bytes = random() % 4 ? random() % 100 : random() % (bytes_max + 1);
    if (random() % 3) {
      const auto data = payload_of(pair.size(), bytes);
      const Source source{data.data(), data.size()};
      if (node().channel(from, to).try_send(envelope_of(pair.size(), bytes), {}, source) == Sent::yes) {
        pair.push_back(bytes);
      }
    } else if (random() % 2 || node().is_self()) {
      node().poll(to);
    } else {
      node().transport(to).poll_peer(node().peer(from), node().inbox(to));
    }
  }
  for (int to = 0; to < ends; ++to) {
    std::size_t expected = 0;
    for (int from = 0; from < ends; ++from) expected += sizes[{from, to}].size();
    receive(to, expected);
    ASSERT_EQ(node().inbox(to).messages.size(), expected);
    std::vector<std::size_t> next(std::size_t(ends), 0);
    for (const Message& message : node().inbox(to).messages) {
      int from = 0;
      while (node().peer(from) != message.peer) ++from;
      const std::size_t number = next[std::size_t(from)]++;
      const std::vector<std::size_t>& pair = sizes[{from, to}];
      ASSERT_LT(number, pair.size());
      expect(message, message.peer, number, pair[number]);
    }
  }
}

/// What a channel with remote access promises: both ways, in pieces, beside messages.
TEST_P(Transports, LongDataGoesStraightFromBufferToBuffer) {
  transport::RemoteAccess* const here = node().channel(0, other()).remote_access();
  if (!here) GTEST_SKIP() << "moves nothing by itself";
  transport::RemoteAccess& there = *node().channel(other(), 0).remote_access();
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{4096}, std::size_t{100'001}, std::size_t{3'000'000}}) {
    const auto data = payload_of(bytes, bytes);
    const auto wait_for = [&](int end, transport::Moved what, std::uint64_t token) {
      auto& moves = node().inbox(end).moves;
      for (int polls = 0; moves.empty(); ++polls) {
        ASSERT_LT(polls, 1'000'000);
        node().poll(end);
      }
      EXPECT_EQ(moves.size(), 1u);
      EXPECT_EQ(moves[0].what, what);
      EXPECT_EQ(moves[0].token, token);
      EXPECT_TRUE(moves[0].is_ok);
      moves.clear();
    };
    std::vector<std::byte> to(bytes + 1, std::byte{0x5a});
    transport::RemoteBuffer buffer;
    const std::uint64_t opened = there.try_open_for_reads(data.data(), bytes, buffer);
    ASSERT_NE(opened, 0u);
    ASSERT_TRUE(here->try_read(to.data(), bytes, buffer, 7));
    wait_for(0, transport::Moved::read, 7);
    there.close(opened);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), to.begin()));
    EXPECT_EQ(to.back(), std::byte{0x5a});

    std::fill(to.begin(), to.end(), std::byte{0x5a});
    ASSERT_TRUE(there.try_open_for_write(to.data(), bytes, 8, buffer));
    ASSERT_TRUE(here->try_write(data.data(), bytes, buffer, 9));
    send(0, other(), 1, 100);
    wait_for(other(), transport::Moved::filled, 8);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), to.begin()));
    EXPECT_EQ(to.back(), std::byte{0x5a});
    wait_for(0, transport::Moved::written, 9);
  }
}

/// More at once than there are frames, beside messages, into memory that is opened once; then all of it back.
TEST_P(Transports, OneSidedDataGoesToMemoryThatStaysOpen) {
  transport::RemoteAccess* const here = node().channel(0, other()).remote_access();
  if (!here) GTEST_SKIP() << "moves nothing by itself";
  transport::RemoteAccess& there = *node().channel(other(), 0).remote_access();
  constexpr std::size_t kSizes[] = {1, 8, 4096, 100'001}, kTimes = 50;
  const std::size_t bytes = kTimes * std::accumulate(std::begin(kSizes), std::end(kSizes), std::size_t{0});
  const auto data = payload_of(bytes, bytes);
  std::vector<std::byte> window(bytes + 1, std::byte{0x5a}), back = window;
  transport::RemoteBuffer buffer;
  const std::uint64_t opened = there.try_open_for_all(window.data(), bytes, buffer);
  ASSERT_NE(opened, 0u);
  for (const transport::Moved what : {transport::Moved::put, transport::Moved::got}) {
    std::set<std::uint64_t> tokens;
    for (std::size_t at = 0, index = 0; at < bytes; ++index) {
      const std::size_t part = kSizes[index % std::size(kSizes)];
      const transport::RemoteBuffer place{buffer.address + at, buffer.key};
      const bool is_begun = what == transport::Moved::put
                                ? here->try_put(data.data() + at, part, place, index)
                                : here->try_get(back.data() + at, part, place, index);
      ASSERT_TRUE(is_begun);
      tokens.insert(index);
      at += part;
    }
    send(0, other(), 1, 100);
    auto& moves = node().inbox(0).moves;
    for (int polls = 0; !tokens.empty(); ++polls) {
      ASSERT_LT(polls, 1'000'000);
      node().poll(0);
      node().poll(other());
      for (const auto& each : moves) {
        EXPECT_EQ(each.what, what);
        EXPECT_TRUE(each.is_ok);
        EXPECT_EQ(tokens.erase(each.token), 1u);
      }
      moves.clear();
    }
    EXPECT_TRUE(std::equal(data.begin(), data.end(), window.begin()));
    EXPECT_EQ(window.back(), std::byte{0x5a});
  }
  EXPECT_TRUE(node().inbox(other()).moves.empty());
  EXPECT_EQ(back[bytes], std::byte{0x5a});
  back.pop_back();
  EXPECT_EQ(back, data);
  there.close(opened);
}

TEST_P(Transports, APollThatFindsNothingHasLookedEverywhere) {
  const std::string& kind = node_kinds()[std::size_t(GetParam())].name;
  if (!kind.starts_with("shm")) GTEST_SKIP() << "messages take their time";
  for (int tag = 0; tag < 12; ++tag) {  // by inbox, by the promotion to a ring, by the ring
    send(0, other(), tag, 8);
    EXPECT_EQ(node().poll(other()), 1) << "message " << tag;
  }
}

TEST_P(Transports, SleepEndsByTimeOrMessage) {
  transport::Transport& waiter = node().transport(other());
  if (!waiter.can_sleep()) GTEST_SKIP() << "never sleeps";
  waiter.announce_sleep();
  EXPECT_EQ(node().poll(other()), 0);
  waiter.sleep(1'000'000);  // nobody sends: must return
  waiter.withdraw_sleep();
  waiter.announce_sleep();
  send(0, other(), 1, 8);
  waiter.sleep(60'000'000'000);  // the message has cancelled it
  waiter.withdraw_sleep();
  receive(other(), 1);
  expect(node().inbox(other()).messages[0], node().peer(0), 1, 8);
}

TEST_P(Transports, SleepEndsByAnotherThread) {
  transport::Transport& waiter = node().transport(other());
  if (!waiter.can_sleep()) GTEST_SKIP() << "never sleeps";
  waiter.announce_sleep();
  waiter.wake();
  waiter.sleep(60'000'000'000);  // cancelled before it began
  waiter.withdraw_sleep();
  waiter.announce_sleep();
  std::thread other_thread([&waiter] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    waiter.wake();
  });
  waiter.sleep(60'000'000'000);
  waiter.withdraw_sleep();
  other_thread.join();
}

std::vector<int> all_kinds() {
  std::vector<int> kinds(node_kinds().size());
  std::iota(kinds.begin(), kinds.end(), 0);
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(All, Transports, ::testing::ValuesIn(all_kinds()),
                         [](const auto& info) { return node_kinds()[std::size_t(info.param)].name; });

}  // namespace
}  // namespace dunlin::test
