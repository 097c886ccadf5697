// A buffer of bytes in a random layout: contiguous, vector, indexed or struct.
//
// Which bytes belong to it is known from the way it was drawn, not from the datatype: so packing is checked,
// too.  The gaps hold a pattern that must survive.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "datatype/functions.hpp"
#include "object/object.hpp"

namespace dunlin::test {

using Dice = std::mt19937_64;

/// Below `below`, which is at least 1.
inline std::uint64_t draw(Dice& dice, std::uint64_t below) { return dice() % below; }
inline bool is_drawn(Dice& dice, unsigned percent) { return dice() % 100 < percent; }

class Shape {
 public:
  /// A place for exactly `bytes` bytes of data.
  Shape(Dice& dice, std::size_t bytes);

  // The arguments of a call.
  void* at() { return memory_.data() + origin_; }
  std::int64_t count() const { return count_; }
  const Datatype& type() const { return *type_; }
  bool is_contiguous() const { return blocks_.size() == 1 && memory_.size() == data_bytes_; }

  /// The memory behind it, for who wants to share it.
  std::byte* memory() { return memory_.data(); }
  std::size_t memory_bytes() const { return memory_.size(); }

  /// Writes the content of message `number` (its first bytes say the number).
  void fill(std::uint32_t number);
  /// How many bytes are as they should be when `bytes` bytes of message `number` have come and nothing else
  /// was written: all, or up to the first that is wrong.
  bool holds(std::uint32_t number, std::size_t bytes) const;
  /// Number of the message that lies here, which has at least 4 bytes.
  std::uint32_t number() const;

 private:
  struct Block {
    std::size_t at, bytes;  // in `memory_`
  };
  void make_contiguous(std::size_t bytes);
  void make_vector(Dice& dice, std::size_t bytes);
  void make_indexed(Dice& dice, std::size_t bytes);
  void make_struct(Dice& dice, std::size_t bytes);
  void adopt(Datatype* type, std::int64_t count);

  std::vector<std::byte> memory_;
  std::size_t origin_ = 0;  // where the buffer argument points to
  std::vector<Block> blocks_;  // in the order of the packed data
  std::size_t data_bytes_;
  std::int64_t count_ = 1;
  Ref<Datatype> type_;
};

}  // namespace dunlin::test
