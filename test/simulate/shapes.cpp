#include "test/simulate/shapes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace dunlin::test {
namespace {

constexpr std::byte kGap{0xa5};
constexpr std::size_t kBlocksMax = 3000;  // of a vector

Datatype& byte_type() { return *from_handle<Datatype>(MPI_BYTE); }

std::byte content(std::uint32_t number, std::size_t i) {
  if (i < 4) return std::byte(number >> (8 * i));
  return std::byte(number * 31 + i * 7 + (i >> 8) * 3 + (i >> 16));
}

/// Lengths of `parts` parts of `bytes` bytes; some may be empty.
std::vector<std::size_t> cut(Dice& dice, std::size_t bytes, std::size_t parts) {
  std::vector<std::size_t> cuts(parts + 1, 0);
  for (std::size_t i = 1; i < parts; ++i) cuts[i] = draw(dice, bytes + 1);
  cuts[parts] = bytes;
  std::sort(cuts.begin(), cuts.end());
  std::vector<std::size_t> lengths(parts);
  for (std::size_t i = 0; i < parts; ++i) lengths[i] = cuts[i + 1] - cuts[i];
  return lengths;
}

/// The longest block among a few drawn ones of which a whole number, and not too many, makes `bytes`.
std::size_t block_for(Dice& dice, std::size_t bytes) {
  constexpr std::size_t kSizes[] = {1, 3, 8, 24, 64, 100, 512, 1000, 4096};
  std::size_t found = 0;
  for (int tries = 0; tries < 4; ++tries) {
    const std::size_t block = kSizes[draw(dice, std::size(kSizes))];
    const std::size_t blocks = bytes / block;
    if (blocks * block == bytes && blocks > 1 && blocks <= kBlocksMax) found = std::max(found, block);
  }
  return found;
}

}  // namespace

Shape::Shape(Dice& dice, std::size_t bytes) : data_bytes_(bytes) {
  switch (bytes == 0 ? 0 : draw(dice, 6)) {
    case 0:
    case 1:
    case 2: make_contiguous(bytes); break;
    case 3: make_vector(dice, bytes); break;
    case 4: make_indexed(dice, bytes); break;
    default: make_struct(dice, bytes);
  }
  std::fill(memory_.begin(), memory_.end(), kGap);
}

void Shape::adopt(Datatype* type, std::int64_t count) {
  EXPECT_EQ(datatype::type_commit(*type), Err::ok);
  type_ = Ref<Datatype>::adopt(type);
  count_ = count;
}

void Shape::make_contiguous(std::size_t bytes) {
  memory_.resize(bytes);
  blocks_ = {{0, bytes}};
  type_ = Ref<Datatype>(&byte_type());
  count_ = std::int64_t(bytes);
}

/// Equal blocks with equal gaps: one element of a vector type, or many of a resized block.
void Shape::make_vector(Dice& dice, std::size_t bytes) {
  const std::size_t block = block_for(dice, bytes);
  if (block == 0) return make_indexed(dice, bytes);
  const std::size_t blocks = bytes / block, stride = block + 1 + draw(dice, is_drawn(dice, 10) ? 1024 : 20);
  memory_.resize(blocks * stride);
  for (std::size_t i = 0; i < blocks; ++i) blocks_.push_back({i * stride, block});
  Datatype *made = nullptr, *inner = nullptr;
  if (is_drawn(dice, 50)) {
    EXPECT_EQ(datatype::type_create_hvector(std::int64_t(blocks), std::int64_t(block), std::int64_t(stride),
                                            byte_type(), false, &made),
              Err::ok);
    return adopt(made, 1);
  }
  EXPECT_EQ(datatype::type_contiguous(std::int64_t(block), byte_type(), false, &inner), Err::ok);
  EXPECT_EQ(datatype::type_create_resized(*inner, 0, std::int64_t(stride), false, &made), Err::ok);
  EXPECT_EQ(datatype::type_free(*inner), Err::ok);
  adopt(made, std::int64_t(blocks));
}

