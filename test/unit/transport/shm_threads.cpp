// Ring, inbox and sleep between threads that run at the same time: for ThreadSanitizer, and against lost
// wake-ups.
#include <gtest/gtest.h>

#include <atomic>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "os/clock.hpp"
#include "transport/shm/attention.hpp"
#include "transport/shm/inbox.hpp"
#include "transport/shm/ring.hpp"

namespace dunlin::transport::shm {
namespace {

/// Shared memory as a fresh segment has it.
template <class T>
struct Zeroed {
  explicit Zeroed(std::size_t count) : memory(count * sizeof(T) + 64), at(align(memory.data())) {}
  static T* align(std::byte* from) {
    return reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(from) + 63) & ~std::uintptr_t{63});
  }
  std::vector<std::byte> memory;
  T* at;
};

std::size_t bytes_of(int message, std::size_t bytes_max) {
  return std::size_t(std::uint32_t(message) * 2654435761u >> 8) % (bytes_max + 1);
}

/// One ring, and the word of the process that writes it.
struct RingMemory {
  RingMemory(std::uint64_t line_count, std::uint64_t bulk_bytes)
      : lines(line_count), bulk(bulk_bytes), credits(1), writer(1),
        place{lines.at, bulk.at, credits.at, writer.at, line_count, bulk_bytes} {}
  Zeroed<Line> lines;
  Zeroed<std::byte> bulk;
  Zeroed<Credits> credits;
  Zeroed<Attention> writer;
  const RingPlace place;
  mutable AllRings all{1 << 20};
};

/// 0, 1, 2, ...: a message's bytes begin with its number, and the next are one more each.  They are compared
/// all at once: a look at each would be most of what ThreadSanitizer has to do here.
std::vector<std::byte> counted_up(std::size_t bytes_max) {
  std::vector<std::byte> all(256 + bytes_max);
  for (std::size_t at = 0; at < all.size(); ++at) all[at] = std::byte(at);
  return all;
}

/// With `kind` eager, some messages are taken by their envelope, as a receive does that waits for one.
void exchange_by_ring(const RingPlace& place, int messages, MessageKind kind) {
  const std::size_t bytes_max = place.bytes_max();
  const std::vector<std::byte> counted = counted_up(bytes_max);
  const auto bytes_wanted = [&](int message) { return counted.data() + message % 256; };
  std::thread sender([&] {
    AllRings all{1 << 20};
    RingWriter writer(place, all);
    std::vector<std::byte> data(bytes_max);
    for (int message = 0; message < messages; ++message) {
      const std::size_t bytes = bytes_of(message, bytes_max);
      std::memcpy(data.data(), bytes_wanted(message), bytes);
      const Envelope envelope{std::uint64_t(message), message, -message, std::uint32_t(bytes), kind};
      if (bytes <= Line::kFirstBytes && writer.has_room()) {
        writer.write_short(envelope, data.data());
      } else {
        while (!writer.try_write(envelope, {}, {data.data(), bytes})) std::this_thread::yield();
      }
    }
  });
  RingReader reader(place);
  std::vector<std::byte> data(bytes_max), taken(bytes_max);
  for (int message = 0; message < messages; ++message) {
    const auto deliver = [&](const Envelope& envelope, const Payload& payload) {
      ASSERT_EQ(envelope.source, message);
      ASSERT_EQ(envelope.bytes, bytes_of(message, bytes_max));
      payload.copy_to(data.data(), 0, envelope.bytes);
      ASSERT_EQ(std::memcmp(data.data(), bytes_wanted(message), envelope.bytes), 0) << "message " << message;
    };
    const bool takes = kind == MessageKind::eager && message % 3 != 0;
    const auto try_take = [&] {
      const auto room = std::int64_t(bytes_max);
      std::int64_t bytes = reader.try_take(std::uint64_t(message), message, -message, taken.data(), room);
      if (bytes == RingReader::kOther)
        bytes = reader.try_take_any(std::uint64_t(message), message, -message, taken.data(), room);
      EXPECT_NE(bytes, RingReader::kOther);
      if (bytes < 0) return false;
      EXPECT_EQ(std::size_t(bytes), bytes_of(message, bytes_max));
      EXPECT_EQ(std::memcmp(taken.data(), bytes_wanted(message), std::size_t(bytes)), 0)
          << "message " << message;
      return true;
    };
    while (takes ? !try_take() : !reader.try_read(deliver)) std::this_thread::yield();
  }
  sender.join();
}

