// The few declarations of PMIx that pmix.cpp needs: those of the PMIx standard 3 to 5, whose library keeps
// its binary interface (soname libpmix.so.2).  Declared here, since a header at build time would not tell
// more about the library that is found at run time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/err.hpp"

namespace dunlin::boot::pmix {

inline constexpr int kSuccess = 0;
inline constexpr std::uint32_t kAnyRank = UINT32_MAX - 1;  // what belongs to the job and to no rank
inline constexpr std::uint8_t kGlobal = 3;                 // scope of a value: all ranks
enum Type : std::uint16_t { kBool = 1, kString = 3, kUint32 = 14, kByteObject = 27 };

struct Process {
  char job[256];
  std::uint32_t rank;
};
static_assert(sizeof(Process) == 260);

struct Value {
  std::uint16_t type;
  union {
    bool flag;
    std::uint32_t number;
    char* text;
    struct {
      char* at;
      std::size_t size;
    } bytes;
    std::byte room[24];
  };
};
static_assert(sizeof(Value) == 32 && offsetof(Value, bytes) == 8);

struct Attribute {
  char name[512];
  std::uint32_t directives;
  Value value;
};
static_assert(sizeof(Attribute) == 552);

struct Library {
  int (*init)(Process* me, const Attribute* attributes, std::size_t count);
  int (*finalize)(const Attribute* attributes, std::size_t count);
  int (*put)(std::uint8_t scope, const char* key, Value* value);
  int (*commit)();
  int (*fence)(const Process* processes, std::size_t process_count, const Attribute* attributes,
               std::size_t count);
  int (*get)(const Process* process, const char* key, const Attribute* attributes, std::size_t count,
             Value** value);
  int (*abort)(int code, const char* message, const Process* processes, std::size_t count);
  const char* (*error_string)(int status);
};

/// Loaded at the first call and never unloaded.
Result<const Library*> library() noexcept;

}  // namespace dunlin::boot::pmix
