// The wire form of layouts (wire.hpp): 64-bit words, the tree in preorder.
//
//   type      = lower bound, extent, layout
//   strided   = 0, offset, block, dimensions, {count, stride} * dimensions
//   indexed   = 1, block, n, offset * n
//   blocks    = 2, n, {offset, bytes} * n
//   repeat    = 3, offset, count, stride, layout
//   sequence  = 4, n, {offset, layout} * n
#include "datatype/wire.hpp"

#include <mpi.h>

#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "datatype/shape.hpp"

namespace dunlin::datatype {

namespace {

constexpr std::size_t kWordsMax = kWireBytesMax / sizeof(std::int64_t);
// Bounds what the decoder accepts: offsets and sizes below 2^56 cannot overflow when a few of them are added.
constexpr std::int64_t kValueMax = std::int64_t{1} << 56;
constexpr int kNestedMax = 4096;

class Writer {
 public:
  bool is_full() const noexcept { return words_.size() > kWordsMax; }
  void put(std::initializer_list<std::int64_t> values) noexcept { words_.insert(words_.end(), values); }

  void layout(const Layout& layout) noexcept {
    if (is_full()) return;
    const auto form = static_cast<std::int64_t>(layout.form);
    switch (layout.form) {
      case Layout::Form::strided:
        put({form, layout.strided.offset, layout.strided.block, layout.strided.dimensions});
        for (int d = 0; d < layout.strided.dimensions; ++d)
          put({layout.strided.dimension[d].count, layout.strided.dimension[d].stride});
        break;
      case Layout::Form::indexed:
        put({form, layout.strided.block, static_cast<std::int64_t>(layout.offsets.size())});
        for (std::int64_t at : layout.offsets) put({layout.strided.offset + at});
        break;
      case Layout::Form::blocks:
        put({form, static_cast<std::int64_t>(layout.blocks.size())});
        for (const Block& block : layout.blocks) put({block.offset, block.bytes});
        break;
      case Layout::Form::repeat:
        put({form, layout.parts[0].offset, layout.dimension.count, layout.dimension.stride});
        this->layout(*layout.parts[0].layout);
        break;
      case Layout::Form::sequence:
        put({form, static_cast<std::int64_t>(layout.parts.size())});
        for (const Part& part : layout.parts) {
          put({part.offset});
          this->layout(*part.layout);
        }
        break;
    }
  }

  std::vector<std::byte> bytes() const noexcept {
    std::vector<std::byte> result;
    if (is_full()) return result;
    result.resize(words_.size() * sizeof(std::int64_t));
    std::memcpy(result.data(), words_.data(), result.size());
    return result;
  }

 private:
  std::vector<std::int64_t> words_;
};

/// Reads words; once something does not fit, `is_bad` stays set and everything read is empty.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> wire) noexcept : wire_(wire) {}

  bool is_bad() const noexcept { return is_bad_; }
  bool is_at_end() const noexcept { return wire_.empty(); }

  std::int64_t value() noexcept { return word(-kValueMax, kValueMax); }

  Shape shape(int depth) noexcept {
    const std::int64_t form = word(0, 4);
    if (depth > kNestedMax) is_bad_ = true;
    if (is_bad_) return empty_shape();
    switch (static_cast<Layout::Form>(form)) {
      case Layout::Form::strided: return strided();
      case Layout::Form::indexed: return indexed();
      case Layout::Form::blocks: return blocks();
      case Layout::Form::repeat: return repeat(depth);
      case Layout::Form::sequence: return sequence(depth);
    }
    __builtin_unreachable();
  }

 private:
  std::int64_t word(std::int64_t low, std::int64_t high) noexcept {
    std::int64_t value = 0;
    if (is_bad_ || wire_.size() < sizeof value) {
      is_bad_ = true;
      return 0;
    }
    std::memcpy(&value, wire_.data(), sizeof value);
    wire_ = wire_.subspan(sizeof value);
    if (value < low || value > high) is_bad_ = true;
    return is_bad_ ? 0 : value;
  }
  /// A number of list entries of at least `words` words each, which must be there.
  std::int64_t entries(std::int64_t words) noexcept {
    return word(1, static_cast<std::int64_t>(wire_.size() / sizeof(std::int64_t)) / words);
  }
  Shape checked(Err e, const Shape& shape) noexcept {
    if (e == Err::ok && shape.size <= kValueMax) return shape;
    is_bad_ = true;
    return empty_shape();
  }

  Shape strided() noexcept {
    const std::int64_t offset = value(), block = word(0, kValueMax);
    const std::int64_t dimensions = word(0, Strided::kDimensionsMax);
    Shape shape = run(block);
    Shape result = checked(shift_shape(shape, offset, &shape), shape);
    for (std::int64_t d = 0; d < dimensions; ++d) {
      const std::int64_t count = word(1, kValueMax), stride = value();
      result = checked(repeat_shape(result, count, stride, &shape), shape);
    }
    return result;
  }
  Shape indexed() noexcept {
    const std::int64_t block = word(1, kValueMax), n = entries(1);
    std::vector<Block> blocks;
    for (std::int64_t i = 0; i < n; ++i) blocks.push_back({value(), block, 0});
    return placed(std::move(blocks));
  }
  Shape blocks() noexcept {
    const std::int64_t n = entries(2);
    std::vector<Block> blocks;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t offset = value();
      blocks.push_back({offset, word(1, kValueMax), 0});
    }
    return placed(std::move(blocks));
  }
  Shape repeat(int depth) noexcept {
    const std::int64_t offset = value(), count = word(1, kValueMax), stride = value();
    Shape inner = shape(depth + 1), result;
    inner = checked(repeat_shape(inner, count, stride, &result), result);
    return checked(shift_shape(inner, offset, &result), result);
  }
  Shape sequence(int depth) noexcept {
    const std::int64_t n = entries(4);
    std::vector<Placed> members;
    for (std::int64_t i = 0; i < n && !is_bad_; ++i) {
      const std::int64_t offset = value();
      members.push_back({offset, shape(depth + 1)});
    }
    Shape result;
    return checked(place_shapes(members, &result), result);
  }

  static Shape run(std::int64_t bytes) noexcept {
    Shape shape = empty_shape(), result;
    if (bytes == 0) return shape;
    const Err e = repeat_shape(shape_of(*from_handle<Datatype>(MPI_BYTE)), bytes, 1, &result);
    DUNLIN_ASSERT(e == Err::ok);
    return result;
  }
  Shape placed(std::vector<Block> blocks) noexcept {
    Shape result;
    const Shape byte = shape_of(*from_handle<Datatype>(MPI_BYTE));
    return checked(place_blocks(byte, std::move(blocks), &result), result);
  }

  std::span<const std::byte> wire_;
  bool is_bad_ = false;
};

}  // namespace

std::vector<std::byte> encode_layout(const Datatype& type) noexcept {
  Writer writer;
  writer.put({type.lower_bound(), type.extent()});
  writer.layout(type.layout());
  return writer.bytes();
}

Result<Ref<Datatype>> decode_layout(std::span<const std::byte> wire) noexcept {
  Reader reader(wire);
  const std::int64_t lower_bound = reader.value(), extent = reader.value();
  Shape shape = reader.shape(0);
  if (reader.is_bad() || !reader.is_at_end())
    return fail(Err::intern, "a peer's datatype of %zu bytes is damaged", wire.size());
  if (Err e = resize_shape(shape, lower_bound, extent, &shape); e != Err::ok) return e;
  auto* type = new Datatype(shape, nullptr);
  type->set_committed();
  return Ref<Datatype>::adopt(type);
}

}  // namespace dunlin::datatype