void exchange_by_ring(std::uint64_t line_count, std::uint64_t bulk_bytes, int messages = 20'000) {
  for (const MessageKind kind : {MessageKind::control, MessageKind::eager}) {
    const RingMemory memory(line_count, bulk_bytes);
    exchange_by_ring(memory.place, messages, kind);
  }
}

TEST(ShmThreads, TinyRing) { exchange_by_ring(4, 1024); }
TEST(ShmThreads, Ring) { exchange_by_ring(256, 65536); }
TEST(ShmThreads, RecordsInParts) { exchange_by_ring(256, 1 << 20, 500); }
TEST(ShmThreads, RecordsOfMorePartsThanLines) { exchange_by_ring(4, 1 << 20, 500); }

[[gnu::noinline]] bool try_write(RingWriter& writer, MessageKind kind, std::span<const std::byte> data) {
  return writer.try_write({7, 3, 5, std::uint32_t(data.size()), kind}, {}, {data.data(), data.size()});
}

/// A receive takes nothing that is not its message, whatever lies in the ring.
TEST(Ring, OnlyTheMessageAskedForIsTaken) {
  const RingMemory memory(16, 4096);
  const RingPlace& place = memory.place;
  RingWriter writer(place, memory.all);
  RingReader reader(place);
  std::vector<std::byte> data(1024), taken(1024);
  const std::vector<std::size_t> sizes{0, 8, 40, 41, 200, 544, 700};
  for (const std::size_t bytes : sizes) {
    for (std::size_t at = 0; at < bytes; ++at) data[at] = std::byte(bytes + at);
    const std::span<const std::byte> message(data.data(), bytes);
    const auto take = [&](std::uint64_t context, std::int32_t source, std::int32_t tag, std::size_t room) {
      return reader.try_take_any(context, source, tag, taken.data(), std::int64_t(room));
    };
    EXPECT_EQ(take(7, 3, 5, taken.size()), RingReader::kNothing);
    ASSERT_TRUE(try_write(writer, MessageKind::eager, message));
    EXPECT_EQ(take(8, 3, 5, taken.size()), RingReader::kOther);
    EXPECT_EQ(take(7, 4, 5, taken.size()), RingReader::kOther);
    EXPECT_EQ(take(7, 3, 6, taken.size()), RingReader::kOther);
    if (bytes > 0) {
      EXPECT_EQ(take(7, 3, 5, bytes - 1), RingReader::kOther);
    }
    EXPECT_EQ(take(7, 3, 5, bytes), std::int64_t(bytes));
    EXPECT_EQ(std::memcmp(taken.data(), data.data(), bytes), 0);
    ASSERT_TRUE(try_write(writer, MessageKind::rendezvous, message));
    EXPECT_EQ(take(7, 3, 5, taken.size()), RingReader::kOther);
    EXPECT_TRUE(reader.try_read([](const Envelope&, const Payload&) {}));
  }
}

/// A record whose writer was put aside is not taken, whichever of its parts is missing, nor lost.
TEST(Ring, ARecordIsTakenWhenAllItsPartsAreThere) {
  constexpr std::size_t kBytes = (40 << 10) + 8;
  const RingMemory memory(16, 1 << 20);
  RingWriter writer(memory.place, memory.all);
  RingReader reader(memory.place);
  std::vector<std::byte> data(kBytes), taken(kBytes);
  for (std::size_t at = 0; at < kBytes; ++at) data[at] = std::byte(at / 64 + at);
  const std::uint64_t lines = memory.place.parts_of(kBytes);
  ASSERT_EQ(lines, 3);
  std::uint64_t position = 0;
  const auto take = [&] { return reader.try_take_any(7, 3, 5, taken.data(), kBytes); };
  for (std::uint64_t there = 1; there <= lines; ++there, position += lines) {
    ASSERT_TRUE(try_write(writer, MessageKind::eager, data));
    std::vector<std::uint64_t> words;
    for (std::uint64_t line = there; line < lines; ++line)
      words.push_back(memory.lines.at[(position + line) % 16].word.exchange(0));
    for (std::uint64_t line = there; line < lines; ++line) {
      EXPECT_EQ(take(), RingReader::kNothing);
      EXPECT_FALSE(reader.try_read([](const Envelope&, const Payload&) { FAIL(); }));
      memory.lines.at[(position + line) % 16].word = words[line - there];
    }
    std::fill(taken.begin(), taken.end(), std::byte{0});
    EXPECT_EQ(take(), std::int64_t(kBytes));
    EXPECT_EQ(taken, data);
  }
}

