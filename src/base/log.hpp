// One line to standard error, written by one `write` so that lines of several ranks stay whole.
#pragma once

namespace dunlin::log {

/// The world rank shown in every line; -1 (the start value) shows none.
void set_rank(int rank) noexcept;

/// "dunlin: rank 3: <text>" (printf-like).  Thread safe.
[[gnu::cold, gnu::format(printf, 1, 2)]] void warn(const char* format, ...) noexcept;

/// As `warn`, only where DUNLIN_VERBOSE is at least 1.
[[gnu::cold, gnu::format(printf, 1, 2)]] void note(const char* format, ...) noexcept;

/// As `warn`, then the job ends: what has happened to it is no fault of this process's.
[[noreturn, gnu::cold, gnu::format(printf, 1, 2)]] void end_job(const char* format, ...) noexcept;
/// How it ends: `end` does not return.  Else, and before, as `die`.
void set_end_of_job(void (*end)() noexcept) noexcept;

/// As `warn`, then abort(): for states that no caller could mend.
[[noreturn, gnu::cold, gnu::format(printf, 1, 2)]] void die(const char* format, ...) noexcept;

}  // namespace dunlin::log
