// The sizes at which messages change their way.  All are bytes or counts, settings, and found on two CPUs:
// AMD EPYC 9005 (Zen 5) and Intel Xeon Sapphire Rapids, 2 virtual CPUs each (docs/shm.md, "Measured").
#pragma once

#include "base/variable.hpp"

namespace dunlin::protocol {

/// Whole through the channel, without asking: up to here.
extern IntVariable eager_bytes;
/// Copied once, from buffer to buffer, from here on where a buffer maps.
extern IntVariable shared_bytes;
/// A shared copy of less is one chunk: handing over a half costs more than it saves.
extern IntVariable halves_bytes;
/// A shared copy up to here has two chunks; a longer one has chunks of `chunk_bytes`.
extern IntVariable chunked_bytes;
extern IntVariable chunk_bytes;
/// Polls without news before a wait that has receives of its own helps its receivers.
extern IntVariable help_polls;

}  // namespace dunlin::protocol
