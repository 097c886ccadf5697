// Making a file that several processes share long enough, whoever comes first.
#pragma once

#include <cstdint>

namespace dunlin::os {

/// Makes the file at least `bytes` long; false and errno on failure, also where a limit on the size of files
/// (RLIMIT_FSIZE) would make the kernel kill the process.  Never shrinks it: fstat and ftruncate would, when
/// another process has made the file longer in between, and what lay there would be lost.  Costs the page at
/// the new end.
bool try_grow_file(int fd, std::uint64_t bytes) noexcept;

/// The words for an errno of making shared memory or mapping it: they name the limit that people can change.
const char* why_no_shared_memory(int error) noexcept;

}  // namespace dunlin::os
