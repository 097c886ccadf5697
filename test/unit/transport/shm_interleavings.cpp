// Ring, inbox and sleep in every order of their accesses and of the store buffers behind them.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "test/unit/transport/interleave.hpp"
#include "transport/shm/attention.hpp"
#include "transport/shm/inbox.hpp"
#include "transport/shm/ring.hpp"

namespace dunlin::transport::shm {
namespace {

using test::Interleaver;
using test::Model;

/// Made anew for every run, at the same address: so states of different runs can be compared.
template <class T, class... Arguments>
T* renew(const Arguments&... arguments) {
  static std::optional<T> place;
  return &place.emplace(arguments...);
}

/// On the stack: a run may be left in the middle.
using Bytes = std::array<std::byte, 256>;

Bytes payload_of(int message, std::size_t bytes) {
  Bytes data{};
  for (std::size_t at = 0; at < bytes; ++at) data[at] = std::byte(message * 37 + int(at));
  return data;
}

Envelope envelope_of(int message, std::size_t bytes) {
  return {std::uint64_t(message), message, -message, std::uint32_t(bytes), MessageKind::eager};
}

/// A ring of 4 lines and 1 KB of bulk whose writer and reader have already exchanged some messages.
struct SmallRing {
  explicit SmallRing(int exchanged) : reader(place()) {
    std::memset(static_cast<void*>(lines), 0, sizeof lines);
    writer = BasicRingWriter<Model>(place(), all);
    for (int message = 0; message < exchanged; ++message) {
      EXPECT_TRUE(try_write(message, 8));
      EXPECT_TRUE(try_read());
    }
    next = 0;
  }
  BasicRingPlace<Model> place() { return {lines, bulk, &credits, &attention, 4, sizeof bulk}; }
  bool try_write(int message, std::size_t bytes) {
    const auto data = payload_of(message, bytes);
    return writer.try_write(envelope_of(message, bytes), {}, {data.data(), bytes});
  }
  bool try_read() {
    return reader.try_read([this](const Envelope& envelope, const Payload& payload) {
      Bytes data{};
      payload.copy_to(data.data(), 0, envelope.bytes);
      EXPECT_EQ(envelope.tag, -envelope.source);
      EXPECT_TRUE(data == payload_of(envelope.source, envelope.bytes)) << "message " << envelope.source;
      EXPECT_EQ(envelope.source, next++);
    });
  }
  /// The same by the ways of a receive that knows which message is next.
  bool try_take() {
    Bytes data{};
    std::int64_t bytes = reader.try_take(std::uint64_t(next), next, -next, data.data(), data.size());
    if (bytes == reader.kOther)
      bytes = reader.try_take_any(std::uint64_t(next), next, -next, data.data(), data.size());
    EXPECT_NE(bytes, reader.kOther);
    if (bytes < 0) return false;
    EXPECT_TRUE(data == payload_of(next, std::size_t(bytes))) << "message " << next;
    ++next;
    return true;
  }
  void write_all(const std::vector<std::size_t>& sizes) {
    for (std::size_t message = 0; message < sizes.size(); ++message) {
      Interleaver::poll_until([&] { return try_write(int(message), sizes[message]); });
    }
  }
  void read_all(std::size_t messages, bool takes) {
    while (next < int(messages)) Interleaver::poll_until([&] { return takes ? try_take() : try_read(); });
  }