/// A few blocks of any length, in any order in memory, also before the buffer's address.
void Shape::make_indexed(Dice& dice, std::size_t bytes) {
  const std::vector<std::size_t> lengths = cut(dice, bytes, 1 + draw(dice, 12));
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), dice);
  blocks_.resize(lengths.size());
  std::size_t end = 0;
  for (const std::size_t i : order) {
    end += 1 + draw(dice, 40);
    blocks_[i] = {end, lengths[i]};
    end += lengths[i];
  }
  memory_.resize(end + 1);
  origin_ = draw(dice, end);
  std::vector<MPI_Aint> places;
  std::vector<int> counts;
  for (const Block& each : blocks_) {
    places.push_back(MPI_Aint(each.at) - MPI_Aint(origin_));
    counts.push_back(int(each.bytes));
  }
  Datatype* made = nullptr;
  EXPECT_EQ(datatype::type_create_hindexed(std::int64_t(counts.size()), IntArray{counts.data(), false},
                                           IntArray{places.data(), true}, byte_type(), false, &made),
            Err::ok);
  adopt(made, 1);
}

/// Bytes, then blocks of eight, then bytes.
void Shape::make_struct(Dice& dice, std::size_t bytes) {
  constexpr std::size_t kEight = 8, kStride = 20;
  const std::size_t head = std::min<std::size_t>(bytes, draw(dice, 100));
  const std::size_t eights = std::min((bytes - head) / kEight, draw(dice, kBlocksMax));
  const std::size_t rest = bytes - head - eights * kEight;
  const std::size_t middle = head + 1 + draw(dice, 9), tail = middle + eights * kStride + draw(dice, 100);
  memory_.resize(tail + rest);
  blocks_ = {{0, head}};
  for (std::size_t i = 0; i < eights; ++i) blocks_.push_back({middle + i * kStride, kEight});
  blocks_.push_back({tail, rest});
  Datatype *eight = nullptr, *spaced = nullptr, *made = nullptr;
  EXPECT_EQ(datatype::type_contiguous(kEight, byte_type(), false, &eight), Err::ok);
  EXPECT_EQ(datatype::type_create_resized(*eight, 0, kStride, false, &spaced), Err::ok);
  const int counts[] = {int(head), int(eights), int(rest)};
  const MPI_Aint places[] = {0, MPI_Aint(middle), MPI_Aint(tail)};
  const MPI_Datatype types[] = {MPI_BYTE, to_handle<MPI_Datatype>(*spaced), MPI_BYTE};
  EXPECT_EQ(datatype::type_create_struct(3, IntArray{counts, false}, IntArray{places, true}, types, false,
                                         &made),
            Err::ok);
  EXPECT_EQ(datatype::type_free(*eight), Err::ok);
  EXPECT_EQ(datatype::type_free(*spaced), Err::ok);
  adopt(made, 1);
}

void Shape::fill(std::uint32_t number) {
  std::size_t i = 0;
  for (const Block& block : blocks_)
    for (std::size_t j = 0; j < block.bytes; ++j) memory_[block.at + j] = content(number, i++);
}

bool Shape::holds(std::uint32_t number, std::size_t bytes) const {
  std::vector<std::byte> expected(memory_.size(), kGap);
  std::size_t i = 0;
  for (const Block& block : blocks_)
    for (std::size_t j = 0; j < block.bytes && i < bytes; ++j, ++i)
      expected[block.at + j] = content(number, i);
  return expected == memory_;
}

std::uint32_t Shape::number() const {
  std::uint32_t number = 0, i = 0;
  for (const Block& block : blocks_)
    for (std::size_t j = 0; j < block.bytes && i < 4; ++j, ++i)
      number |= std::uint32_t(memory_[block.at + j]) << (8 * i);
  return number;
}

}  // namespace dunlin::test
