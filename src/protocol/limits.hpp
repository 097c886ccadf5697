// The sizes at which messages change their way.  All are bytes or counts, and settings.  Found on AMD EPYC
// 9005 (Zen 5) and Intel Xeon Sapphire Rapids; where a shared copy begins, on AMD EPYC (Zen 3) and Intel Xeon
// Emerald Rapids (docs/decisions/0035).  2 virtual CPUs each (docs/shm.md, "Measured").
#pragma once

#include "base/variable.hpp"

namespace dunlin::protocol {

/// Whole through the channel, without asking: up to here.
extern IntVariable eager_bytes;
/// Copied once, from buffer to buffer, from here on where a buffer maps; data with gaps from half of that on.
extern IntVariable shared_bytes;
/// A shared copy has two chunks, the halves; one whose halves would be longer has chunks of this size.
extern IntVariable chunk_bytes;
/// Polls without news before a wait that has receives of its own helps its receivers.
extern IntVariable help_polls;

}  // namespace dunlin::protocol
