// MPI_Info: an ordered list of (key, value) strings (MPI 5.0, chapter 10).  Order of keys is that of first
// insertion.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "object/object.hpp"

namespace dunlin {

class Info final : public Object {
 public:
  static constexpr Kind kKind = Kind::info;
  Info() noexcept : Object(Kind::info) {}
  void set(std::string_view key, std::string_view value);
  /// The value, or nullptr.
  const std::string* find(std::string_view key) const noexcept;
  bool erase(std::string_view key) noexcept;
  int size() const noexcept { return int(pairs_.size()); }
  const std::pair<std::string, std::string>& at(int n) const noexcept { return pairs_[std::size_t(n)]; }
  Ref<Info> copy() const;

 private:
  ~Info() override;
  std::vector<std::pair<std::string, std::string>> pairs_;
};

}  // namespace dunlin
