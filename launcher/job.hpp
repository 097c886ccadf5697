// What a command line of mpirun asks for.  Made by options.cpp, read by everything else here.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/hosts.hpp"

namespace dunlin::launcher {

/// One part of an MPMD command line: `ranks` processes of one program.
struct App {
  int ranks = 1;
  std::vector<std::string> command;                              // program and arguments; never empty
  std::vector<std::pair<std::string, std::string>> environment;  // set on top of mpirun's own, in this order
  std::string directory;                                         // "" for mpirun's own
};

enum class Binding { share, core, hwthread, l3, numa, package, none };

struct Job {
  std::vector<App> apps;
  Binding binding = Binding::share;
  bool is_binding_asked = false;  // given on the command line: then doing without it deserves a line
  bool shows_binding = false;
  bool tags_output = false;
  bool has_input = true;       // rank 0 reads mpirun's standard input
  double timeout_s = 0;        // 0: none
  std::vector<Host> machines;  // with the ranks of each; empty: this one

  int size() const noexcept {
    int ranks = 0;
    for (const App& app : apps) ranks += app.ranks;
    return ranks;
  }
};

}  // namespace dunlin::launcher
