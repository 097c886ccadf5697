// The ring of one pair of ranks: messages from one sender to one receiver, in order, without locks.
//
// Called by channel.hpp (writing) and transport.cpp (reading).  Format and measurements: docs/shm.md.
//
//   0       4       8         16      20    24                               64
//   | flag  | meta  | context | source| tag | payload, up to 40 bytes       |   first line of a message
//   | flag  | 0     | payload, up to 56 bytes                               |   its further lines
//   | flag  | meta  | context | source| tag | place in bulk | head, up to 32 |   payload lies there
//
// A protocol header that goes with bulk stays in the line, so that the data begins at a whole line of bulk;
// how long it is stands in the low bits of the place, which is a multiple of 64.
//
// Every line carries its own flag: the low 32 bits of its position + 1.  So a message and its header move
// in one cache line, and a reader needs no other line to see that it is there.
//
// The other way goes one line, `Awaited`: in which buffer the reader waits for the very next message, so that
// the writer may put the data there itself (protocol/placing.cpp) and write a message that says so.
//
// Thread safety: one writer (RingWriter), one reader (RingReader), in different processes.
// Invariants:
//  1. Positions count lines (bytes in the bulk ring) from 0, 64 bits wide, and never wrap; a line lies at its
//     position modulo the ring's size.  All-zero memory is an empty ring.
//  2. The writer alone writes lines and bulk, the reader alone writes `Credits`.
//  3. Lines at positions [credit, credit + size) belong to the writer until it stores their flag, then to the
//     reader until that returns the credit.
//  4. The writer stores the flags of a message in rising order and never stops in between.
//  5. `Awaited` counts for the message at its position only, and the reader writes it only while that is not
//     the next one: so whoever finds it at the writer's position may read it, and use the buffer, until that
//     message is written.
//  6. Flags lie at the same place in every line, and every line is written anew in each lap: old payload is
//     never taken for a flag, and an old flag differs from the awaited one by the size of the ring.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/assert.hpp"
#include "base/copy_short.hpp"
#include "transport/shm/gather.hpp"
#include "transport/shm/hardware.hpp"
#include "transport/transport.hpp"

namespace dunlin::transport::shm {

/// Where and by which message a receive can be met.
struct AwaitedBuffer {
  std::uint64_t context = 0;
  std::int32_t source = 0;
  std::int32_t tag = 0;
  std::uint64_t address = 0;  // in the reader's memory
  std::uint64_t bytes = 0;    // room
  std::uint64_t layout = 0;   // address of its published layout in the reader's memory; 0: contiguous
};

/// One cache line of the ring.
template <class M>
struct alignas(64) BasicLine {
  static constexpr std::size_t kFirstBytes = 40;  // of payload in the first line of a message
  static constexpr std::size_t kNextBytes = 56;   // and in a further one
  static constexpr std::size_t kHeaderBytes = kNextBytes - kFirstBytes;
  static constexpr std::size_t kBulkHeadBytes = kFirstBytes - sizeof(std::uint64_t);

  typename M::template Atomic<std::uint64_t> word;  // flag in the low half, meta in the high half; writer
  std::byte body[kNextBytes];                       // writer

  std::byte* payload() noexcept { return body + kHeaderBytes; }
};

/// What the reader gave back.  A line of its own: the reader writes it once every quarter of the ring.
template <class M>
struct alignas(64) BasicCredits {
  typename M::template Atomic<std::uint64_t> lines;  // position behind the last line read; reader
  typename M::template Atomic<std::uint64_t> bulk;   // position behind the last byte of bulk read; reader
};

/// A receive that waits for the next message of the ring.
template <class M>
struct alignas(64) BasicAwaited {
  typename M::template Atomic<std::uint64_t> position;  // of that message, plus 1; 0: none; reader
  AwaitedBuffer buffer;                                 // reader
};

/// `bytes` and `kind` of an envelope in 32 bits, beside the flag.
struct Meta {
  static constexpr std::uint32_t kBytesMask = (1u << 24) - 1;
  static constexpr std::uint32_t kBulk = 1u << 31;  // payload lies in the bulk ring
  static std::uint32_t pack(const Envelope& envelope) noexcept {
    return envelope.bytes | std::uint32_t(envelope.kind) << 24;
  }
  static std::uint32_t bytes(std::uint32_t meta) noexcept { return meta & kBytesMask; }
  static MessageKind kind(std::uint32_t meta) noexcept { return MessageKind((meta >> 24) & 0xf); }
};

/// Where one ring lies and how large it is.
template <class M>
struct BasicRingPlace {
  BasicLine<M>* lines = nullptr;
  std::byte* bulk = nullptr;
  BasicCredits<M>* credits = nullptr;
  BasicAwaited<M>* awaited = nullptr;
  std::uint64_t line_count = 0;  // a power of two, at least 4
  std::uint64_t bulk_bytes = 0;  // a power of two, at least 1024

