// Making a file that several processes share long enough, whoever comes first.
#pragma once

#include <cstdint>

namespace dunlin::os {

/// Makes the file at least `bytes` long; false and errno on failure, also where a limit on the size of files
/// (RLIMIT_FSIZE) would make the kernel kill the process.  Never shrinks it: fstat and ftruncate would, when
/// another process has made the file longer in between, and what lay there would be lost.  Costs the page at
/// the new end.
bool try_grow_file(int fd, std::uint64_t bytes) noexcept;

}  // namespace dunlin::os
