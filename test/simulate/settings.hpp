// Settings of the library (DUNLIN_...) for as long as an object lives.
//
//   const Settings settings{{"EAGER_BYTES", 64}, {"SHM_RING_LINES", 4}};
//
// Made before the objects that read settings when they are made: transports, engines.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/variable.hpp"

namespace dunlin::test {

class Settings {
 public:
  using List = std::vector<std::pair<std::string, std::uint64_t>>;

  Settings(List list) : list_(std::move(list)) {
    for (const auto& [name, value] : list_)
      setenv(("DUNLIN_" + name).c_str(), std::to_string(value).c_str(), 1);
    Variable::read_all_again();
  }
  ~Settings() {
    for (const auto& [name, value] : list_) unsetenv(("DUNLIN_" + name).c_str());
    Variable::read_all_again();
  }
  Settings(const Settings&) = delete;
  std::string describe() const {
    std::string text;
    for (const auto& [name, value] : list_) text += " " + name + "=" + std::to_string(value);
    return text;
  }

 private:
  const List list_;
};

}  // namespace dunlin::test
