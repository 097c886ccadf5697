// Collective accesses: whether the ranks work together (io/together.hpp), and the steps that wait.
//
// One text for calls that wait and for nonblocking and split ones (coll/plan.hpp).  Called by
// io/transfer.cpp; `prepare_together` by io/view.cpp and io/inquiry.cpp.
#pragma once

#include "io/file.hpp"

namespace dunlin::io {

/// What accesses through the view of one rank, or of any, may do.
struct Prospects {
  bool are_together = false;    // it may be worth working together
  bool have_windows = false;    // short runs may be moved by windows of the file
  bool change_windows = false;  // such runs may be written so

  static Prospects of(const OpenFile& file, const View& view) noexcept;
  void add(const Prospects& other) noexcept {
    are_together = are_together || other.are_together;
    have_windows = have_windows || other.have_windows;
    change_windows = change_windows || other.change_windows;
  }
};
/// Collective, after the view or the hints have changed, with the prospects of all ranks: sets what
/// `OpenFile` says of collective accesses, and makes the memory for them.  Nobody changes windows before all
/// have done this.
Err prepare_together(OpenFile& file, const Prospects& all) noexcept;

/// Collective over the file's ranks; what comes out is this rank's part.
Err move_together(OpenFile& file, const Access& access, Outcome* outcome) noexcept;
/// The same as a request, which goes on while the program computes.  What is given must outlive it.
Err begin_together(OpenFile& file, const Access& access, Outcome* outcome, Request** request) noexcept;

}  // namespace dunlin::io
