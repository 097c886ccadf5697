// The ring of one pair of ranks: messages from one sender to one receiver, in order, without locks.
//
// Called by channel.hpp (writing) and transport.cpp (reading).  Format and measurements: docs/shm.md.
//
//   0       4       8         16      20    24                               64
//   | flag  | meta  | context | source| tag | payload, up to 40 bytes       |   first line of a message
//   | flag  | 0     | payload, up to 56 bytes                               |   its further lines
//   | flag  | meta  | context | source| tag | place in bulk | head, up to 32 |   payload lies there
//   | flag  | 0     | nothing                                               |   a further part of it is there
//
// Every line carries its own flag, the low 32 bits of its position + 1.  So a message and its header move in
// one cache line, and a reader needs no other line to see that it is there.  Of a longer one it looks for the
// last line before it copies any: then all its loads overlap, and take no line away that is being written
// (looking for each line in turn: streams of 64 to 512 B a quarter slower on an Intel Sapphire Rapids).
//
// A protocol header that goes with bulk stays in the line, so that the data begins at a whole line of bulk;
// how long it is stands in the low bits of the place, which is a multiple of 64.  A long record is announced
// in parts, by a line each: the reader copies one, or fetches it, while the writer copies the next.
//
// Thread safety: one writer (RingWriter), one reader (RingReader), in different processes.
// Invariants:
//  1. Positions count lines (bytes in the bulk ring) from 0, 64 bits wide, and never wrap; a line lies at its
//     position modulo the ring's size.  All-zero memory is an empty ring.
//  2. The writer alone writes lines and bulk, the reader alone writes `Credits`.
//  3. Lines at positions [credit, credit + size) belong to the writer until it stores their flag, then to the
//     reader until that returns the credit.
//  4. The writer stores the flags of a message in rising order and never waits in between: it has room for
//     all of them before it begins.
//  5. Flags lie at the same place in every line, and every line is written anew in each lap: old payload is
//     never taken for a flag, and an old flag differs from the awaited one by the size of the ring.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "base/copy_short.hpp"
#include "copy/copy.hpp"
#include "transport/shm/attention.hpp"
#include "transport/shm/gather.hpp"
#include "transport/shm/hardware.hpp"
#include "transport/shm/lap.hpp"
#include "transport/transport.hpp"

namespace dunlin::transport::shm {

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
  BasicAttention<M>* writer = nullptr;  // of the process that writes the ring
  std::uint64_t line_count = 0;         // a power of two, at least 4
  std::uint64_t bulk_bytes = 0;         // a power of two, at least 1024
  std::uint64_t lines_bytes_max = 512;  // payload up to this size goes into lines, where these hold it