  /// Largest payload that goes into lines; more goes into bulk.  At most half a ring, so that it always
  /// fits once the reader has returned all it read but a quarter.
  std::size_t inline_bytes_max() const noexcept {
    constexpr std::size_t kLinesMax =
        10;  // up to 544 bytes lines are faster than bulk (measured: docs/shm.md)
    const std::size_t lines = std::min<std::size_t>(kLinesMax, line_count / 2);
    return BasicLine<M>::kFirstBytes + (lines - 1) * BasicLine<M>::kNextBytes;
  }
  /// Largest payload that goes into bulk.  At most a quarter: twice that (a record and what is skipped at
  /// the end before it) and a quarter not yet returned still fit.
  std::size_t bulk_bytes_max() const noexcept {
    return std::max<std::size_t>(bulk_bytes / 16, std::min<std::size_t>(bulk_bytes / 4, 4096));
  }
  std::size_t bytes_max() const noexcept { return std::max(inline_bytes_max(), bulk_bytes_max()); }
  static std::uint64_t lines_of(std::size_t bytes) noexcept {
    if (bytes <= BasicLine<M>::kFirstBytes) return 1;
    return 1 + (bytes - BasicLine<M>::kFirstBytes + BasicLine<M>::kNextBytes - 1) / BasicLine<M>::kNextBytes;
  }
  /// What a payload of `bytes` takes of bulk.  A gap behind longer ones lets records begin at ever other
  /// places of a page: loads and stores at equal ones delay each other (4 KiB from page to page .227 us half
  /// round trip, else .200).  It fits into the quarter that bulk_bytes_max leaves.
  static std::uint64_t record_of(std::size_t bytes) noexcept {
    constexpr std::uint64_t kGap = 5 * 64;
    return ((bytes + 63) & ~std::uint64_t{63}) + (bytes >= 2048 ? kGap : 0);
  }
};

template <class M>
class BasicRingWriter {
 public:
  using Line = BasicLine<M>;
  using Place = BasicRingPlace<M>;

  BasicRingWriter() = default;  // has no room
  explicit BasicRingWriter(const Place& place) noexcept
      : lines_(place.lines), mask_(place.line_count - 1), limit_(place.line_count), place_(place) {
    DUNLIN_ASSERT((place.line_count & mask_) == 0);
    DUNLIN_ASSERT(place.line_count >= 4);
    DUNLIN_ASSERT((place.bulk_bytes & (place.bulk_bytes - 1)) == 0);
  }

  /// Whether a message of one line fits, as far as we know without asking the reader.
  bool has_room() const noexcept { return position_ != limit_; }

  /// Of the next line; changes with every message.
  std::uint64_t position() const noexcept { return position_; }

  /// The buffer in which the reader waits for the next message, or nullptr.  Good until that is written.
  const AwaitedBuffer* awaited() const noexcept {
    // A2 (pairs with A1 in await): the buffer is there.
    const std::uint64_t position = place_.awaited->position.load(std::memory_order_acquire);
    return position == position_ + 1 ? &place_.awaited->buffer : nullptr;
  }

  void fetch_awaited() const noexcept { __builtin_prefetch(place_.awaited); }

  /// hot path: a message of one line; only when has_room().
  [[gnu::always_inline]] void write_short(const Envelope& envelope, const std::byte* data) noexcept {
    Line& line = lines_[position_ & mask_];
    write_header(line, envelope);
    copy_short(line.payload(), data, envelope.bytes);
    publish(line, Meta::pack(envelope));
  }

