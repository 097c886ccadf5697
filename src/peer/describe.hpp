// What `dunlin-info --transport` says about moving bytes inside a node: per mechanism, whether it works on
// this machine and for this user, if not why, and what it is used for.
//
// Each mechanism is really used between two processes: a child of the caller reads the caller's memory.
#pragma once

#include <string>
#include <vector>

namespace dunlin::peer {

struct MechanismReport {
  std::string name;     // "shared_heap", "xpmem", "cma", "knem", "cico"
  bool works;           // between this process and a child of it
  std::string why_not;  // one sentence; "" when it works
  std::string
      used_for;  // one sentence; "" when it is not used (not working, not chosen, or another comes first)
};

/// All mechanisms in the order of preference, copy-in/copy-out last.  Starts one child and waits for it; not
/// for use between MPI_Init and MPI_Finalize.
std::vector<MechanismReport> describe_mechanisms();

/// One sentence about this process's shared heap: where it comes from, or why malloc does not use it.
std::string describe_heap();

/// One sentence about copying: kernels and thresholds.
std::string describe_copying();

}  // namespace dunlin::peer
