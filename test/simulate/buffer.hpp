// A rank's buffer in a simulation: 64-bit values in some layout, with a pattern in the gaps that must
// survive.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
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
/// 8 bytes.  All extents are whole words, so that a gap is some words.
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
        words_(std::size_t(elements * layout.extent / kWord + 2 * kMargin), kGap),
        is_value_(words_.size(), false) {}

  /// The buffer argument of a call.
  void* at() { return words_.data() + kMargin; }
  const Layout& layout() const { return layout_; }
  const Datatype& type() const { return *layout_.type; }

  std::int64_t get(std::int64_t value) const { return words_[place(value)]; }
  void set(std::int64_t value, std::int64_t to) {
    words_[place(value)] = to;
    expect_written(value);
  }
  /// This value may be written by the call under test.
  void expect_written(std::int64_t value) { is_value_[place(value)] = true; }
  bool has_intact_gaps() const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (!is_value_[i] && words_[i] != kGap) return false;
    return true;
  }

 private:
  static constexpr std::int64_t kWord = sizeof(std::int64_t), kGap = 0x5aa55aa55aa55aa5, kMargin = 4;
  std::size_t place(std::int64_t value) const {
    return std::size_t(kMargin + value / layout_.values * layout_.extent / kWord + value % layout_.values);
  }
  Layout layout_{};
  std::vector<std::int64_t> words_;
  std::vector<char> is_value_;  // by word
};

}  // namespace dunlin::test
