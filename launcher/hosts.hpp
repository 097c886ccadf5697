// Host lists and host files of scripts that were written for several machines.  Used by options.cpp.
#pragma once

#include <string>
#include <string_view>

namespace dunlin::launcher {

/// What a list or a file says of this machine.
struct Hosts {
  long slots = 0;         // ranks that it asks for here; 0: it does not say
  std::string elsewhere;  // the first name that is not this machine's; "" when there is none

  /// "localhost:4,node17": NAME or NAME:SLOTS, separated by commas.
  void add_list(std::string_view list);
  /// A line each of "NAME", "NAME:SLOTS" or "NAME slots=SLOTS"; "#" begins a comment.  False, with errno,
  /// when the file cannot be read.
  bool try_add_file(const std::string& path);

 private:
  void add(std::string_view name, std::string_view slots);
};

}  // namespace dunlin::launcher