TEST(Ring, HalvesAreTwoAndPartsFitHalfARing) {
  for (const std::uint64_t line_count : {4, 8, 16, 256}) {
    const RingMemory memory(line_count, 1 << 20);
    for (std::size_t bytes = 4096; bytes <= 130'000; ++bytes) {
      const std::uint64_t parts = memory.place.parts_of(bytes);
      ASSERT_LE(parts, line_count / 2) << bytes;
      if (bytes <= 32 << 10) {
        ASSERT_EQ(parts, 2) << bytes;
      }
    }
  }
}

/// Two rings together use about as much memory as one alone, and one that is rarely used a sixteenth of it.
TEST(Ring, UsesItsShareOfAllThatIsSent) {
  constexpr std::size_t kBytes = 1 << 20, kMessage = 4096;
  constexpr int kMessages = 8000, kRare = 64;
  const RingMemory memories[3] = {{256, kBytes}, {256, kBytes}, {256, kBytes}};
  AllRings all{kBytes};
  const auto use = [&](std::initializer_list<int> senders) {
    std::vector<RingWriter> writers;
    std::vector<RingReader> readers;
    for (const RingMemory& each : memories) {
      std::memset(each.bulk.at, 0, kBytes);
      std::memset(static_cast<void*>(each.lines.at), 0, 256 * sizeof(Line));
      std::memset(static_cast<void*>(each.credits.at), 0, sizeof(Credits));
      writers.emplace_back(each.place, all);
      readers.emplace_back(each.place);
    }
    const std::vector<std::byte> data(kMessage, std::byte{1});
    for (int message = 0; message < kMessages; ++message)
      for (const int sender : senders) {
        if (sender == 2 && message % kRare != 0) continue;
        ASSERT_TRUE(try_write(writers[std::size_t(sender)], MessageKind::eager, data));
        ASSERT_TRUE(readers[std::size_t(sender)].try_read([](const Envelope&, const Payload&) {}));
      }
  };
  const auto used = [&](int ring) {
    const std::byte* const bulk = memories[ring].bulk.at;
    std::size_t bytes = kBytes;
    while (bytes > 0 && bulk[bytes - 1] == std::byte{0}) --bytes;
    return bytes;
  };
  use({0});
  EXPECT_GT(used(0), kBytes - 2 * kMessage);
  use({0, 1, 2});
  for (const int ring : {0, 1}) {
    EXPECT_LT(used(ring), kBytes / 2 + 2 * kMessage) << ring;
    EXPECT_GT(used(ring), kBytes / 4) << ring;
  }
  EXPECT_LT(used(2), kBytes / 16 + 2 * kMessage);
}

/// A reader that falls behind is given the whole ring, whatever its share.
TEST(Ring, HasRoomForAReaderThatFallsBehind) {
  constexpr std::size_t kBytes = 1 << 20, kMessage = 4096;
  const RingMemory memory(1024, kBytes);
  RingWriter writer(memory.place, memory.all);
  memory.all.sent += std::uint64_t{1} << 40;  // others send much more
  RingReader reader(memory.place);
  const std::vector<std::byte> data(kMessage, std::byte{1});
  for (int lap = 0; lap < 5; ++lap) {
    int written = 0, read = 0;
    while (try_write(writer, MessageKind::eager, data)) ++written;
    EXPECT_GT(written, int(kBytes / (kMessage + 512) / 2)) << lap;
    while (reader.try_read([](const Envelope&, const Payload&) {})) ++read;
    EXPECT_EQ(read, written);
  }
}

