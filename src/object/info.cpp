#include "object/info.hpp"

#include <algorithm>

namespace dunlin {

Info::~Info() = default;

void Info::set(std::string_view key, std::string_view value) {
  for (auto& pair : pairs_)
    if (pair.first == key) {
      pair.second = value;
      return;
    }
  pairs_.emplace_back(key, value);
}

const std::string* Info::find(std::string_view key) const noexcept {
  for (const auto& pair : pairs_)
    if (pair.first == key) return &pair.second;
  return nullptr;
}

bool Info::erase(std::string_view key) noexcept {
  const auto found =
      std::find_if(pairs_.begin(), pairs_.end(), [&](const auto& pair) { return pair.first == key; });
  if (found == pairs_.end()) return false;
  pairs_.erase(found);
  return true;
}

Ref<Info> Info::copy() const {
  auto* duplicate = new Info;
  duplicate->pairs_ = pairs_;
  return Ref<Info>::adopt(duplicate);
}

}  // namespace dunlin
