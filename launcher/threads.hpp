// What the kernel says of another process's threads: whether any of them may still do something.  Used by
// deadlock.cpp and wait_table.cpp.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace dunlin::launcher {

/// The threads of `process` that sleep until another thread of it wakes them: each by its number and how
/// often it has slept so far, so that two equal answers mean that none has run between.  Nothing where more
/// than `others` threads besides these are there, or where the kernel does not tell.
std::optional<std::string> sleeping_threads(pid_t process, int others);

/// "runs", "sleeps", "is stopped", "is gone".
const char* state_of_process(pid_t process);

/// Whether the program does something of its own on `signal`: a handler, a wait for it, or nothing at all.
bool takes_signal(pid_t process, int signal);

}  // namespace dunlin::launcher
