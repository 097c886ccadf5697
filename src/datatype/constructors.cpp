// MPI_Type_contiguous to MPI_Type_create_resized and MPI_Type_dup (MPI 5.0, 5.1.2 to 5.1.5, 5.1.7, 5.1.10).
//
// Each builds the new shape out of the old ones and remembers its arguments for MPI_Type_get_contents.
// Subarray and darray are in datatype/arrays.cpp.
#include <memory>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "datatype/functions.hpp"
#include "datatype/make.hpp"
#include "datatype/recipe.hpp"
#include "datatype/shape.hpp"

namespace dunlin::datatype {

Ref<Datatype> reference_to(const Datatype& type) noexcept {
  return Ref<Datatype>(const_cast<Datatype*>(&type));  // only the reference count changes
}

Err make_type(Shape shape, std::unique_ptr<Recipe> recipe, Datatype** new_type) noexcept {
  if (Err e = finish_shape(&shape); e != Err::ok) return e;
  *new_type = new Datatype(shape, recipe.release());
  return Err::ok;
}

std::unique_ptr<Recipe> make_recipe(int combiner, bool large, const Datatype& old_type) noexcept {
  constexpr std::size_t kCountsOften = 4;  // as many as most constructors have
  auto recipe = std::make_unique<Recipe>();
  recipe->combiner = combiner;
  recipe->is_large = large;
  if (large)
    recipe->large_counts.reserve(kCountsOften);
  else
    recipe->integers.reserve(kCountsOften);
  recipe->types.push_back(reference_to(old_type));
  return recipe;
}

void add_count(Recipe* recipe, std::int64_t count) noexcept {
  if (recipe->is_large)
    recipe->large_counts.push_back(count);
  else
    recipe->integers.push_back(static_cast<int>(count));
}

void add_address(Recipe* recipe, std::int64_t address) noexcept {
  (recipe->is_large ? recipe->large_counts : recipe->addresses).push_back(address);
}

namespace {

Err check_count(const char* name, std::int64_t count) noexcept {
  return count >= 0 ? Err::ok : fail(Err::arg, "%s is %lld; it must not be negative", name,
                                     static_cast<long long>(count));
}

Err vector_shape(std::int64_t count, std::int64_t block_length, std::int64_t stride, const Datatype& old_type,
                 Shape* result) noexcept {
  const Dimension loops[] = {{block_length, old_type.extent()}, {count, stride}};
  return repeat_shape(shape_of(old_type), loops, result);
}

/// `unit` bytes is what one step of a displacement means.
struct Indexed {
  std::int64_t count;
  IntArray block_lengths;          // unused when `block_length` is given
  std::int64_t block_length = -1;  // of all blocks
  IntArray displacements;
  std::int64_t unit = 1;

