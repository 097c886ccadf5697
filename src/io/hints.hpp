// Hints: what the program says about its accesses (MPI 5.0, 14.2.8), by the standard's names and by those
// that programs know from elsewhere.  docs/files.md has the list.
//
// Held by io/file.hpp.  Thread safety: under base/big_lock.hpp.
#pragma once

#include <cstdint>

#include "object/info.hpp"

namespace dunlin::io {

enum class Choice : std::uint8_t { automatic, enable, disable };

/// Of collective accesses; the same on all ranks.
struct CollectiveHints {
  Choice cb_read, cb_write;           // whether ranks work together
  std::int64_t cb_nodes = 0;          // ranks that read and write for all; 0: as many as seem good
  std::int64_t cb_buffer_size;        // bytes of the file that each of them handles at once
  std::int64_t striping_unit = 4096;  // bytes: what each of them handles begins and ends at a multiple
};

/// What the hints mean here; each value is one that will be used.
struct Hints : CollectiveHints {
  Choice ds_read = Choice::automatic, ds_write = Choice::automatic;  // short runs by windows of the file
  unsigned file_perm = 0666;                                         // of a file that is made

  Hints() noexcept;
  /// Takes over what `info` says, as far as it makes sense.
  void take(const Info& info) noexcept;
  /// Shows what is used; of cb_nodes knows io/together.hpp.
  void show(Info& info) const noexcept;
};

}  // namespace dunlin::io