  alignas(64) BasicLine<Model> lines[4];
  alignas(64) std::byte bulk[1024];
  BasicCredits<Model> credits;
  BasicAttention<Model> attention;
  BasicRingWriter<Model> writer;
  BasicRingReader<Model> reader;
  AllRings all{1024};
  int next = 0;  // message to be read
};

void try_ring(int exchanged, const std::vector<std::size_t>& sizes, bool takes) {
  const auto outcome = Interleaver::explore([&] {
    SmallRing* const ring = renew<SmallRing>(exchanged);
    Interleaver::Program program;
    program.threads = {[ring, &sizes] { ring->write_all(sizes); },
                       [ring, &sizes, takes] { ring->read_all(sizes.size(), takes); }};
    program.check = [ring, &sizes] { EXPECT_EQ(ring->next, int(sizes.size())); };
    return program;
  });
  EXPECT_TRUE(outcome.is_complete) << outcome.runs;
  EXPECT_EQ(outcome.deadlocks, 0u);
  EXPECT_GT(outcome.runs, 10u);
  std::printf("  %llu runs, %llu states\n", static_cast<unsigned long long>(outcome.runs),
              static_cast<unsigned long long>(outcome.states));
}

void try_ring(int exchanged, const std::vector<std::size_t>& sizes) {
  try_ring(exchanged, sizes, false);
  try_ring(exchanged, sizes, true);
}

TEST(RingInterleavings, ShortMessages) { try_ring(0, {8, 0, 40}); }
TEST(RingInterleavings, ShortMessagesWrap) { try_ring(3, {8, 40}); }
TEST(RingInterleavings, TwoLines) { try_ring(0, {60, 8}); }
TEST(RingInterleavings, TwoLinesWrap) { try_ring(3, {96}); }
TEST(RingInterleavings, MoreThanFits) { try_ring(0, {96, 96, 41}); }
TEST(RingInterleavings, SeveralLaps) { try_ring(0, {8, 60, 0, 90, 40, 41}); }
TEST(RingInterleavings, Bulk) { try_ring(0, {200, 8}); }
TEST(RingInterleavings, BulkWraps) { try_ring(1, {256, 250, 200}); }

/// Two senders with one cell each, one receiver.
struct SmallInbox {
  static constexpr std::uint64_t kCellBytes = 128;  // the model's words are wider
  SmallInbox() : reader(words, memory) {
    std::memset(memory, 0, sizeof memory);
    for (std::uint64_t sender = 0; sender < 3; ++sender) {
      pools[sender] = {memory, kCellBytes * (1 + sender), kCellBytes, 1};
    }
  }
  void send(int sender, int messages) {
    for (int message = 0; message < messages; ++message) {
      std::uint64_t offset = 0;
      Interleaver::poll_until([&] { return (offset = pools[sender].try_take()) != 0; });
      auto& cell = cell_at<Model>(memory, offset);
      cell.sender = std::uint32_t(sender);
      cell.tag = message;
      *cell.payload() = std::byte(10 * sender + message);
      append(words, memory, offset);
    }
  }
  void receive(int messages) {
    while (received < messages) {
      Interleaver::poll_until([this] {
        return reader.try_read([this](BasicCell<Model>& cell) {
          EXPECT_EQ(cell.tag, next[cell.sender]++) << "sender " << cell.sender;
          EXPECT_EQ(*cell.payload(), std::byte(10 * int(cell.sender) + cell.tag));
          ++received;
        });
      });
    }
  }

