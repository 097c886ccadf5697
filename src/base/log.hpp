// One line to standard error, written by one `write` so that lines of several ranks stay whole.
#pragma once

namespace dunlin::log {

/// The world rank shown in every line; -1 (the start value) shows none.
void set_rank(int rank) noexcept;

/// "dunlin: rank 3: <text>" (printf-like).  Thread safe.
[[gnu::cold, gnu::format(printf, 1, 2)]] void warn(const char* format, ...) noexcept;

/// As `warn`, only where DUNLIN_VERBOSE is at least 1.
[[gnu::cold, gnu::format(printf, 1, 2)]] void note(const char* format, ...) noexcept;

/// As `warn`, then abort(): for states that no caller could mend.
[[noreturn, gnu::cold, gnu::format(printf, 1, 2)]] void die(const char* format, ...) noexcept;

}  // namespace dunlin::log