  /// Largest payload that goes into lines; more goes into bulk.  At most half a ring, so that it always
  /// fits once the reader has returned all it read but a quarter.
  std::size_t inline_bytes_max() const noexcept {
    const std::uint64_t further = line_count / 2 - 1;
    return std::min(lines_bytes_max, BasicLine<M>::kFirstBytes + further * BasicLine<M>::kNextBytes);
  }
  /// Largest payload that goes into bulk, beside a head that stays in the line.  At most a quarter: twice
  /// that (a record and what is skipped at the end before it) and what is not yet returned still fit.
  std::size_t bulk_bytes_max() const noexcept { return share_of_bulk(8) + BasicLine<M>::kBulkHeadBytes; }
  /// Where payloads follow each other: both sides copy at once.  From a stack to another, 2 VCPUs of an Intel
  /// Emerald Rapids, whole or in pieces: 16 KiB 3.1 and 3.7 us, 32 KiB 5.1 and 5.5, 64 KiB 9.6 and 8.1.
  std::size_t piece_bytes_max() const noexcept { return share_of_bulk(16); }
  /// The reader returns bulk in steps of this size.
  std::uint64_t bulk_step() const noexcept { return bulk_bytes / 16; }
  std::size_t bytes_max() const noexcept { return std::max(inline_bytes_max(), bulk_bytes_max()); }
  /// Of a short ring a larger one.
  std::size_t share_of_bulk(std::uint64_t parts) const noexcept {
    return std::max(bulk_bytes / parts, std::min<std::uint64_t>(bulk_bytes / 4, 4096));
  }
  static std::uint64_t lines_of(std::size_t bytes) noexcept {
    if (bytes <= BasicLine<M>::kFirstBytes) return 1;
    return 1 + (bytes - BasicLine<M>::kFirstBytes + BasicLine<M>::kNextBytes - 1) / BasicLine<M>::kNextBytes;
  }
  static bool is_in_parts(std::size_t bytes) noexcept { return bytes >= 4096; }
  /// Measured: docs/shm.md.  As many parts as half a ring has lines at most, as for a payload in lines.
  std::size_t part_bytes_of(std::size_t bytes) const noexcept {
    if (!is_in_parts(bytes)) return bytes;
    const std::size_t most = std::min<std::size_t>((bytes + 1) / 2, 16 << 10);
    return (std::max(most, (2 * bytes + line_count - 1) / line_count) + 63) & ~std::size_t{63};
  }
  std::uint64_t parts_of(std::size_t bytes) const noexcept {
    return is_in_parts(bytes) ? (bytes + part_bytes_of(bytes) - 1) / part_bytes_of(bytes) : 1;
  }
  /// What a payload of `bytes` takes of bulk.  A gap behind longer ones lets records begin at different
  /// places of a page: a load and a store at equal ones delay each other.
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
  BasicRingWriter(const Place& place, AllRings& all) noexcept
      : lines_(place.lines), mask_(place.line_count - 1), limit_(place.line_count),
        lap_(place.bulk_bytes, all), place_(place) {
    DUNLIN_ASSERT((place.line_count & mask_) == 0);
    DUNLIN_ASSERT(place.line_count >= 4);
    DUNLIN_ASSERT((place.bulk_bytes & (place.bulk_bytes - 1)) == 0);
  }

  /// Whether a message of one line fits, as far as we know without asking the reader.
  bool has_room() const noexcept { return position_ != limit_; }

  /// Of the next line; changes with every message.
  std::uint64_t position() const noexcept { return position_; }

  /// hot path: a message of one line; only when has_room().
  [[gnu::always_inline]] void write_short(const Envelope& envelope, const std::byte* data) noexcept {
    Line& line = lines_[position_ & mask_];
    write_header(line, envelope);
    copy_short(line.payload(), data, envelope.bytes);
    publish(line, Meta::pack(envelope));
  }

  /// Whether the reader's cache is about as far as memory: then bulk is stored around the caches.
  bool is_far() const noexcept { return distance_.is_far(); }
  typename M::Distance& distance() noexcept { return distance_; }

  /// A message of any size up to bytes_max(); false when there is no room.
  bool try_write(const Envelope& envelope, std::span<const std::byte> head, const Source& data) noexcept {
    DUNLIN_ASSERT(envelope.bytes <= place_.bytes_max());
    if (envelope.bytes > place_.inline_bytes_max()) return try_write_bulk(envelope, head, data);
    if (!try_reserve_lines(Place::lines_of(envelope.bytes))) return false;
    if (head.empty() && data.is_contiguous()) {
      const std::byte* from = data.address;
      write_lines(envelope, [&from](std::byte* to, std::size_t bytes) noexcept {
        copy_short(to, from, bytes);
        from += bytes;
      });
    } else {
      Gather gather(head, data);
      write_lines(envelope, [&gather](std::byte* to, std::size_t bytes) noexcept { gather.take(to, bytes); });
    }
    return true;
  }

