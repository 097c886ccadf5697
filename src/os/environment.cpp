// Environment variables of launchers; see environment.hpp.
#include "os/environment.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace dunlin::os {

const char* environment_text(const char* name) noexcept {
  const char* text = std::getenv(name);
  return text ? text : "";
}

int environment_number(const char* name, int otherwise) noexcept {
  const std::string_view text = environment_text(name);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : otherwise;
}

}  // namespace dunlin::os
