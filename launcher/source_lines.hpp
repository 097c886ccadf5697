// The lines of source of addresses in programs, by addr2line where it is installed.  Used by wait_table.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dunlin::launcher {

struct CodePlace {
  std::string file;           // a program or library
  std::uint64_t address = 0;  // in it
  std::string line;           // "ring.c:14", or "ring" and the address where nobody knows better
  bool has_source = false;    // somebody does
};

/// Fills in `line` of each.  Takes no longer than a few seconds, whatever addr2line does.
void find_source_lines(std::vector<CodePlace>& places);

}  // namespace dunlin::launcher