  /// Where one more message of this size would be written, but for its first line, at which the reader looks.
  /// Nothing for bulk that is announced as a whole: the reader's prefetchers run ahead into it, and 1 KiB
  /// becomes 8 % slower (2 VCPUs of an Intel Emerald Rapids).
  std::span<const std::byte> next(std::size_t bytes) const noexcept {
    if (bytes <= place_.inline_bytes_max()) {
      const std::uint64_t first = (position_ + 1) & mask_;
      const std::uint64_t count = std::min(Place::lines_of(bytes) - 1, place_.line_count - first);
      return {reinterpret_cast<const std::byte*>(lines_ + first), count * sizeof(Line)};
    }
    if (!Place::is_in_parts(bytes)) return {};
    const std::uint64_t first = bulk_position_ & (place_.bulk_bytes - 1);
    return {place_.bulk + (first + bytes > lap_.bytes() ? 0 : first), bytes};
  }

 private:
  static void write_header(Line& line, const Envelope& envelope) noexcept {
    std::memcpy(line.body, &envelope.context, 8);
    std::memcpy(line.body + 8, &envelope.source, 4);
    std::memcpy(line.body + 12, &envelope.tag, 4);
  }

  static void write_bulk_header(Line& line, const Envelope& envelope, std::uint64_t start,
                                std::span<const std::byte> head) noexcept {
    write_header(line, envelope);
    const std::uint64_t place = start | head.size();
    std::memcpy(line.payload(), &place, sizeof place);
    if (!head.empty()) std::memcpy(line.payload() + sizeof place, head.data(), head.size());
  }

  void publish(Line& line, std::uint32_t meta) noexcept {
    // W1 (pairs with R1 in front and R2 in has_line): header and payload above become visible no
    // later than the flag.  Without it a reader would deliver the payload of the lap before.
    line.word.store(std::uint64_t{meta} << 32 | std::uint32_t(position_ + 1), std::memory_order_release);
    ++position_;
  }

  bool try_reserve_lines(std::uint64_t lines) noexcept {
    if (limit_ - position_ >= lines) return true;
    look_at_credits();
    return limit_ - position_ >= lines;
  }

  void look_at_credits() noexcept {
    const std::uint64_t before = distance_.before_load();
    // R3 (pairs with W3 in return_credits): the reader has copied what lay in the lines below this
    // position, so writing them anew is no race.
    const std::uint64_t limit = place_.credits->lines.load(std::memory_order_acquire) + place_.line_count;
    distance_.after_load(before, limit != limit_);
    limit_ = limit;
    // R4 (pairs with W4 in return_credits): as R3, for bulk.
    bulk_returned_ = place_.credits->bulk.load(std::memory_order_acquire);
  }

  /// `take(to, bytes)` copies the next bytes of the payload.  Lines are handed over, as the reader fetches
  /// several: 64 B .42 to .35 us (Intel Sapphire Rapids).  Streams of single lines, and bulk, lose by it.
  template <class Take>
  void write_lines(const Envelope& envelope, Take&& take) noexcept {
    Line* line = &lines_[position_ & mask_];
    write_header(*line, envelope);
    std::size_t left = envelope.bytes;
    std::size_t part = std::min(left, Line::kFirstBytes);
    take(line->payload(), part);
    publish(*line, Meta::pack(envelope));
    M::hand_over(line);
    while (left -= part) {
      line = &lines_[position_ & mask_];
      part = std::min(left, Line::kNextBytes);
      take(line->body, part);
      publish(*line, 0);
      M::hand_over(line);
    }
  }

