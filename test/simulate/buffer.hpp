// A rank's buffer in a simulation: 64-bit values in some layout, with a pattern in the gaps that must
// survive.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "datatype/functions.hpp"
#include "test/simulate/world.hpp"

namespace dunlin::test {

/// How values lie in memory.  `values` of them make one element of `type`; value v of an element lies at v *
/// 8 bytes.
struct Layout {
  const Datatype* type;
  std::int64_t values;
  std::int64_t extent;
};

inline const Datatype& predefined(MPI_Datatype handle) {
  make_predefined_objects();
  return *from_handle<Datatype>(handle);
}

/// 0: plain; 1: pairs; 2: with gaps, and a lower bound below zero.
inline Layout layout_of(int kind) {
  static const Datatype* const types[3] = {
      &predefined(MPI_INT64_T),
      [] {
        Datatype* made = nullptr;
        EXPECT_EQ(datatype::type_contiguous(2, predefined(MPI_INT64_T), false, &made), Err::ok);
        EXPECT_EQ(datatype::type_commit(*made), Err::ok);
        return made;
      }(),
      [] {
        Datatype* made = nullptr;
        EXPECT_EQ(datatype::type_create_resized(predefined(MPI_INT64_T), -8, 24, false, &made), Err::ok);
        EXPECT_EQ(datatype::type_commit(*made), Err::ok);
        return made;
      }()};
  constexpr std::int64_t kValues[] = {1, 2, 1}, kExtents[] = {8, 16, 24};
  return {types[kind], kValues[kind], kExtents[kind]};
}

class Buffer {
 public:
  Buffer() = default;
  Buffer(const Layout& layout, std::int64_t elements)
      : layout_(layout),
        bytes_(std::size_t(elements * layout.extent + 2 * kMargin), kGap),
        is_value_(bytes_.size(), false) {}

  /// The buffer argument of a call.
  void* at() { return bytes_.data() + kMargin; }
  const Layout& layout() const { return layout_; }
  const Datatype& type() const { return *layout_.type; }

  std::int64_t get(std::int64_t value) const {
    std::int64_t read;
    std::memcpy(&read, &bytes_[place(value)], sizeof read);
    return read;
  }
  void set(std::int64_t value, std::int64_t to) {
    std::memcpy(&bytes_[place(value)], &to, sizeof to);
    expect_written(value);
  }
  /// This value may be written by the call under test.
  void expect_written(std::int64_t value) {
    std::fill_n(is_value_.begin() + std::ptrdiff_t(place(value)), sizeof(std::int64_t), true);
  }
  bool has_intact_gaps() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if (!is_value_[i] && bytes_[i] != kGap) return false;
    return true;
  }

 private:
  static constexpr std::byte kGap{0xa5};
  static constexpr std::int64_t kMargin = 32;
  std::size_t place(std::int64_t value) const {
    return std::size_t(kMargin + value / layout_.values * layout_.extent + value % layout_.values * 8);
  }
  Layout layout_{};
  std::vector<std::byte> bytes_;
  std::vector<bool> is_value_;
};

}  // namespace dunlin::test
