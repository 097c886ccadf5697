// What the library needs of a shared heap, as C: the preloaded allocator and the library are two shared
// objects that may come from different builds, so they meet at one versioned table of functions.
// `dunlin_heap_face` is exported by the preloaded allocator; heap.cpp looks it up, and makes the same table
// over an arena of its own where it is absent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/arena.hpp"

namespace dunlin::heap {

struct Face {
  static constexpr std::uint32_t kVersion = 6;  // changes with this struct and with Control

  std::uint32_t version;
  void* (*allocate)(std::size_t bytes, std::size_t alignment) noexcept;  // nullptr: no room
  void (*release)(void* block) noexcept;
  bool (*owns)(const void* address) noexcept;
  bool (*is_shared)(const void* at, std::size_t bytes) noexcept;
  bool (*adopt_static)(const char** why) noexcept;
  const char* (*why_not)() noexcept;         // why there is no shared heap; "" when there is one
  const char* (*why_not_malloc)() noexcept;  // why malloc does not use it; "" when it does
  Control* (*control)() noexcept;            // nullptr: no shared heap
  int (*control_descriptor)() noexcept;
  ArenaCounters (*counters)() noexcept;
  void (*keep)(KeptPages& pages) noexcept;
  void (*keep_no_more)(KeptPages& pages) noexcept;
  void (*commit_late)(bool is_late) noexcept;
};

/// Name of the function `const Face* (std::uint32_t version)` that the preloaded allocator exports; it
/// answers nullptr for a version it does not know.
inline constexpr const char* kFaceSymbol = "dunlin_heap_face";

/// The table for one arena; the arena is a template argument, so that the functions need no context.
template <Arena& kArena, const char* (*kWhyNotMalloc)() noexcept>
inline constexpr Face kFaceOf = {
    Face::kVersion,
    +[](std::size_t bytes, std::size_t alignment) noexcept {
      return kArena.allocate(bytes, alignment, false);
    },
    +[](void* block) noexcept { kArena.release(block); },
    +[](const void* address) noexcept { return kArena.owns(address); },
    +[](const void* at, std::size_t bytes) noexcept { return kArena.is_shared(at, bytes); },
    +[](const char** why) noexcept { return kArena.adopt_static(why); },
    +[]() noexcept { return kArena.why_not(); },
    kWhyNotMalloc,
    +[]() noexcept { return kArena.is_open() ? kArena.control() : nullptr; },
    +[]() noexcept { return kArena.control_descriptor(); },
    +[]() noexcept { return kArena.counters(); },
    +[](KeptPages& pages) noexcept { kArena.keep(pages); },
    +[](KeptPages& pages) noexcept { kArena.keep_no_more(pages); },
    +[](bool is_late) noexcept { kArena.commit_late(is_late); },
};

}  // namespace dunlin::heap