  bool try_write_bulk(const Envelope& envelope, std::span<const std::byte> head,
                      const Source& data) noexcept {
    const std::size_t head_bytes = head.size() <= Line::kBulkHeadBytes ? head.size() : 0;  // in the line
    const std::size_t bytes = envelope.bytes - head_bytes;
    const std::uint64_t record = Place::record_of(bytes);
    if (!try_reserve_lines(place_.parts_of(bytes))) return false;
    const std::uint64_t start = reserve_bulk(bytes, record);
    if (start == kNoRoom) return false;
    std::byte* const to = place_.bulk + (start & (place_.bulk_bytes - 1));
    const copy::Hint hint = is_far() ? copy::Hint::off_cache : copy::Hint::cached;
    Gather gather(head.subspan(head_bytes), data);
    const std::size_t part = place_.part_bytes_of(bytes);
    // What goes around the caches by halves: all stores of a step have to arrive before its lines.
    const std::size_t step = is_far() ? part * std::max<std::uint64_t>(place_.parts_of(bytes) / 2, 1) : part;
    std::uint32_t meta = Meta::pack(envelope) | Meta::kBulk;  // of the first line
    for (std::size_t at = 0; at < bytes; at += step) {
      const std::size_t end = std::min(at + step, bytes);
      gather.take(to + at, end - at, hint);
      if (at == 0) write_bulk_header(lines_[position_ & mask_], envelope, start, head.first(head_bytes));
      for (std::size_t told = at; told < end; told += part)
        publish(lines_[position_ & mask_], std::exchange(meta, 0));
    }
    bulk_position_ = start + record;
    lap_.count(record);
    return true;
  }

  /// Where the next record of bulk begins: behind the last one or, as payload never wraps, with the next lap.
  std::uint64_t reserve_bulk(std::size_t bytes, std::uint64_t record) noexcept {
    const std::uint64_t offset = bulk_position_ & (place_.bulk_bytes - 1);
    const std::uint64_t next_lap = bulk_position_ + place_.bulk_bytes - offset;
    if (offset + bytes > lap_.bytes() && offset != 0 && has_bulk(next_lap + record)) {
      lap_.begin_next(offset);
      return next_lap;
    }
    if (offset + bytes <= place_.bulk_bytes && has_bulk(bulk_position_ + record)) return bulk_position_;
    return kNoRoom;
  }

  /// Whether bulk up to this position is ours to write.
  bool has_bulk(std::uint64_t end) noexcept {
    if (end - bulk_returned_ <= place_.bulk_bytes) return true;
    look_at_credits();
    return end - bulk_returned_ <= place_.bulk_bytes;
  }

  static constexpr std::uint64_t kNoRoom = UINT64_MAX;
  Line* lines_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t position_ = 0;       // of the next line to write
  std::uint64_t limit_ = 0;          // first position that may not be written yet, as far as we know
  std::uint64_t bulk_position_ = 0;  // of the next record
  std::uint64_t bulk_returned_ = 0;  // the reader is done below this, as far as we know
  Lap lap_;
  typename M::Distance distance_;
  Place place_{};
};

/// The payload of the message at the front of a ring: what its first line holds, and then more lines or a
/// record of bulk.
template <class M>
class BasicRingPayload final : public Payload {
 public:
  using Line = BasicLine<M>;
  using Place = BasicRingPlace<M>;

  BasicRingPayload(const Place& place, std::uint64_t position) noexcept : place_(place), position_(position) {
    Line& line = line_at(position);
    // Relaxed: the reader has seen this word before (R1 in front).
    const auto meta = std::uint32_t(line.word.load(std::memory_order_relaxed) >> 32);
    bytes_ = Meta::bytes(meta);
    if (!(meta & Meta::kBulk)) {
      lines_ = Place::lines_of(bytes_);
      first = {line.payload(), std::min(bytes_, Line::kFirstBytes)};
      return;
    }
    std::uint64_t where = 0;
    std::memcpy(&where, line.payload(), sizeof where);
    const std::uint64_t start = where & ~std::uint64_t{63};
    first = {line.payload() + sizeof where, std::size_t(where - start)};
    second = {place.bulk + (start & (place.bulk_bytes - 1)), bytes_ - first.size()};
    bulk_end_ = start + Place::record_of(second.size());
    lines_ = place.parts_of(second.size());
    if (lines_ > 1) part_bytes_ = place.part_bytes_of(second.size());
    if (first.empty()) std::swap(first, second);
  }

