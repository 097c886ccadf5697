// A rank's buffer in a simulation: values of 1, 4 or 8 bytes in some layout, with a pattern in the gaps that
// must survive.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "datatype/functions.hpp"
#include "test/simulate/world.hpp"

/// ASSERT_EQ for the many values of a buffer: what that does before it compares is most of a sanitizer run.
#define ASSERT_SAME(is, wanted)  \
  if ((is) == (wanted)) {        \
  } else                         \
    ASSERT_EQ(is, wanted)

namespace dunlin::test {

/// How values lie in memory.  `values` of them make one element of `type`; value v of an element lies at v *
/// `width` bytes.  All extents are whole values, so that a gap is some values.
struct Layout {
  const Datatype* type;
  std::int64_t values;
  std::int64_t extent;
  std::int64_t width = sizeof(std::int64_t);
};

inline const Datatype& predefined(MPI_Datatype handle) {
  make_predefined_objects();
  return *from_handle<Datatype>(handle);
}

/// What elements are made of: so many values of a width, and then perhaps padding.
struct Base {
  MPI_Datatype type;
  std::int64_t values, extent, width;
};
inline constexpr int kBases = 7;
inline const Base& base_of(int number) {
  static const Base all[kBases] = {{MPI_INT64_T, 1, 8, 8},   {MPI_DOUBLE, 1, 8, 8}, {MPI_FLOAT, 1, 4, 4},
                                   {MPI_INT8_T, 1, 1, 1},    {MPI_2INT, 1, 8, 8},   {MPI_FLOAT_INT, 1, 8, 8},
                                   {MPI_DOUBLE_INT, 3, 16, 4}};
  return all[number];
}

/// 0: plain; 1: pairs, of a base without padding; 2: with gaps, and a lower bound below zero.
inline Layout layout_of(int kind, int base = 0) {
  static const auto types = [] {
    std::vector<const Datatype*> made;
    for (int number = 0; number < kBases; ++number) {
      const Base& each = base_of(number);
      const Datatype& plain = predefined(each.type);
      Datatype *pair = nullptr, *gaps = nullptr;
      EXPECT_EQ(datatype::type_contiguous(2, plain, false, &pair), Err::ok);
      EXPECT_EQ(datatype::type_create_resized(plain, -each.extent, 3 * each.extent, false, &gaps), Err::ok);
      EXPECT_EQ(datatype::type_commit(*pair), Err::ok);
      EXPECT_EQ(datatype::type_commit(*gaps), Err::ok);
      made.insert(made.end(), {&plain, pair, gaps});
    }
    return made;
  }();
  const Base& of = base_of(base);
  constexpr std::int64_t kElements[] = {1, 2, 1}, kExtents[] = {1, 2, 3};
  return {types[std::size_t(3 * base + kind)], kElements[kind] * of.values, kExtents[kind] * of.extent,
          of.width};
}

class Buffer {
 public:
  Buffer() = default;
  Buffer(const Layout& layout, std::int64_t elements)
      : layout_(layout),
        bytes_(std::size_t(elements * layout.extent + 2 * kMargin), kGap),
        is_value_(bytes_.size() / std::size_t(layout.width), false) {}

  /// The buffer argument of a call.
  void* at() { return bytes_.data() + kMargin; }
  const Layout& layout() const { return layout_; }
  const Datatype& type() const { return *layout_.type; }
  /// What lies around and in it.
  std::span<const std::uint8_t> memory() const { return bytes_; }

  /// Of fewer than 64 bits: with its sign.
  std::int64_t get(std::int64_t value) const { return load(place(value)); }
  void set(std::int64_t value, std::int64_t to) {
    std::uint8_t* const at = bytes_.data() + place(value);
    if (layout_.width == 8)  // of known length: a test has millions of values
      std::memcpy(at, &to, 8);
    else
      std::memcpy(at, &to, std::size_t(layout_.width));
    expect_written(value);
  }
  /// This value may be written by the call under test.
  void expect_written(std::int64_t value) { is_value_[place(value) / std::size_t(layout_.width)] = true; }
  bool has_intact_gaps() const {
    std::int64_t gap;
    std::memset(&gap, kGap, sizeof gap);
    gap = narrow(gap, layout_.width);
    for (std::size_t i = 0; i < is_value_.size(); ++i)
      if (!is_value_[i] && load(i * std::size_t(layout_.width)) != gap) return false;
    return true;
  }
  /// What is left of a value in so many bytes.
  static std::int64_t narrow(std::int64_t value, std::int64_t width) {
    return width == 8 ? value : width == 4 ? std::int32_t(value) : std::int8_t(value);
  }

 private:
  static constexpr std::uint8_t kGap = 0xa5;
  static constexpr std::int64_t kMargin = 32;
  std::size_t place(std::int64_t value) const {
    const std::int64_t element = value / layout_.values, in_it = value % layout_.values;
    return std::size_t(kMargin + element * layout_.extent + in_it * layout_.width);
  }
  std::int64_t load(std::size_t at) const {
    std::int64_t value = 0;
    if (layout_.width == 8)
      std::memcpy(&value, bytes_.data() + at, 8);
    else
      std::memcpy(&value, bytes_.data() + at, std::size_t(layout_.width));
    return narrow(value, layout_.width);
  }
  Layout layout_{};
  std::vector<std::uint8_t> bytes_;
  std::vector<char> is_value_;  // by place of a value
};

}  // namespace dunlin::test