  BasicInboxWords<Model> words;
  alignas(64) std::byte memory[4 * kCellBytes];
  BasicCellPool<Model> pools[3];
  BasicInboxReader<Model> reader;
  int next[3] = {};
  int received = 0;
};

void try_inbox(const std::vector<int>& messages) {
  int sum = 0;
  for (const int count : messages) sum += count;
  const auto outcome = Interleaver::explore([&] {
    SmallInbox* const inbox = renew<SmallInbox>();
    Interleaver::Program program;
    for (std::size_t sender = 0; sender < messages.size(); ++sender) {
      program.threads.push_back(
          [inbox, sender, count = messages[sender]] { inbox->send(int(sender), count); });
    }
    program.threads.push_back([inbox, sum] { inbox->receive(sum); });
    program.check = [inbox, sum] { EXPECT_EQ(inbox->received, sum); };
    return program;
  });
  EXPECT_TRUE(outcome.is_complete) << outcome.runs;
  EXPECT_EQ(outcome.deadlocks, 0u);
  std::printf("  %llu runs, %llu states\n", static_cast<unsigned long long>(outcome.runs),
              static_cast<unsigned long long>(outcome.states));
}

TEST(InboxInterleavings, TwoSenders) { try_inbox({1, 1}); }
TEST(InboxInterleavings, ThreeSenders) { try_inbox({1, 1, 1}); }
TEST(InboxInterleavings, CellIsUsedAgain) { try_inbox({3}); }
TEST(InboxInterleavings, TwoSendersCellIsUsedAgain) { try_inbox({2, 1}); }

/// The model without the barrier that `announce` relies on: must lose wake-ups.
struct ModelWithoutBarrier : Model {
  static bool global_barrier() noexcept { return true; }
};
/// A machine that refuses the barrier.
struct ModelRefusingBarrier : Model {
  static bool global_barrier() noexcept { return false; }
};

template <class M>
struct Sleeper {
  void send() {
    message.store(1, std::memory_order_release);
    if (must_fence || attention.is_wanted()) {
      attention.attend(must_fence, [this] { doorbell.store(1, std::memory_order_release); });
    }
  }
  void receive() {
    Interleaver::poll_until([this] {
      if (message.load(std::memory_order_acquire) != 0) return true;
      attention.announce();
      if (message.load(std::memory_order_acquire) == 0) attention.sleep(1);
      attention.withdraw();
      return false;
    });
  }
  BasicAttention<M> attention;
  typename M::template Atomic<std::uint64_t> message;
  typename M::template Atomic<std::uint64_t> doorbell;
  bool must_fence = false;
};

template <class M>
Interleaver::Outcome try_sleeper(bool must_fence, bool asks_for_fences) {
  return Interleaver::explore([=] {
    Sleeper<M>* const sleeper = renew<Sleeper<M>>();
    sleeper->must_fence = must_fence;
    if (asks_for_fences) sleeper->attention.ask_for_fences();
    Interleaver::Program program;
    program.threads = {[sleeper] { sleeper->send(); }, [sleeper] { sleeper->receive(); }};
    return program;
  });
}

/// A writer sleeps while its ring is full; the reader returns the room.
template <class M>
Interleaver::Outcome try_full_ring(bool must_fence) {
  struct State {
    BasicAttention<M> attention;
    typename M::template Atomic<std::uint64_t> credits;
  };
  return Interleaver::explore([=] {
    State* const state = renew<State>();
    Interleaver::Program program;
    program.threads = {[state, must_fence] {
                         state->credits.store(1, std::memory_order_release);
                         state->attention.room_returned(must_fence);
                       },
                       [state] {
                         Interleaver::poll_until([state] {
                           if (state->credits.load(std::memory_order_acquire) != 0) return true;
                           state->attention.announce(true);
                           if (state->credits.load(std::memory_order_acquire) == 0) state->attention.sleep(1);
                           state->attention.withdraw();
                           return false;
                         });
                       }};
    return program;
  });
}

TEST(SleepInterleavings, RoomWakesTheWriter) {
  for (const bool must_fence : {false, true}) {
    const auto outcome = must_fence ? try_full_ring<ModelWithoutBarrier>(true) : try_full_ring<Model>(false);
    EXPECT_TRUE(outcome.is_complete);
    EXPECT_EQ(outcome.deadlocks, 0u);
  }
  EXPECT_GT(try_full_ring<ModelWithoutBarrier>(false).deadlocks, 0u);
}

TEST(SleepInterleavings, NoWakeUpIsLost) {
  const auto outcome = try_sleeper<Model>(false, false);
  EXPECT_TRUE(outcome.is_complete);
  EXPECT_EQ(outcome.deadlocks, 0u);
}

TEST(SleepInterleavings, WithoutTheBarrierWakeUpsAreLost) {
  EXPECT_GT(try_sleeper<ModelWithoutBarrier>(false, false).deadlocks, 0u);
}

TEST(SleepInterleavings, FencesReplaceTheBarrier) {
  const auto receiver_refused = try_sleeper<ModelRefusingBarrier>(false, true);
  EXPECT_TRUE(receiver_refused.is_complete);
  EXPECT_EQ(receiver_refused.deadlocks, 0u);
  const auto sender_takes_no_part = try_sleeper<ModelWithoutBarrier>(true, false);
  EXPECT_TRUE(sender_takes_no_part.is_complete);
  EXPECT_EQ(sender_takes_no_part.deadlocks, 0u);
}

/// A receiver that asks for doorbells looks once itself, and from then on only where a doorbell has rung.
template <class M>
Interleaver::Outcome try_doorbell() {
  struct State {
    BasicAttention<M> attention;
    typename M::template Atomic<std::uint64_t> message;
    typename M::template Atomic<std::uint64_t> doorbell;
  };
  return Interleaver::explore([] {
    State* const state = renew<State>();
    Interleaver::Program program;
    program.threads = {
        [state] {
          state->message.store(1, std::memory_order_release);
          if (state->attention.is_wanted()) {
            state->attention.attend(false, [state] { state->doorbell.store(1, std::memory_order_release); });
          }
        },
        [state] {
          state->attention.ask_for_doorbells();
          if (state->message.load(std::memory_order_acquire) != 0) return;
          Interleaver::poll_until([state] { return state->doorbell.load(std::memory_order_acquire) != 0; });
          EXPECT_EQ(state->message.load(std::memory_order_acquire), 1u);
        }};
    return program;
  });
}

TEST(DoorbellInterleavings, NoMessageIsOverlooked) {
  const auto outcome = try_doorbell<Model>();
  EXPECT_TRUE(outcome.is_complete);
  EXPECT_EQ(outcome.deadlocks, 0u);
}

TEST(DoorbellInterleavings, WithoutTheBarrierOneIs) {
  EXPECT_GT(try_doorbell<ModelWithoutBarrier>().deadlocks, 0u);
}

/// Several senders, one sleeper: exactly the first clears the bit, and nobody is forgotten.
TEST(SleepInterleavings, TwoSendersWakeOneSleeper) {
  const auto outcome = Interleaver::explore([] {
    struct State {
      BasicAttention<Model> attention;
      Model::Atomic<std::uint64_t> messages[2];
    };
    State* const state = renew<State>();
    Interleaver::Program program;
    for (int sender = 0; sender < 2; ++sender) {
      program.threads.push_back([state, sender] {
        state->messages[sender].store(1, std::memory_order_release);
        if (state->attention.is_wanted()) state->attention.attend(false, [] {});
      });
    }
    program.threads.push_back([state] {
      const auto has_all = [&state] {
        return state->messages[0].load(std::memory_order_acquire) &&
               state->messages[1].load(std::memory_order_acquire);
      };
      Interleaver::poll_until([&] {
        if (has_all()) return true;
        state->attention.announce();
        if (!has_all()) state->attention.sleep(1);
        state->attention.withdraw();
        return false;
      });
    });
    return program;
  });
  EXPECT_TRUE(outcome.is_complete) << outcome.runs;
  EXPECT_EQ(outcome.deadlocks, 0u);
}

}  // namespace
}  // namespace dunlin::transport::shm