  /// Lines of the message, and the position behind its record in bulk; 0: it has none.
  std::uint64_t lines() const noexcept { return lines_; }
  std::uint64_t bulk_end() const noexcept { return bulk_end_; }

  /// Whether all of it is there, or comes soon; parts that are there are fetched meanwhile.  Of a writer that
  /// was put aside by the scheduler nothing comes soon: a later poll looks again.
  bool is_complete() const noexcept {
    if (part_bytes_ == 0) return has_line_soon(lines_ - 1);
    const std::byte* const record = second.empty() ? first.data() : second.data();
    std::size_t fetched = 0;
    for (std::uint64_t line = 1; line < lines_; ++line) {
      if (has_line(line)) continue;
      for (; fetched < line * part_bytes_; fetched += 64) __builtin_prefetch(record + fetched, 0, 2);
      if (!has_line_soon(line)) return false;
    }
    return true;
  }

  /// Copies all of it, parts as they come; false when one does not come soon: all is to be copied anew.
  bool try_copy_to(std::byte* to) const noexcept {
    if (part_bytes_ == 0 && !has_line_soon(lines_ - 1)) return false;
    const std::size_t in_line = second.empty() ? 0 : first.size();
    std::size_t copied = 0;
    for (std::uint64_t line = part_bytes_ == 0 ? lines_ : 1;; ++line) {
      // One line ahead and no further: a look takes the line away from the writer.
      while (line < lines_ && has_line(line)) ++line;
      const std::size_t there = line == lines_ ? bytes_ : in_line + line * part_bytes_;
      if (there != copied) copy_to(to + copied, copied, there - copied);
      copied = there;
      if (line == lines_) return true;
      if (!has_line_soon(line)) return false;
    }
  }

  void copy_to(std::byte* to, std::size_t from, std::size_t bytes) const noexcept override {
    DUNLIN_ASSERT(from + bytes <= bytes_);
    if (from < first.size()) {
      const std::size_t part = std::min(bytes, first.size() - from);
      copy::bytes(to, first.data() + from, part);
      to += part;
      from += part;
      bytes -= part;
    }
    if (bytes == 0) return;
    if (second.empty())
      copy_lines(to, from - first.size(), bytes);
    else
      copy::bytes(to, second.data() + (from - first.size()), bytes);
  }

 private:
  Line& line_at(std::uint64_t position) const noexcept {
    return place_.lines[position & (place_.line_count - 1)];
  }

  bool has_line(std::uint64_t line) const noexcept {
    // R2 (pairs with W1 in publish): flags are stored in rising order: one vouches for all lines before it.
    const std::uint64_t word = line_at(position_ + line).word.load(std::memory_order_acquire);
    return std::uint32_t(word) == std::uint32_t(position_ + line + 1);
  }
  bool has_line_soon(std::uint64_t line) const noexcept {
    for (int polls = 0; polls < M::kPollsForRest; ++polls) {
      if (has_line(line)) return true;
      M::pause();
    }
    return false;
  }

  void copy_lines(std::byte* to, std::size_t from, std::size_t bytes) const noexcept {
    std::uint64_t position = position_ + 1 + from / Line::kNextBytes;
    if (const std::size_t inside = from % Line::kNextBytes) {
      const std::size_t part = std::min(bytes, Line::kNextBytes - inside);
      copy_short(to, line_at(position++).body + inside, part);
      to += part;
      bytes -= part;
    }
    for (; bytes > Line::kNextBytes; to += Line::kNextBytes, bytes -= Line::kNextBytes)
      std::memcpy(to, line_at(position++).body, Line::kNextBytes);
    if (bytes != 0) copy_short(to, line_at(position).body, bytes);
  }