  /// A message of any size up to bytes_max(); false when there is no room.
  bool try_write(const Envelope& envelope, std::span<const std::byte> head, const Source& data) noexcept {
    DUNLIN_ASSERT(envelope.bytes <= place_.bytes_max());
    if (envelope.bytes > place_.inline_bytes_max()) return try_write_bulk(envelope, head, data);
    if (!try_reserve_lines(Place::lines_of(envelope.bytes))) return false;
    if (head.empty() && data.is_contiguous()) {
      write_run(envelope, data.address);
    } else {
      Gather gather(head, data);
      write_gathered(envelope, gather);
    }
    return true;
  }

 private:
  static void write_header(Line& line, const Envelope& envelope) noexcept {
    std::memcpy(line.body, &envelope.context, 8);
    std::memcpy(line.body + 8, &envelope.source, 4);
    std::memcpy(line.body + 12, &envelope.tag, 4);
  }

  void publish(Line& line, std::uint32_t meta) noexcept {
    // W1 (pairs with R1 in try_read and R2 in is_complete): header and payload above become visible no
    // later than the flag.  Without it a reader would deliver the payload of the lap before.
    line.word.store(std::uint64_t{meta} << 32 | std::uint32_t(position_ + 1), std::memory_order_release);
    ++position_;
  }

  bool try_reserve_lines(std::uint64_t lines) noexcept {
    if (limit_ - position_ >= lines) return true;
    // R3 (pairs with W3 in return_credits): the reader has copied what lay in the lines below this
    // position, so writing them anew is no race.
    limit_ = place_.credits->lines.load(std::memory_order_acquire) + place_.line_count;
    return limit_ - position_ >= lines;
  }

  /// Payload in one run of memory, through lines.
  void write_run(const Envelope& envelope, const std::byte* data) noexcept {
    Line* line = &lines_[position_ & mask_];
    write_header(*line, envelope);
    std::size_t left = envelope.bytes;
    const std::size_t first = std::min(left, Line::kFirstBytes);
    copy_short(line->payload(), data, first);
    publish(*line, Meta::pack(envelope));
    for (data += first, left -= first; left >= Line::kNextBytes;
         data += Line::kNextBytes, left -= Line::kNextBytes) {
      line = &lines_[position_ & mask_];
      std::memcpy(line->body, data, Line::kNextBytes);
      publish(*line, 0);
    }
    if (left == 0) return;
    line = &lines_[position_ & mask_];
    copy_short(line->body, data, left);
    publish(*line, 0);
  }

  void write_gathered(const Envelope& envelope, Gather& gather) noexcept {
    Line* line = &lines_[position_ & mask_];
    write_header(*line, envelope);
    std::size_t left = envelope.bytes;
    std::size_t part = std::min(left, Line::kFirstBytes);
    gather.take(line->payload(), part);
    publish(*line, Meta::pack(envelope));
    for (left -= part; left > 0; left -= part) {
      line = &lines_[position_ & mask_];
      part = std::min(left, Line::kNextBytes);
      gather.take(line->body, part);
      publish(*line, 0);
    }
  }

  bool try_write_bulk(const Envelope& envelope, std::span<const std::byte> head,
                      const Source& data) noexcept {
    const std::uint64_t size = place_.bulk_bytes;
    const std::size_t head_bytes = head.size() <= Line::kBulkHeadBytes ? head.size() : 0;  // in the line
    const std::size_t bytes = envelope.bytes - head_bytes;
    const std::uint64_t record = Place::record_of(bytes);
    const std::uint64_t offset = bulk_position_ & (size - 1);
    const std::uint64_t skipped = offset + bytes > size ? size - offset : 0;  // payload never wraps
    if (bulk_position_ + skipped + record - bulk_returned_ > size) {
      // R4 (pairs with W4 in return_credits): as R3, for bulk.
      bulk_returned_ = place_.credits->bulk.load(std::memory_order_acquire);
      if (bulk_position_ + skipped + record - bulk_returned_ > size) return false;
    }
    if (!try_reserve_lines(1)) return false;
    const std::uint64_t start = bulk_position_ + skipped;
    Gather(head.subspan(head_bytes), data).take(place_.bulk + (start & (size - 1)), bytes);
    Line& line = lines_[position_ & mask_];
    write_header(line, envelope);
    const std::uint64_t place = start | head_bytes;
    std::memcpy(line.payload(), &place, sizeof place);
    if (head_bytes) std::memcpy(line.payload() + sizeof place, head.data(), head_bytes);
    bulk_position_ = start + record;
    publish(line, Meta::pack(envelope) | Meta::kBulk);
    return true;
  }

