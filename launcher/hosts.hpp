// Host lists and host files.  Used by options.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dunlin::launcher {

struct Host {
  std::string name;
  long ranks = 0;  // that a list or file asks for, or that it gets; 0: not said
};

/// What lists and files say; a machine that is named twice stands here once.
struct Hosts {
  std::vector<Host> all;
  bool are_elsewhere = false;  // some name is not this machine's

  /// All that they ask for together; 0: nothing said.
  long ranks() const;
  /// Machines with their ranks, in order, without those that get none.  They get what was asked for,
  /// `per_machine` where nothing was said of them, one where something was said of others only; what is left
  /// is shared out in equal parts.
  std::vector<Host> share_out(long ranks, long per_machine) const;

  /// "localhost:4,node17": NAME or NAME:SLOTS, separated by commas.
  void add_list(std::string_view list);
  /// A line each of "NAME", "NAME:SLOTS" or "NAME slots=SLOTS"; "#" begins a comment.  False, with errno,
  /// when the file cannot be read.
  bool try_add_file(const std::string& path);

 private:
  void add(std::string_view name, long ranks);
};

}  // namespace dunlin::launcher