  std::int64_t length(std::int64_t i) const noexcept {
    return block_length >= 0 ? block_length : block_lengths[i];
  }
  bool try_offset(std::int64_t i, std::int64_t* offset) const noexcept {
    return !__builtin_mul_overflow(displacements[i], unit, offset);
  }
};

Err indexed_shape(const Indexed& indexed, const Datatype& old_type, Shape* result) noexcept {
  const Shape element = shape_of(old_type);
  const bool is_dense = old_type.is_contiguous() && element.size > 0;
  std::vector<Block> blocks;
  std::vector<Placed> members;
  std::int64_t last_length = -1;
  Shape last;  // consecutive blocks of one length share their layout
  for (std::int64_t i = 0; i < indexed.count; ++i) {
    const std::int64_t length = indexed.length(i);
    std::int64_t offset, bytes;
    if (Err e = check_count("a block length", length); e != Err::ok) return e;
    if (!indexed.try_offset(i, &offset) || __builtin_mul_overflow(length, element.size, &bytes))
      return fail(Err::value_too_large, "block %lld does not fit into 64 bits", static_cast<long long>(i));
    if (is_dense) {
      if (length > 0) blocks.push_back({offset, bytes, 0});
      continue;
    }
    if (length != last_length)
      if (Err e = repeat_shape(element, length, element.extent(), &last); e != Err::ok) return e;
    last_length = length;
    members.push_back({offset, last});
  }
  return is_dense ? place_blocks(element, std::move(blocks), result) : place_shapes(members, result);
}

Err make_indexed(const Indexed& indexed, int combiner, const Datatype& old_type, bool large,
                 Datatype** new_type) noexcept {
  if (Err e = check_count("count", indexed.count); e != Err::ok) return e;
  Shape shape;
  if (Err e = indexed_shape(indexed, old_type, &shape); e != Err::ok) return e;
  auto recipe = make_recipe(combiner, large, old_type);
  const bool has_addresses = combiner == MPI_COMBINER_HINDEXED || combiner == MPI_COMBINER_HINDEXED_BLOCK;
  add_count(recipe.get(), indexed.count);
  if (indexed.block_length >= 0)
    add_count(recipe.get(), indexed.block_length);
  else
    for (std::int64_t i = 0; i < indexed.count; ++i) add_count(recipe.get(), indexed.block_lengths[i]);
  for (std::int64_t i = 0; i < indexed.count; ++i) {
    if (has_addresses)
      add_address(recipe.get(), indexed.displacements[i]);
    else
      add_count(recipe.get(), indexed.displacements[i]);
  }
  return make_type(std::move(shape), std::move(recipe), new_type);
}

}  // namespace

Err type_contiguous(std::int64_t count, const Datatype& old_type, bool large, Datatype** new_type) noexcept {
  if (Err e = check_count("count", count); e != Err::ok) return e;
  Shape shape;
  if (Err e = repeat_shape(shape_of(old_type), count, old_type.extent(), &shape); e != Err::ok) return e;
  auto recipe = make_recipe(MPI_COMBINER_CONTIGUOUS, large, old_type);
  add_count(recipe.get(), count);
  return make_type(std::move(shape), std::move(recipe), new_type);
}

Err type_vector(std::int64_t count, std::int64_t block_length, std::int64_t stride, const Datatype& old_type,
                bool large, Datatype** new_type) noexcept {
  if (Err e = check_count("count", count); e != Err::ok) return e;
  if (Err e = check_count("blocklength", block_length); e != Err::ok) return e;
  std::int64_t stride_bytes;
  if (__builtin_mul_overflow(stride, old_type.extent(), &stride_bytes))
    return fail(Err::value_too_large, "stride * extent does not fit into 64 bits");
  Shape shape;
  if (Err e = vector_shape(count, block_length, stride_bytes, old_type, &shape); e != Err::ok) return e;
  auto recipe = make_recipe(MPI_COMBINER_VECTOR, large, old_type);
  for (std::int64_t argument : {count, block_length, stride}) add_count(recipe.get(), argument);
  return make_type(std::move(shape), std::move(recipe), new_type);
}

Err type_create_hvector(std::int64_t count, std::int64_t block_length, std::int64_t stride,
                        const Datatype& old_type, bool large, Datatype** new_type) noexcept {
  if (Err e = check_count("count", count); e != Err::ok) return e;
  if (Err e = check_count("blocklength", block_length); e != Err::ok) return e;
  Shape shape;
  if (Err e = vector_shape(count, block_length, stride, old_type, &shape); e != Err::ok) return e;
  auto recipe = make_recipe(MPI_COMBINER_HVECTOR, large, old_type);
  add_count(recipe.get(), count);
  add_count(recipe.get(), block_length);
  add_address(recipe.get(), stride);
  return make_type(std::move(shape), std::move(recipe), new_type);
}

Err type_indexed(std::int64_t count, IntArray block_lengths, IntArray displacements, const Datatype& old_type,
                 bool large, Datatype** new_type) noexcept {
  const Indexed indexed{count, block_lengths, -1, displacements, old_type.extent()};
  return make_indexed(indexed, MPI_COMBINER_INDEXED, old_type, large, new_type);
}

Err type_create_hindexed(std::int64_t count, IntArray block_lengths, IntArray displacements,
                         const Datatype& old_type, bool large, Datatype** new_type) noexcept {
  const Indexed indexed{count, block_lengths, -1, displacements, 1};
  return make_indexed(indexed, MPI_COMBINER_HINDEXED, old_type, large, new_type);
}

Err type_create_indexed_block(std::int64_t count, std::int64_t block_length, IntArray displacements,
                              const Datatype& old_type, bool large, Datatype** new_type) noexcept {
  if (Err e = check_count("blocklength", block_length); e != Err::ok) return e;
  const Indexed indexed{count, {}, block_length, displacements, old_type.extent()};
  return make_indexed(indexed, MPI_COMBINER_INDEXED_BLOCK, old_type, large, new_type);
}

Err type_create_hindexed_block(std::int64_t count, std::int64_t block_length, IntArray displacements,
                               const Datatype& old_type, bool large, Datatype** new_type) noexcept {
  if (Err e = check_count("blocklength", block_length); e != Err::ok) return e;
  const Indexed indexed{count, {}, block_length, displacements, 1};
  return make_indexed(indexed, MPI_COMBINER_HINDEXED_BLOCK, old_type, large, new_type);
}

Err type_create_struct(std::int64_t count, IntArray block_lengths, IntArray displacements,
                       const MPI_Datatype* types, bool large, Datatype** new_type) noexcept {
  if (Err e = check_count("count", count); e != Err::ok) return e;
  auto recipe = std::make_unique<Recipe>();
  recipe->combiner = MPI_COMBINER_STRUCT;
  recipe->is_large = large;
  std::vector<Placed> members;
  add_count(recipe.get(), count);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto* type = from_handle<Datatype>(types[i]);
    if (!type) return fail(Err::type, "array_of_types[%lld] is no datatype", static_cast<long long>(i));
    if (Err e = check_count("a block length", block_lengths[i]); e != Err::ok) return e;
    Shape member;
    const Shape old_shape = shape_of(*type);
    if (Err e = repeat_shape(old_shape, block_lengths[i], type->extent(), &member); e != Err::ok) return e;
    members.push_back({displacements[i], member});
    add_count(recipe.get(), block_lengths[i]);
    recipe->types.push_back(reference_to(*type));
  }
  for (std::int64_t i = 0; i < count; ++i) add_address(recipe.get(), displacements[i]);
  Shape shape;
  if (Err e = place_shapes(members, &shape); e != Err::ok) return e;
  return make_type(std::move(shape), std::move(recipe), new_type);
}

Err type_create_resized(const Datatype& old_type, std::int64_t lower_bound, std::int64_t extent, bool large,
                        Datatype** new_type) noexcept {
  Shape shape;
  if (Err e = resize_shape(shape_of(old_type), lower_bound, extent, &shape); e != Err::ok) return e;
  auto recipe = make_recipe(MPI_COMBINER_RESIZED, large, old_type);
  add_address(recipe.get(), lower_bound);
  add_address(recipe.get(), extent);
  return make_type(std::move(shape), std::move(recipe), new_type);
}

Err type_dup(const Datatype& old_type, Datatype** new_type) noexcept {
  Datatype* made = nullptr;
  auto recipe = make_recipe(MPI_COMBINER_DUP, false, old_type);
  if (Err e = make_type(shape_of(old_type), std::move(recipe), &made); e != Err::ok) return e;
  made->set_basic(old_type.basic());
  if (old_type.is_committed()) made->set_committed();
  Ref<Datatype> old_owner = reference_to(old_type);
  if (Err e = made->attributes().copy_from(*old_owner, old_type.attributes()); e != Err::ok) {
    made->release();
    return e;
  }
  *new_type = made;
  return Err::ok;
}

}  // namespace dunlin::datatype
