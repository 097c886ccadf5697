#include "heap/settings.hpp"

#include <string.h>

namespace dunlin::heap {
namespace {

/// "64k" -> 65536; yes/on/true -> 1, no/off/false -> 0.  False when the text is no such number.
bool parse_number(const char* text, std::uint64_t& value) noexcept {
  constexpr const char* kWords[] = {"no", "off", "false", "yes", "on", "true"};
  for (int i = 0; i < 6; ++i)
    if (strcmp(text, kWords[i]) == 0) {
      value = i >= 3;
      return true;
    }
  std::uint64_t parsed = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9'; ++at)
    if (__builtin_mul_overflow(parsed, std::uint64_t{10}, &parsed) ||
        __builtin_add_overflow(parsed, std::uint64_t(*at - '0'), &parsed))
      return false;
  if (at == text) return false;
  const int shift = (*at | 0x20) == 'k' ? 10 : (*at | 0x20) == 'm' ? 20 : (*at | 0x20) == 'g' ? 30 : 0;
  if (shift) ++at;
  if (*at || parsed > (std::uint64_t{INT64_MAX} >> shift)) return false;
  value = parsed << shift;
  return true;
}

/// Beyond the bounds it keeps its default, too.
template <class T>
void read_number(char* const* environment, const char* name, T& value, std::uint64_t min,
                 std::uint64_t max) noexcept {
  std::uint64_t parsed = 0;
  const char* text = find_setting(environment, name);
  if (text && parse_number(text, parsed) && parsed >= min && parsed <= max) value = T(parsed);
}

}  // namespace

const char* find_setting(char* const* environment, const char* name) noexcept {
  const std::size_t bytes = strlen(name);
  for (; environment && *environment; ++environment)
    if (strncmp(*environment, name, bytes) == 0 && (*environment)[bytes] == '=')
      return *environment + bytes + 1;
  return nullptr;
}

Settings read_settings(char* const* environment) noexcept {
  Settings settings;
  if (const char* heap = find_setting(environment, "DUNLIN_HEAP"))
    settings.is_shared = strcmp(heap, "private") != 0;
  read_number(environment, "DUNLIN_HEAP_BLOCK_BYTES_MIN", settings.block_bytes_min, 4096, INT64_MAX);
  read_number(environment, "DUNLIN_HEAP_ADDRESS_BYTES", settings.arena.address_bytes, 64 << 20, INT64_MAX);
  read_number(environment, "DUNLIN_HEAP_CACHE_BYTES_MAX", settings.arena.cache_bytes_max, 0, INT64_MAX);
  read_number(environment, "DUNLIN_HEAP_HUGE_PERCENT", settings.arena.huge_percent, 0, 100);
  read_number(environment, "DUNLIN_HEAP_FORK_WAIT_US", settings.arena.fork_wait_us, 0, 1000000);
  read_number(environment, "DUNLIN_HEAP_STATIC", settings.moves_static_data, 0, 1);
  return settings;
}

}  // namespace dunlin::heap
