// What this rank waits for, told by itself when SIGUSR1 comes: under launchers of others, where no mpirun of
// ours reads the board of waits and prints a table of the whole job (docs/decisions/0018-deadlock.md).
//
// Used by runtime/.  Thread safety: once, at init.
#pragma once

#include "boot/wait_board.hpp"

namespace dunlin::progress {

/// A board for `LongWait::set_board`, of which the signal prints what is up: a sentence for each wait, or
/// that there is none.  Where the program takes the signal itself, before or after, nothing is printed.
boot::RankWaits& answer_signal() noexcept;

}  // namespace dunlin::progress