  const Place& place_;
  const std::uint64_t position_;  // of the first line
  std::size_t bytes_ = 0;
  std::uint64_t lines_ = 1;
  std::uint64_t bulk_end_ = 0;
  std::size_t part_bytes_ = 0;  // of a record that comes in parts
};

template <class M>
class BasicRingReader {
 public:
  using Line = BasicLine<M>;
  using Place = BasicRingPlace<M>;
  using RingPayload = BasicRingPayload<M>;

  /// `must_fence`: this process takes no part in global barriers (attention.hpp).
  explicit BasicRingReader(const Place& place, bool must_fence = false) noexcept
      : lines_(place.lines),
        mask_(place.line_count - 1),
        quarter_(place.line_count / 4),
        place_(place),
        must_fence_(must_fence) {}

  /// The message at the front of the ring, as its first line shows it.
  class Front {
   public:
    explicit operator bool() const noexcept { return line_ != nullptr; }
    /// Whether it is eager and all in this line.
    bool is_short() const noexcept {
      static_assert(std::uint32_t(MessageKind::eager) == 0);
      return word_ >> 32 <= Line::kFirstBytes;  // any other kind, or a longer one, is a larger number
    }
    bool is_in_parts() const noexcept { return (word_ >> 32 & Meta::kBulk) && Place::is_in_parts(bytes()); }
    MessageKind kind() const noexcept { return Meta::kind(std::uint32_t(word_ >> 32)); }
    std::size_t bytes() const noexcept { return Meta::bytes(std::uint32_t(word_ >> 32)); }
    std::uint64_t context() const noexcept { return load(0); }
    std::uint64_t source_and_tag() const noexcept { return load(8); }       // the source in the low half
    const std::byte* payload() const noexcept { return line_->payload(); }  // of a short one
    bool has_key(std::uint64_t context, std::int32_t source, std::int32_t tag) const noexcept {
      const std::uint64_t wanted = std::uint64_t{std::uint32_t(tag)} << 32 | std::uint32_t(source);
      return this->context() == context && source_and_tag() == wanted;
    }
    Envelope envelope() const noexcept {
      const std::uint64_t key = source_and_tag();
      return {context(), std::int32_t(key), std::int32_t(key >> 32), std::uint32_t(bytes()), kind()};
    }

   private:
    friend BasicRingReader;
    Front(Line* line, std::uint64_t word) noexcept : line_(line), word_(word) {}
    std::uint64_t load(std::size_t at) const noexcept {
      std::uint64_t value;
      std::memcpy(&value, line_->body + at, sizeof value);
      return value;
    }
    Line* line_;
    std::uint64_t word_;
  };

  /// hot path: the message at the front; false while none is there.
  [[gnu::always_inline]] Front front() const noexcept {
    Line* const line = lines_ + (position_ & mask_);
    if (!line) __builtin_unreachable();  // else the compiler asks again in every caller
    // R1 (pairs with W1 in publish): the flag seen, header and part of this line are there.
    const std::uint64_t word = line->word.load(std::memory_order_acquire);
    return {std::uint32_t(word) == std::uint32_t(position_ + 1) ? line : nullptr, word};
  }
  /// Its payload; not to be read unless is_complete().
  RingPayload payload() const noexcept { return {place_, position_}; }
  /// Goes on behind it.
  void pop(const RingPayload& payload) noexcept {
    if (payload.bulk_end() != 0) {
      DUNLIN_ASSERT(payload.bulk_end() >= bulk_position_);
      bulk_position_ = payload.bulk_end();
    }
    position_ += payload.lines();
    const bool are_lines_due = position_ - returned_ >= quarter_;
    if (are_lines_due || bulk_position_ - bulk_returned_ >= place_.bulk_step()) return_credits();
  }
  /// hot path: the same for a message of one line.
  void pop_short() noexcept {
    ++position_;
    if (position_ - returned_ >= quarter_) [[unlikely]]
      return_credits();
  }