/// All that the next message of the same size stores to but its first line; at the end of a ring less.
TEST(Ring, KnowsWhereTheNextMessageGoes) {
  const RingMemory memory(16, 65536);
  RingWriter writer(memory.place, memory.all);
  RingReader reader(memory.place);
  constexpr int kMessages = 60, kFirst = 10;
  for (const std::size_t bytes : {41u, 200u, 392u, 1024u, 4096u, 8000u}) {
    int known = 0;
    for (int message = 0; message < kMessages; ++message) {
      const std::vector<std::byte> data(bytes, std::byte(message + 1));
      const std::span<const std::byte> next = writer.next(bytes);
      ASSERT_TRUE(try_write(writer, MessageKind::eager, data));
      EXPECT_TRUE(reader.try_read([](const Envelope&, const Payload&) {}));
      const bool is_in_lines = bytes <= memory.place.inline_bytes_max();
      if (message < kFirst || (!is_in_lines && next.size() != bytes)) continue;
      known += !next.empty();
      for (std::size_t at = 0; at < next.size(); at += sizeof(Line))
        ASSERT_EQ(next[at + 8], data[0]) << bytes << " " << at;
    }
    EXPECT_EQ(known > kMessages / 2, bytes != 1024) << bytes;  // that one is announced as a whole
  }
}

TEST(ShmThreads, InboxOfManySenders) {
  constexpr int kSenders = 4;
  constexpr int kMessages = 10'000;
  constexpr std::uint64_t kCells = 2;
  constexpr std::uint64_t kCellBytes = 64;
  Zeroed<std::byte> segment(kCellBytes * (1 + kSenders * kCells));
  Zeroed<InboxWords> words(1);
  std::vector<std::thread> senders;
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&, sender] {
      CellPool pool(segment.at, kCellBytes * (1 + std::uint64_t(sender) * kCells), kCellBytes, kCells);
      for (int message = 0; message < kMessages; ++message) {
        std::uint64_t offset = 0;
        while ((offset = pool.try_take()) == 0) std::this_thread::yield();
        Cell& cell = cell_at<Hardware>(segment.at, offset);
        cell.sender = std::uint32_t(sender);
        cell.tag = message;
        std::memcpy(cell.payload(), &message, sizeof message);
        append(*words.at, segment.at, offset);
      }
    });
  }
  InboxReader reader(*words.at, segment.at);
  int next[kSenders] = {};
  for (int received = 0; received < kSenders * kMessages;) {
    const bool has_read = reader.try_read([&](Cell& cell) {
      int message = 0;
      std::memcpy(&message, cell.payload(), sizeof message);
      ASSERT_EQ(cell.tag, message);
      ASSERT_EQ(message, next[cell.sender]++);
      ++received;
    });
    if (!has_read) std::this_thread::yield();
  }
  for (std::thread& sender : senders) sender.join();
  EXPECT_FALSE(reader.try_read([](Cell&) {}));
}

/// Two threads that wake each other, and never sleep longer than it takes the other to answer.
void exchange_wake_ups(bool takes_part, int rounds) {
  Zeroed<Attention> attentions(2);
  std::atomic<int> messages[2] = {};
  std::atomic<int> late{0};
  const bool is_registered = os::register_for_global_barrier();
  const bool must_fence = !takes_part || !is_registered;
  if (must_fence) {
    for (int side = 0; side < 2; ++side) attentions.at[side].ask_for_fences();
  }
  const auto run = [&](int side) {
    constexpr std::int64_t kFarTooLongNs = 2'000'000'000;
    std::mt19937 random{unsigned(side)};
    Attention& mine = attentions.at[side];
    Attention& other = attentions.at[1 - side];
    for (int round = 1; round <= rounds; ++round) {
      if (side == 0) {
        messages[1].store(round, std::memory_order_release);
        if (must_fence || other.is_wanted()) other.attend(must_fence, [] {});
      }
      while (messages[side].load(std::memory_order_acquire) < round) {
        for (unsigned spin = random() % 200; spin > 0; --spin)
          os::pause();  // so that both meet at all moments
        mine.announce();
        if (messages[side].load(std::memory_order_acquire) < round) {
          const auto start = os::now_ns();
          mine.sleep(kFarTooLongNs);
          if (os::now_ns() - start >= kFarTooLongNs) late.fetch_add(1);
        }
        mine.withdraw();
      }
      if (side == 1) {
        messages[0].store(round, std::memory_order_release);
        if (must_fence || other.is_wanted()) other.attend(must_fence, [] {});
      }
    }
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  EXPECT_EQ(late.load(), 0) << "wake-ups lost";
}

TEST(ShmThreads, NoWakeUpIsLost) { exchange_wake_ups(true, 20'000); }
TEST(ShmThreads, NoWakeUpIsLostByFences) { exchange_wake_ups(false, 20'000); }

}  // namespace
}  // namespace dunlin::transport::shm
