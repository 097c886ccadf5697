// Maps a file of huge pages so that the kernel can map its huge pages as such.
// Used for the shared heap and static data, by their owner and by peers.
#pragma once

#include <cstddef>

namespace dunlin::heap {

/// The first `bytes` of the file at an address that is a multiple of 2 MiB, shared, with `protection`
/// (PROT_...); nullptr and errno when address space is short or the kernel refuses.  Uses no allocator.
std::byte* map_file_aligned(int descriptor, std::size_t bytes, int protection) noexcept;

}  // namespace dunlin::heap
