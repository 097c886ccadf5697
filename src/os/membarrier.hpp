// A memory barrier that one process executes for all: the expensive side of a flag protocol pays, the cheap
// side does with plain loads and stores (transport/shm/attention.hpp).
#pragma once

namespace dunlin::os {

/// Declares that this process's threads take part.  False where the kernel or a sandbox refuses.
bool register_for_global_barrier() noexcept;

/// A full memory barrier in every running thread of every process that registered, this one included: 9 us
/// (kernel 6.18, two CPUs).  False where it is refused, and then nothing was ordered.
bool global_barrier() noexcept;

}  // namespace dunlin::os