  Line* lines_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t position_ = 0;       // of the next line to write
  std::uint64_t limit_ = 0;          // first position that may not be written yet, as far as we know
  std::uint64_t bulk_position_ = 0;  // of the next record
  std::uint64_t bulk_returned_ = 0;  // the reader is done below this, as far as we know
  Place place_{};
};

/// A payload in one run: in the first line of a message, in bulk or in a cell.
class RunPayload final : public Payload {
 public:
  RunPayload(const std::byte* data, std::size_t bytes) noexcept { first = {data, bytes}; }
  void copy_to(std::byte* to, std::size_t from, std::size_t bytes) const noexcept override {
    DUNLIN_ASSERT(from + bytes <= first.size());
    copy_from_bulk(to, first.data() + from, bytes);
  }
};

/// A payload in two: a head in the line, and the rest in bulk.
class HeadedPayload final : public Payload {
 public:
  HeadedPayload(std::span<const std::byte> head, const std::byte* data, std::size_t bytes) noexcept {
    first = head;
    second = {data, bytes};
  }
  void copy_to(std::byte* to, std::size_t from, std::size_t bytes) const noexcept override {
    DUNLIN_ASSERT(from + bytes <= first.size() + second.size());
    if (from < first.size()) {
      const std::size_t part = std::min(bytes, first.size() - from);
      copy_from_bulk(to, first.data() + from, part);
      to += part;
      from += part;
      bytes -= part;
    }
    if (bytes > 0) copy_from_bulk(to, second.data() + (from - first.size()), bytes);
  }
};

/// A payload in several lines of a ring.
template <class M>
class BasicLinesPayload final : public Payload {
 public:
  using Line = BasicLine<M>;
  BasicLinesPayload(Line* lines, std::uint64_t mask, std::uint64_t position, std::size_t bytes) noexcept
      : lines_(lines), mask_(mask), position_(position), bytes_(bytes) {
    DUNLIN_ASSERT(bytes > Line::kFirstBytes);
    first = {lines[position & mask].payload(), Line::kFirstBytes};
  }
  void copy_to(std::byte* to, std::size_t from, std::size_t bytes) const noexcept override {
    DUNLIN_ASSERT(from + bytes <= bytes_);
    if (from < Line::kFirstBytes) {
      const std::size_t part = std::min(bytes, Line::kFirstBytes - from);
      copy_short(to, first.data() + from, part);
      to += part;
      from += part;
      bytes -= part;
    }
    if (bytes == 0) return;
    std::uint64_t position = position_ + 1 + (from - Line::kFirstBytes) / Line::kNextBytes;
    const std::size_t inside = (from - Line::kFirstBytes) % Line::kNextBytes;
    if (inside != 0) {
      const std::size_t part = std::min(bytes, Line::kNextBytes - inside);
      copy_short(to, lines_[position++ & mask_].body + inside, part);
      to += part;
      bytes -= part;
    }
    for (; bytes >= Line::kNextBytes; to += Line::kNextBytes, bytes -= Line::kNextBytes) {
      std::memcpy(to, lines_[position++ & mask_].body, Line::kNextBytes);
    }
    if (bytes != 0) copy_short(to, lines_[position & mask_].body, bytes);
  }

 private:
  Line* lines_;
  std::uint64_t mask_;
  std::uint64_t position_;
  std::size_t bytes_;
};

template <class M>
class BasicRingReader {
 public:
  using Line = BasicLine<M>;
  using Place = BasicRingPlace<M>;

  explicit BasicRingReader(const Place& place) noexcept
      : lines_(place.lines), mask_(place.line_count - 1), quarter_(place.line_count / 4), place_(place) {}

  /// What `try_take` answers besides a number of bytes.
  static constexpr std::int64_t kNothing = -1;  // no message is there
  static constexpr std::int64_t kOther =
      -2;  // one is, but not this one, or not one for this way: try_take_any, else try_read delivers it

