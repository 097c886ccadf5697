// What all ranks of a job have to know alike, although each sees only its own node.
//
// Agreed once, at the start (instance.cpp), through the launcher.  Collectives choose their algorithms by it:
// ranks that decided by what their own node is like would wait for each other (coll/select.cpp).
#pragma once

#include "base/err.hpp"
#include "boot/boot.hpp"

namespace dunlin::runtime {

/// Whether ranks share cores on any node; `here`: on this one.  Collective over the job.  Cost: nothing on
/// one node; else two fences, and rank 0 asks once for every rank.
Result<bool> agree_on_shared_cores(boot::Boot& boot, bool here) noexcept;

}  // namespace dunlin::runtime
