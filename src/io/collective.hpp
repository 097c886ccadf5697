// Collective accesses: whether the ranks work together (io/together.hpp), and the steps that wait.
//
// One text for calls that wait and for nonblocking and split ones (coll/plan.hpp).  Called by
// io/transfer.cpp; `prepare_together` by io/view.cpp and io/inquiry.cpp.
#pragma once

#include "io/file.hpp"

namespace dunlin::io {

/// Whether accesses through this rank's view may be worth working together.
bool may_be_worth_it(const OpenFile& file, const View& view) noexcept;
/// Whether accesses through this rank's view may change windows of the file.
bool may_change_windows(const OpenFile& file, const View& view) noexcept;
/// Collective, after the view or the hints have changed: sets `file.may_go_together`, and makes the memory
/// for it.  `wants`: whether any rank finds that its accesses may be worth it; `changes`: whether any may
/// change windows, which none does before all have done this.
Err prepare_together(OpenFile& file, bool wants, bool changes) noexcept;

/// Collective over the file's ranks; what comes out is this rank's part.
Err move_together(OpenFile& file, const Access& access, Outcome* outcome) noexcept;
/// The same as a request, which goes on while the program computes.  What is given must outlive it.
Err begin_together(OpenFile& file, const Access& access, Outcome* outcome, Request** request) noexcept;

}  // namespace dunlin::io