  /// hot path: takes the next message if it is a short eager one of this context, source and tag, straight
  /// into `to`, and answers its bytes: about 30 instructions, no call.
  [[gnu::always_inline]] std::int64_t try_take(std::uint64_t context, std::int32_t source, std::int32_t tag,
                                               std::byte* to, std::int64_t bytes_max) noexcept {
    Line& line = lines_[position_ & mask_];
    // R1 (pairs with W1 in publish), as in try_read.
    const std::uint64_t word = line.word.load(std::memory_order_acquire);
    if (std::uint32_t(word) != std::uint32_t(position_ + 1)) return kNothing;
    static_assert(std::uint32_t(MessageKind::eager) == 0);
    const std::uint64_t bytes = word >> 32;  // of an eager message; of any other kind it is larger
    std::uint64_t context_sent, source_and_tag;
    std::memcpy(&context_sent, line.body, 8);
    std::memcpy(&source_and_tag, line.body + 8, 8);
    const std::uint64_t wanted = std::uint64_t{std::uint32_t(tag)} << 32 | std::uint32_t(source);
    if (bytes > Line::kFirstBytes || std::int64_t(bytes) > bytes_max) [[unlikely]]
      return kOther;
    if (context_sent != context || source_and_tag != wanted) [[unlikely]]
      return kOther;
    if (position_ + 1 - returned_ >= quarter_) [[unlikely]]
      return kOther;  // credits are due
    copy_short(to, line.payload(), bytes);
    ++position_;
    return std::int64_t(bytes);
  }

  /// The same for an eager message of any length.
  [[gnu::noinline]] std::int64_t try_take_any(std::uint64_t context, std::int32_t source, std::int32_t tag,
                                              std::byte* to, std::int64_t bytes_max) noexcept {
    Line& line = lines_[position_ & mask_];
    // R1 (pairs with W1 in publish), as in try_read.
    const std::uint64_t word = line.word.load(std::memory_order_acquire);
    if (std::uint32_t(word) != std::uint32_t(position_ + 1)) return kNothing;
    const auto meta = std::uint32_t(word >> 32);
    if (Meta::kind(meta) != MessageKind::eager || std::int64_t(Meta::bytes(meta)) > bytes_max) return kOther;
    const std::uint64_t wanted[] = {context, std::uint64_t{std::uint32_t(tag)} << 32 | std::uint32_t(source)};
    if (std::memcmp(line.body, wanted, sizeof wanted) != 0) return kOther;
    const bool is_taken = try_read([to](const Envelope& envelope, const auto& payload) noexcept {
      if (envelope.bytes != 0) payload.copy_to(to, 0, envelope.bytes);
    });
    return is_taken ? std::int64_t(Meta::bytes(meta)) : kNothing;
  }

  /// Tells the writer where the next message is waited for.  It must be certain that this receive, and no
  /// other, gets that message if its key is the receive's, and that the buffer stays until a message is read.
  void await(const AwaitedBuffer& buffer) noexcept {
    // Relaxed: our own word.  Once written it stands until the message is read: the writer may be using it.
    if (place_.awaited->position.load(std::memory_order_relaxed) == position_ + 1) return;
    place_.awaited->buffer = buffer;
    // A1 (pairs with A2 in awaited).
    place_.awaited->position.store(position_ + 1, std::memory_order_release);
  }

  /// hot path: offers the next message, if it is a short eager one, to `take(context, source_and_tag,
  /// payload, bytes)`; false when there is none, or `take` declines: try_read delivers it.
  template <class Take>
  [[gnu::always_inline]] bool try_read_short(Take&& take) noexcept {
    Line& line = lines_[position_ & mask_];
    // R1 (pairs with W1 in publish), as in try_read.
    const std::uint64_t word = line.word.load(std::memory_order_acquire);
    if (std::uint32_t(word) != std::uint32_t(position_ + 1)) return false;
    const std::uint64_t bytes = word >> 32;  // of an eager message; of any other kind it is larger
    if (bytes > Line::kFirstBytes) [[unlikely]]
      return false;
    std::uint64_t context, source_and_tag;
    std::memcpy(&context, line.body, 8);
    std::memcpy(&source_and_tag, line.body + 8, 8);
    if (!take(context, source_and_tag, line.payload(), std::size_t(bytes))) return false;
    finish(1);
    return true;
  }

