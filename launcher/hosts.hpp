// Host lists and host files.  Used by options.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dunlin::launcher {

struct Host {
  std::string name;
  long ranks = 0;  // that a list or file asks for, or that it gets
};

/// What lists and files say.  Each time a machine is named, it asks for the ranks behind its name, else for
/// one.
struct Hosts {
  std::vector<Host> all;       // a machine that is named twice stands here once
  bool are_elsewhere = false;  // some name is not this machine's

  /// All that they ask for together.
  long ranks() const;
  /// Machines with their ranks, in order, without those that get none.  They get what was asked for,
  /// or `per_machine` where that is not 0; what is left is shared out in equal parts.
  std::vector<Host> share_out(long ranks, long per_machine) const;

  /// "localhost:4,node17": NAME or NAME:SLOTS, separated by commas.  False when it is no such list.
  bool try_add_list(std::string_view list);
  /// A line each of "NAME", "NAME:SLOTS" or "NAME slots=SLOTS"; "#" begins a comment.  False, with errno,
  /// when the file cannot be read; EINVAL: a line is wrong.
  bool try_add_file(const std::string& path);

 private:
  bool try_add(std::string_view name, long ranks);
};

}  // namespace dunlin::launcher
