// The rules by which algorithms are chosen, as functions of facts that all ranks know alike.
//
// Where all ranks share memory there is one rule for all collectives: what is short is put there, the rest
// goes from buffer to buffer.  Else each collective has a rule of its own, which answers a position among its
// algorithms by messages (the lists of select.cpp), or `kByDomains`.  Sizes are settings, measured or taken
// from a model where they stand.  A rule also says what decided, for dunlin-info.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/variable.hpp"
#include "transport/shm/commons.hpp"

namespace dunlin::coll {

/// What a choice depends on: the same on all ranks.
struct Facts {
  int ranks = 1;
  std::size_t bytes = 0;      // of a block, or of the operand of a reduction
  int blocks = 1;             // that some rank would put into shared memory
  bool share_memory = false;  // all ranks, in a region
  bool share_cpus = false;    // ranks of the job
  bool has_domains = false;   // several, of which some have several ranks; and the operator allows them
  bool is_divided = false;    // in shared memory ranks combine a part each where they have their own CPUs
  bool is_regular = true;     // equal blocks; an operator that commutes, and an element for every rank
};

/// From here on a slice is worth a leader of its own.
std::size_t leader_bytes_min() noexcept;

/// What a rule says.  Nobody but dunlin-info asks for more than the algorithm.
struct Answer {
  int algorithm;    // its position, or kByDomains
  const char* why;  // what decided; null: the collective's own setting
};
static_assert(sizeof(Answer) == 16, "two registers hold it");

/// The algorithm that needs domains.
inline constexpr int kByDomains = -1;

/// What is chosen for a collective, for people.
struct Decision {
  const char* collective;
  const char* algorithm;  // as its setting calls it
  std::string why;
};

/// `why` of an answer, with the value of the setting in it.
std::string spelled(const Answer& answer);

// What each rank copies once or twice is short up to twice the setting, what only a root puts in where ranks
// share CPUs up to four times, what every rank combines as a whole up to once (what they divide: twice).
// Shared and direct, us, 2 CPUs of an AMD EPYC (Zen 3), data written before and read after; 2 ranks (near):
// bcast of 32 KiB 5.0 and 5.7, of 64 KiB 9.3 and 9.0; reduce 4.7 and 5.1, 8.6 and 9.1; allgather 8.6 and
// 9.3, 16.9 and 17.7; allreduce of 16 KiB 4.5 and 4.9, of 32 KiB 8.6 and 6.6; scan 3.8 and 4.2, 7.1 and 6.8.
// 8 ranks: bcast of 64 KiB 56 and 74, reduce of 32 KiB 47 and 53, allgather 169 and 186, allreduce of 8 KiB
// 41 and 47, of 16 KiB 57 and 55. Bcast of 64 KiB on 2 CPUs of an Intel Emerald Rapids, unchanged data in
// brackets: 2 ranks 9.9 and 10.3 (8.7 and 2.8), 8 ranks 37 and 47 (32 and 34).
inline constexpr int kShort = 2, kShortBcast = 4, kShortCombined = 1;

/// An allreduce in shared memory up to this size is combined as a whole by every rank (combine_shared.cpp).
std::size_t whole_bytes_max(bool share_cpus) noexcept;

extern IntVariable shared_bytes;
inline std::size_t shared_bytes_max() noexcept { return std::size_t(shared_bytes.get()); }

/// Whether all ranks share memory, with room for what each may put there.
inline bool has_room(const Facts& facts) noexcept {
  constexpr std::size_t kRoomBytes = transport::shm::Commons::kRoomBytes;
  return facts.share_memory && facts.bytes <= kRoomBytes &&
         facts.bytes * std::size_t(facts.blocks) <= kRoomBytes;
}
/// How many times the setting's size is short: up to `multiple`, kShort at most where ranks have CPUs of
/// their own.
inline int short_times(const Facts& facts, int multiple) noexcept {
  return facts.share_cpus ? multiple : facts.is_divided ? kShort : std::min(multiple, kShort);
}
inline bool has_short_bytes(const Facts& facts, int multiple) noexcept {
  return facts.bytes <= shared_bytes_max() * std::size_t(short_times(facts, multiple));
}
/// Whether a block is put into shared memory rather than moved from buffer to buffer.
inline bool is_short(const Facts& facts, int multiple) noexcept {
  return has_short_bytes(facts, multiple) && has_room(facts);
}
/// And what decided that; declared so that the compiler drops the call where nobody asks.
[[gnu::pure]] const char* why_short(const Facts& facts, int multiple) noexcept;

Answer by_domains_rule(const Facts& facts) noexcept;  // or the first
Answer bcast_rule(const Facts& facts) noexcept;
Answer gather_rule(const Facts& facts) noexcept;  // scatter, too
Answer allgather_rule(const Facts& facts) noexcept;
Answer alltoall_rule(const Facts& facts) noexcept;
Answer allreduce_rule(const Facts& facts) noexcept;
Answer reduce_scatter_rule(const Facts& facts) noexcept;

}  // namespace dunlin::coll