  /// What `try_take` answers besides a number of bytes.
  static constexpr std::int64_t kNothing = -1;  // no message is there
  static constexpr std::int64_t kOther = -2;    // one is, but not this one, or not one for this way

  /// hot path: takes the next message if it is a short eager one of this context, source and tag, straight
  /// into `to`, and answers its bytes: about 30 instructions, no call.
  [[gnu::always_inline]] std::int64_t try_take(std::uint64_t context, std::int32_t source, std::int32_t tag,
                                               std::byte* to, std::int64_t bytes_max) noexcept {
    const Front message = front();
    if (!message) return kNothing;
    const std::size_t bytes = message.bytes();
    if (!message.is_short() || std::int64_t(bytes) > bytes_max) [[unlikely]]
      return kOther;
    if (!message.has_key(context, source, tag)) [[unlikely]]
      return kOther;
    if (position_ + 1 - returned_ >= quarter_) [[unlikely]]
      return kOther;  // credits are due
    copy_short(to, message.payload(), bytes);
    ++position_;
    return std::int64_t(bytes);
  }

  /// The same for an eager message of any length.
  [[gnu::noinline]] std::int64_t try_take_any(std::uint64_t context, std::int32_t source, std::int32_t tag,
                                              std::byte* to, std::int64_t bytes_max) noexcept {
    const Front message = front();
    if (!message) return kNothing;
    const std::size_t bytes = message.bytes();
    if (message.kind() != MessageKind::eager || std::int64_t(bytes) > bytes_max) return kOther;
    if (!message.has_key(context, source, tag)) return kOther;
    const RingPayload data = payload();
    if (!data.try_copy_to(to)) return kNothing;
    pop(data);
    return std::int64_t(bytes);
  }

  /// Hands the next message to `deliver(const Envelope&, const Payload&)`; false when none is there.
  template <class Deliver>
  bool try_read(Deliver&& deliver) noexcept {
    const Front message = front();
    if (!message) return false;
    const RingPayload data = payload();
    if (!data.is_complete()) return false;
    deliver(message.envelope(), data);
    pop(data);
    return true;
  }

 private:
  [[gnu::noinline]] void return_credits() noexcept {
    if (takes_over_)
      for (; returned_ != position_; ++returned_) take_over(lines_[returned_ & mask_]);
    returned_ = position_;
    bulk_returned_ = bulk_position_;
    // W4 (pairs with R4 in has_bulk) and W3 (pairs with R3 in try_reserve_lines): our reads of
    // these lines and bytes come before the writer's next stores to them.
    place_.credits->bulk.store(bulk_position_, std::memory_order_release);
    place_.credits->lines.store(position_, std::memory_order_release);
    place_.writer->room_returned(must_fence_);
  }

  /// A line that was read is this core's own: so the writer's next store to it is fast (copy.hpp).
  static void take_over(Line& line) noexcept {
    line.word.store(line.word.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

  Line* lines_;
  std::uint64_t mask_;
  std::uint64_t position_ = 0;  // of the next line to read
  std::uint64_t returned_ = 0;  // what Credits::lines says
  std::uint64_t quarter_;
  std::uint64_t bulk_position_ = 0;  // behind the last record read
  std::uint64_t bulk_returned_ = 0;  // what Credits::bulk says
  Place place_;
  bool must_fence_;
  bool takes_over_ = M::takes_over(quarter_ * sizeof(Line));
};

using Line = BasicLine<Hardware>;
using Credits = BasicCredits<Hardware>;
using RingPlace = BasicRingPlace<Hardware>;
using RingPayload = BasicRingPayload<Hardware>;
using RingWriter = BasicRingWriter<Hardware>;
using RingReader = BasicRingReader<Hardware>;

static_assert(sizeof(Line) == 64);
static_assert(sizeof(Credits) == 64);

}  // namespace dunlin::transport::shm