  /// hot path: hands the next message to `deliver(const Envelope&, const Payload&)`; false when none is
  /// there.
  template <class Deliver>
  bool try_read(Deliver&& deliver) noexcept {
    Line& line = lines_[position_ & mask_];
    // R1 (pairs with W1 in publish): the flag seen, header and payload of this line are there.
    const std::uint64_t word = line.word.load(std::memory_order_acquire);
    if (std::uint32_t(word) != std::uint32_t(position_ + 1)) return false;
    const auto meta = std::uint32_t(word >> 32);
    Envelope envelope;
    std::memcpy(&envelope.context, line.body, 8);
    std::memcpy(&envelope.source, line.body + 8, 4);
    std::memcpy(&envelope.tag, line.body + 12, 4);
    envelope.bytes = Meta::bytes(meta);
    envelope.kind = Meta::kind(meta);
    if ((meta & (Meta::kBulk | Meta::kBytesMask)) > Line::kFirstBytes) [[unlikely]] {
      return try_read_long(envelope, meta, deliver);
    }
    deliver(envelope, RunPayload(line.payload(), envelope.bytes));
    finish(1);
    return true;
  }

 private:
  template <class Deliver>
  [[gnu::noinline]] bool try_read_long(const Envelope& envelope, std::uint32_t meta,
                                       Deliver&& deliver) noexcept {
    if (meta & Meta::kBulk) {
      const std::byte* const inline_part = lines_[position_ & mask_].payload();
      std::uint64_t place = 0;
      std::memcpy(&place, inline_part, sizeof place);
      const std::uint64_t start = place & ~std::uint64_t{63};
      const std::span head{inline_part + sizeof place, std::size_t(place - start)};
      const std::byte* const data = place_.bulk + (start & (place_.bulk_bytes - 1));
      const std::size_t bytes = envelope.bytes - head.size();
      DUNLIN_ASSERT(start >= bulk_position_);
      if (head.empty()) [[likely]]
        deliver(envelope, RunPayload(data, bytes));
      else
        deliver(envelope, HeadedPayload(head, data, bytes));
      bulk_position_ = start + Place::record_of(bytes);
      finish(1);
      if (bulk_position_ - bulk_returned_ >= place_.bulk_bytes / 4) return_credits();
      return true;
    }
    const std::uint64_t lines = Place::lines_of(envelope.bytes);
    if (!is_complete(position_ + lines - 1)) return false;
    deliver(envelope, BasicLinesPayload<M>(lines_, mask_, position_, envelope.bytes));
    finish(lines);
    return true;
  }

  /// Whether the last line of a message is there.  The writer is filling it, or was put aside by the
  /// scheduler in the middle: then waiting here would not help it, and a later poll looks again.
  bool is_complete(std::uint64_t last) const noexcept {
    for (int polls = 0; polls < M::kPollsForRest; ++polls) {
      // R2 (pairs with W1 in publish): flags are stored in rising order, so the last one vouches for all
      // lines.
      const std::uint64_t word = lines_[last & mask_].word.load(std::memory_order_acquire);
      if (std::uint32_t(word) == std::uint32_t(last + 1)) return true;
      M::pause();
    }
    return false;
  }

  void finish(std::uint64_t lines) noexcept {
    position_ += lines;
    if (position_ - returned_ >= quarter_) [[unlikely]]
      return_credits();
  }

  [[gnu::noinline]] void return_credits() noexcept {
    returned_ = position_;
    bulk_returned_ = bulk_position_;
    // W4 (pairs with R4 in try_write_bulk) and W3 (pairs with R3 in try_reserve_lines): our reads of
    // these lines and bytes come before the writer's next stores to them.
    place_.credits->bulk.store(bulk_position_, std::memory_order_release);
    place_.credits->lines.store(position_, std::memory_order_release);
  }

  Line* lines_;
  std::uint64_t mask_;
  std::uint64_t position_ = 0;  // of the next line to read
  std::uint64_t returned_ = 0;  // what Credits::lines says
  std::uint64_t quarter_;
  std::uint64_t bulk_position_ = 0;  // behind the last record read
  std::uint64_t bulk_returned_ = 0;  // what Credits::bulk says
  Place place_;
};

using Line = BasicLine<Hardware>;
using Credits = BasicCredits<Hardware>;
using Awaited = BasicAwaited<Hardware>;
using RingPlace = BasicRingPlace<Hardware>;
using RingWriter = BasicRingWriter<Hardware>;
using RingReader = BasicRingReader<Hardware>;

static_assert(sizeof(Line) == 64);
static_assert(sizeof(Credits) == 64);
static_assert(sizeof(Awaited) == 64);

}  // namespace dunlin::transport::shm
