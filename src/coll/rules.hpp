// The rules by which algorithms are chosen, as functions of facts that all ranks know alike.
//
// Where all ranks share memory there is one rule for all collectives: what is short is put there, the rest
// goes from buffer to buffer.  Else each collective has a rule of its own, which answers a position among its
// algorithms by messages (the lists of select.cpp), or `kByDomains`.  Sizes are settings, measured or taken
// from a model where they stand.
#pragma once

#include <cstddef>

namespace dunlin::coll {

/// What a choice depends on: the same on all ranks.
struct Facts {
  int ranks = 1;
  std::size_t bytes = 0;      // of a block, or of the operand of a reduction
  int blocks = 1;             // that some rank would put into shared memory
  bool share_memory = false;  // all ranks, in a region
  bool has_domains = false;   // several, of which some have several ranks; and the operator allows them
  bool share_cores = false;   // on some node of the job
  bool is_regular = true;     // equal blocks; an operator that commutes, and an element for every rank
};

/// Up to which multiple of half of the settings' sizes a collective's blocks are short: where ranks have
/// cores of their own, and where they share them.
struct ShortHalves {
  int alone = 2, crowded = 2;
};
/// Whether all ranks share memory, with room for what each may put there.
bool has_room(const Facts& facts) noexcept;
/// Whether a block is put into shared memory rather than moved from buffer to buffer.
bool is_short(const Facts& facts, ShortHalves halves) noexcept;
/// Up to here it is, if there is room.
std::size_t shared_bytes_max(bool share_cores) noexcept;
/// From here on a slice is worth a leader of its own.
std::size_t leader_bytes_min() noexcept;

/// Answer of a rule: the algorithm that needs domains.
inline constexpr int kByDomains = -1;

// 2 ranks on 2 CPUs of an AMD EPYC (Zen 4), shared and direct, us: allreduce of 4 KiB .81 and .51, alltoall
// .57 and .75.  8 ranks there: bcast of 64 KiB, which only the root puts, 26 and 35; allreduce of 16 KiB,
// which all read, 31 and 23; alltoall 59 and 41; reduce, where the root reads all, 26 and 21 (4 ranks: 11 and
// 8), scan 28 and 25 (13 and 9).
inline constexpr ShortHalves kShortBcast{2, 8}, kShortAlltoall{2, 1}, kShortAllreduce{1, 1},
    kShortReduce{2, 1};

int by_domains_rule(const Facts& facts) noexcept;  // or the first
int bcast_rule(const Facts& facts) noexcept;
int gather_rule(const Facts& facts) noexcept;  // scatter, too
int allgather_rule(const Facts& facts) noexcept;
int alltoall_rule(const Facts& facts) noexcept;
int allreduce_rule(const Facts& facts) noexcept;
int reduce_scatter_rule(const Facts& facts) noexcept;

}  // namespace dunlin::coll
