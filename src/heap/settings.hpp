// Settings of the shared heap, readable below malloc: the preloaded allocator needs them before any
// constructor ran, so it cannot use base/variable.  heap.cpp lists the same names for users and
// serves the library's own arena; a test keeps the two in step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/arena.hpp"

namespace dunlin::heap {

struct Settings {
  ArenaSettings arena;
  std::size_t block_bytes_min = std::size_t{64} << 10;  // smaller blocks stay with the C library
  bool is_shared = true;                                // DUNLIN_HEAP=shared|private
  bool moves_static_data = true;
};

/// Reads DUNLIN_HEAP... from `environment` (an environ); what does not parse keeps its default.
Settings read_settings(char* const* environment) noexcept;

/// The value of `name` in `environment`, or nullptr.
const char* find_setting(char* const* environment, const char* name) noexcept;

}  // namespace dunlin::heap
