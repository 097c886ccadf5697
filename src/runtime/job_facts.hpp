// What all ranks of a job have to know alike, although each sees only its own node.
//
// Agreed once, at the start (instance.cpp), through the launcher.  Collectives choose their algorithms by it:
// ranks that decided by what their own node is like would wait for each other (coll/select.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/err.hpp"
#include "boot/boot.hpp"
#include "os/topology.hpp"

namespace dunlin::runtime {

struct JobFacts {
  bool shares_cores = false;  // on any node
  unsigned match_bits = 0;    // that all networks match by; 0 where none is to
  os::NearRanks near;         // on every node; what DUNLIN_NEAR_RANKS says, where it is set
  /// Random, and known to the ranks of this job only: shows a connection over the network to be one of
  /// theirs. All zero on one node, where nobody connects.
  std::array<std::byte, 16> secret{};
  std::uint64_t secret_word() const noexcept {
    std::uint64_t word;
    std::memcpy(&word, secret.data(), sizeof word);
    return word;
  }
};

/// All three: on this node.  Collective over the job; what was put before is visible afterwards.  Cost:
/// nothing on one node; else two fences, and rank 0 asks once for every node.
Result<JobFacts> agree_on_facts(boot::Boot& boot, bool shares_cores, unsigned match_bits,
                                os::NearRanks near) noexcept;

}  // namespace dunlin::runtime
