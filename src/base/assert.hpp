// Assertions are for bugs of the library, never for errors of its user.  One condition each.
#pragma once

namespace dunlin {
[[noreturn, gnu::cold]] void assert_failed(const char* condition, const char* file, int line) noexcept;
}

/// Always on; for conditions that cost a compare of values already at hand.
#define DUNLIN_ASSERT(condition) \
  (__builtin_expect(!(condition), 0) ? ::dunlin::assert_failed(#condition, __FILE__, __LINE__) : (void)0)

/// On in debug and sanitizer builds; for conditions that walk data.
#if defined(DUNLIN_DEBUG_ASSERTS)
#define DUNLIN_DEBUG_ASSERT(condition) DUNLIN_ASSERT(condition)
#else
#define DUNLIN_DEBUG_ASSERT(condition) ((void)sizeof(!(condition)))
#endif
