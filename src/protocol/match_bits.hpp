// Context, source and tag in the few bits that a network matches by.
//
//   leader | number | plane (2) | source | tag       from the high bits to the low
//
// A context is its leader's rank and a number that the leader has counted (comm/process.hpp), so that nothing
// more has to be agreed on for a communicator: both go into the bits, with ranks as wide as the job needs.
// What is left is shared by tag and number: the tag gets what an MPI_TAG_UB of 31 bits takes once the number
// has 16, and never fewer than 15.  Contexts that have no leader (comm/from_group.cpp, while members meet)
// have all bits of the leader set, which is no rank, and the low bits of their hash for a number.
//
// Used by offload.cpp; the runtime has all ranks agree on the bits and tells MPI_TAG_UB and comm/.  Thread
// safety: constant.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/assert.hpp"
#include "match/queue.hpp"
#include "object/comm.hpp"
#include "transport/tagged.hpp"

namespace dunlin::protocol {

class MatchBits {
 public:
  static constexpr unsigned kTagBitsMin = 15;  // MPI_TAG_UB is 32767 at least (MPI 5.0, 9.1.2)
  static constexpr unsigned kTagBitsMax = 31, kNumberBitsMin = 2, kNumberBitsMax = 29;

  /// Whether a job of so many ranks can be told apart by so many bits.
  static bool is_enough(unsigned bits, int ranks) noexcept {
    return bits >= ranks_bits(ranks) + kTagBitsMin + kNumberBitsMin;
  }
  MatchBits(unsigned bits, int ranks) noexcept
      : source_bits_(unsigned(std::bit_width(unsigned(ranks) - 1))),
        leader_bits_(unsigned(std::bit_width(unsigned(ranks)))) {
    DUNLIN_ASSERT(is_enough(bits, ranks));
    const unsigned left = bits - ranks_bits(ranks);
    tag_bits_ = std::clamp(left > 16 ? left - 16 : 0, kTagBitsMin, kTagBitsMax);
    number_bits_ = std::min(left - tag_bits_, kNumberBitsMax);
  }

  int tag_max() const noexcept { return int(mask(tag_bits_)); }
  /// One process can lead so many communicators.
  std::uint32_t numbers() const noexcept { return std::uint32_t(1) << number_bits_; }

  /// `key` may have wildcards.
  transport::Pattern pattern(const match::Key& key) const noexcept {
    const bool is_any_source = key.source == match::kAny, is_any_tag = key.tag == match::kAny;
    const std::uint64_t source = is_any_source ? 0 : std::uint64_t(key.source);
    const std::uint64_t tag = is_any_tag ? 0 : tag_of(key);
    DUNLIN_ASSERT(source <= mask(source_bits_));
    return {.bits = (context(key.context) << source_bits_ | source) << tag_bits_ | tag,
            .ignored =
                (is_any_source ? mask(source_bits_) << tag_bits_ : 0) | (is_any_tag ? mask(tag_bits_) : 0)};
  }
  int source(std::uint64_t bits) const noexcept { return int(bits >> tag_bits_ & mask(source_bits_)); }
  int tag(std::uint64_t bits) const noexcept { return int(bits & mask(tag_bits_)); }
  /// The same for matching by ourselves: two keys fit each other where the patterns do.
  match::Key key(const transport::Pattern& pattern) const noexcept {
    const bool is_any_source = (pattern.ignored >> tag_bits_ & mask(source_bits_)) != 0;
    const bool is_any_tag = (pattern.ignored & mask(tag_bits_)) != 0;
    return {pattern.bits >> (source_bits_ + tag_bits_), is_any_source ? match::kAny : source(pattern.bits),
            is_any_tag ? match::kAny : tag(pattern.bits)};
  }
  /// Back, of a key without wildcards.
  std::uint64_t bits(const match::Key& key) const noexcept {
    return (key.context << source_bits_ | std::uint64_t(key.source)) << tag_bits_ | std::uint64_t(key.tag);
  }

 private:
  static std::uint64_t mask(unsigned bits) noexcept { return (std::uint64_t(1) << bits) - 1; }
  static unsigned ranks_bits(int ranks) noexcept {
    return unsigned(std::bit_width(unsigned(ranks) - 1) + std::bit_width(unsigned(ranks))) + kPlaneBits;
  }
  std::uint64_t context(std::uint64_t context) const noexcept {
    const bool is_named = context >> 63 != 0;
    const std::uint64_t leader = is_named ? mask(leader_bits_) : context >> 34 & mask(22);
    const std::uint64_t number = context >> 5 & mask(is_named ? number_bits_ : 29);
    DUNLIN_ASSERT(number <= mask(number_bits_));
    return (leader << number_bits_ | number) << kPlaneBits | (context & mask(kPlaneBits));
  }
  /// Tags of a program fit.  Those of collectives count, and wrap around here; their top bit, which tells the
  /// persistent ones apart (coll/plan.hpp), stays on top.
  std::uint64_t tag_of(const match::Key& key) const noexcept {
    const auto tag = std::uint64_t(std::uint32_t(key.tag));
    if (tag <= mask(tag_bits_)) return tag;
    return (tag >> (kTagBitsMax - 1) & 1) << (tag_bits_ - 1) | (tag & mask(tag_bits_ - 1));
  }

  static constexpr unsigned kPlaneBits = 2;
  const unsigned source_bits_, leader_bits_;
  unsigned tag_bits_, number_bits_;
};

}  // namespace dunlin::protocol
