// MPI_Type_create_subarray and MPI_Type_create_darray (MPI 5.0, 5.1.3 and 5.1.4).
//
// Both are built from the fastest dimension outwards: each step repeats what there is along one dimension.
// Whatever is regular ends as one nest of strides.
#include <memory>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "datatype/functions.hpp"
#include "datatype/make.hpp"

namespace dunlin::datatype {

namespace {

Err check_order(int order) noexcept {
  if (order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN) return Err::ok;
  return fail(Err::arg, "order is %d, neither MPI_ORDER_C nor MPI_ORDER_FORTRAN", order);
}

/// The i-th dimension counted from the one that varies fastest.
int dimension_at(int i, int dimensions, int order) noexcept {
  return order == MPI_ORDER_FORTRAN ? i : dimensions - 1 - i;
}

Err times(std::int64_t a, std::int64_t b, std::int64_t* product) noexcept {
  if (!__builtin_mul_overflow(a, b, product)) return Err::ok;
  return fail(Err::value_too_large, "the array has more than 2^63 bytes");
}

/// Indices first, first + 1, ... (count of them) of a dimension whose elements lie `stride` bytes apart.
Err take_range(Shape* shape, std::int64_t first, std::int64_t count, std::int64_t stride) noexcept {
  std::int64_t offset;
  if (Err e = times(first, stride, &offset); e != Err::ok) return e;
  if (Err e = repeat_shape(*shape, count, stride, shape); e != Err::ok) return e;
  return offset == 0 ? Err::ok : shift_shape(*shape, offset, shape);
}

Err check_subarray(int i, std::int64_t size, std::int64_t subsize, std::int64_t start) noexcept {
  if (size < 1)
    return fail(Err::arg, "array_of_sizes[%d] is %lld; it must be at least 1", i,
                static_cast<long long>(size));
  if (subsize < 1 || subsize > size)
    return fail(Err::arg, "array_of_subsizes[%d] is %lld; it must be from 1 to %lld", i,
                static_cast<long long>(subsize), static_cast<long long>(size));
  if (start < 0 || start > size - subsize)
    return fail(Err::arg, "array_of_starts[%d] is %lld; it must be from 0 to %lld", i,
                static_cast<long long>(start), static_cast<long long>(size - subsize));
  return Err::ok;
}

/// What one process has of one dimension of a distributed array.
struct Share {
  std::int64_t size;       // of the dimension
  std::int64_t block;      // indices in a block
  std::int64_t processes;  // along this dimension
  std::int64_t place;      // of this process among them
};

Err share_of(int i, std::int64_t size, int distribution, int argument, int processes, Share* share) noexcept {
  if (size < 1)
    return fail(Err::arg, "array_of_gsizes[%d] is %lld; it must be at least 1", i,
                static_cast<long long>(size));
  if (processes < 1) return fail(Err::arg, "array_of_psizes[%d] is %d; it must be at least 1", i, processes);
  share->size = size;
  share->processes = processes;
  const bool is_default = argument == MPI_DISTRIBUTE_DFLT_DARG;
  if (!is_default && distribution != MPI_DISTRIBUTE_NONE && argument < 1)
    return fail(Err::arg, "array_of_dargs[%d] is %d; give at least 1, or MPI_DISTRIBUTE_DFLT_DARG", i,
                argument);
  switch (distribution) {
    case MPI_DISTRIBUTE_NONE:
      if (processes != 1)
        return fail(Err::arg, "array_of_psizes[%d] is %d; with MPI_DISTRIBUTE_NONE it must be 1", i,
                    processes);
      share->block = size;
      return Err::ok;
    case MPI_DISTRIBUTE_BLOCK:
      share->block = is_default ? (size + processes - 1) / processes : argument;
      if (share->block < (size + processes - 1) / processes)
        return fail(Err::arg, "array_of_dargs[%d] is %d, too small for %d processes", i, argument, processes);
      return Err::ok;
    case MPI_DISTRIBUTE_CYCLIC:
      share->block = is_default ? 1 : argument;
      return Err::ok;
    default:
      return fail(Err::arg, "array_of_distribs[%d] is %d, not one of MPI_DISTRIBUTE_...", i, distribution);
  }
}

/// Every block of the share: whole ones at equal distances, perhaps a shorter one at the end.
Err take_share(Shape* shape, const Share& share, std::int64_t stride) noexcept {
  const std::int64_t round = share.block * share.processes;  // indices until it is this process's turn again
  const std::int64_t first = share.place * share.block;
  const std::int64_t after = share.size - first;  // indices from its first block on
  const std::int64_t whole = after < share.block ? 0 : (after - share.block) / round + 1;
  const std::int64_t last = after - whole * round;  // indices from the block behind the whole ones on
  const std::int64_t rest = last > 0 ? std::min(last, share.block) : 0;
  std::int64_t round_bytes, first_bytes, rest_bytes;
  if (Err e = times(round, stride, &round_bytes); e != Err::ok) return e;
  if (Err e = times(first, stride, &first_bytes); e != Err::ok) return e;
  if (Err e = times(whole, round_bytes, &rest_bytes); e != Err::ok) return e;
  std::vector<Placed> members;
  if (whole > 0) {
    Placed blocks{first_bytes, *shape};
    const Dimension loops[] = {{share.block, stride}, {whole, round_bytes}};
    if (Err e = repeat_shape(*shape, loops, &blocks.shape); e != Err::ok) return e;
    members.push_back(std::move(blocks));
  }
  if (rest > 0) {
    Placed block{first_bytes + rest_bytes, *shape};
    if (Err e = repeat_shape(*shape, rest, stride, &block.shape); e != Err::ok) return e;
    members.push_back(std::move(block));
  }
  return place_shapes(members, shape);
}

}  // namespace

Err type_create_subarray(int dimensions, IntArray sizes, IntArray subsizes, IntArray starts, int order,
                         const Datatype& old_type, bool large, Datatype** new_type) noexcept {
  if (dimensions < 1) return fail(Err::arg, "ndims is %d; it must be at least 1", dimensions);
  if (Err e = check_order(order); e != Err::ok) return e;
  Shape shape = shape_of(old_type);
  std::int64_t stride = old_type.extent();
  for (int i = 0; i < dimensions; ++i) {
    const int d = dimension_at(i, dimensions, order);
    if (Err e = check_subarray(d, sizes[d], subsizes[d], starts[d]); e != Err::ok) return e;
    if (Err e = take_range(&shape, starts[d], subsizes[d], stride); e != Err::ok) return e;
    if (Err e = times(stride, sizes[d], &stride); e != Err::ok) return e;
  }
  if (Err e = resize_shape(shape, 0, stride, &shape); e != Err::ok) return e;
  auto recipe = make_recipe(MPI_COMBINER_SUBARRAY, large, old_type);
  recipe->integers.push_back(dimensions);
  for (const IntArray& array : {sizes, subsizes, starts})
    for (int i = 0; i < dimensions; ++i) add_count(recipe.get(), array[i]);
  recipe->integers.push_back(order);
  return make_type(std::move(shape), std::move(recipe), new_type);
}

Err type_create_darray(int size, int rank, int dimensions, IntArray global_sizes, const int* distributions,
                       const int* arguments, const int* process_sizes, int order, const Datatype& old_type,
                       bool large, Datatype** new_type) noexcept {
  if (dimensions < 1) return fail(Err::arg, "ndims is %d; it must be at least 1", dimensions);
  if (Err e = check_order(order); e != Err::ok) return e;
  if (size < 1 || rank < 0 || rank >= size)
    return fail(Err::arg, "rank is %d and size %d; give a rank from 0 to size - 1", rank, size);
  std::vector<Share> shares(static_cast<std::size_t>(dimensions));
  std::int64_t grid = 1;
  std::int64_t place = rank;
  for (int d = dimensions - 1; d >= 0; --d) {  // the process grid is in C order always
    Share& share = shares[static_cast<std::size_t>(d)];
    const Err e = share_of(d, global_sizes[d], distributions[d], arguments[d], process_sizes[d], &share);
    if (e != Err::ok) return e;
    share.place = place % share.processes;
    place /= share.processes;
    grid *= share.processes;
    if (grid > size) break;
  }
  if (grid != size) return fail(Err::arg, "size is %d, but the product of array_of_psizes is not", size);
  Shape shape = shape_of(old_type);
  std::int64_t stride = old_type.extent();
  for (int i = 0; i < dimensions; ++i) {
    const int d = dimension_at(i, dimensions, order);
    if (Err e = take_share(&shape, shares[static_cast<std::size_t>(d)], stride); e != Err::ok) return e;
    if (Err e = times(stride, global_sizes[d], &stride); e != Err::ok) return e;
  }
  if (Err e = resize_shape(shape, 0, stride, &shape); e != Err::ok) return e;
  auto recipe = make_recipe(MPI_COMBINER_DARRAY, large, old_type);
  for (int argument : {size, rank, dimensions}) recipe->integers.push_back(argument);
  for (int i = 0; i < dimensions; ++i) add_count(recipe.get(), global_sizes[i]);
  for (const int* array : {distributions, arguments, process_sizes})
    for (int i = 0; i < dimensions; ++i) recipe->integers.push_back(array[i]);
  recipe->integers.push_back(order);
  return make_type(std::move(shape), std::move(recipe), new_type);
}

}  // namespace dunlin::datatype
