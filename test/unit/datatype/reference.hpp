// The slow reference of datatypes: a type map written out element by element, by the definitions of the
// standard (MPI 5.0, 5.1), beside the real type made by the same random choices.  Used by unit tests and the
// fuzzer.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "datatype/datatype.hpp"
#include "datatype/functions.hpp"
#include "datatype/signature.hpp"

namespace dunlin::test {

struct Entry {
  std::int64_t displacement;
  Basic basic;  // never a pair: pairs are two entries
};

struct TypeMap {
  std::vector<Entry> entries;
  bool has_bounds = false;    // explicit ones: of MPI_Type_create_resized, here or in a member
  bool has_members = false;   // natural bounds: those of the members, with their padding
  std::int64_t lower = 0, upper = 0;  // explicit, or else natural

  static std::int64_t bytes(const Entry& e) { return datatype::bytes_of(e.basic); }
  std::int64_t size() const {
    std::int64_t sum = 0;
    for (const Entry& e : entries) sum += bytes(e);
    return sum;
  }
  std::int64_t true_lower() const {
    std::int64_t low = entries.empty() ? 0 : INT64_MAX;
    for (const Entry& e : entries) low = std::min(low, e.displacement);
    return low;
  }
  std::int64_t true_upper() const {
    std::int64_t high = entries.empty() ? 0 : INT64_MIN;
    for (const Entry& e : entries) high = std::max(high, e.displacement + bytes(e));
    return high;
  }
  std::int64_t lower_bound() const { return lower; }
  std::int64_t extent() const {
    if (has_bounds) return upper - lower;
    std::int64_t alignment = 1;
    for (const Entry& e : entries) {
      alignment = std::max(alignment, e.basic == Basic::c64 ? bytes(e) / 2 : bytes(e));
    }
    return (upper - lower + alignment - 1) / alignment * alignment;
  }
  bool is_empty() const { return entries.empty() && !has_bounds; }
  /// Appends `other` at `displacement`, as struct does.
  void add(const TypeMap& other, std::int64_t displacement) {
    for (const Entry& e : other.entries) entries.push_back({displacement + e.displacement, e.basic});
    if (other.is_empty() || (has_bounds && !other.has_bounds)) return;
    const bool is_first = !has_members || (other.has_bounds && !has_bounds);
    const std::int64_t low = displacement + other.lower_bound(), high = low + other.extent();
    lower = is_first ? low : std::min(lower, low);
    upper = is_first ? high : std::max(upper, high);
    has_bounds = other.has_bounds;
    has_members = true;
  }
  void add_block(const TypeMap& other, std::int64_t displacement, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i) add(other, displacement + i * other.extent());
  }

  /// Packs `count` elements at `buffer`.
  std::vector<std::byte> pack(const std::byte* buffer, std::int64_t count) const {
    std::vector<std::byte> packed;
    for (std::int64_t i = 0; i < count; ++i)
      for (const Entry& e : entries) {
        const std::byte* from = buffer + i * extent() + e.displacement;
        packed.insert(packed.end(), from, from + bytes(e));
      }
    return packed;
  }
  /// Unpacks as many bytes as there are; false when a byte of the buffer was written twice.
  bool unpack(std::byte* buffer, std::int64_t count, const std::vector<std::byte>& packed) const {
    std::size_t position = 0;
    std::vector<std::byte*> written;
    for (std::int64_t i = 0; i < count; ++i)
      for (const Entry& e : entries)
        for (std::int64_t b = 0; b < bytes(e) && position < packed.size(); ++b) {
          std::byte* to = buffer + i * extent() + e.displacement + b;
          *to = packed[position++];
          written.push_back(to);
        }
    std::sort(written.begin(), written.end());
    return std::adjacent_find(written.begin(), written.end()) == written.end();
  }
};

/// A type made at random, with its map.
struct RandomType {
  Ref<Datatype> type;
  TypeMap map;
};

class TypeMaker {
 public:
  explicit TypeMaker(std::uint64_t seed) : random_(seed) {}

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  RandomType make(int depth) {
    while (true) {
      RandomType made = depth == 0 ? basic() : derived(depth);
      if (is_handy(made.map)) return made;
    }
  }

 private:
  /// Small enough for thousands of types a minute.
  static bool is_handy(const TypeMap& map) {
    if (map.entries.size() > 500) return false;
    const std::int64_t far = 20000, low = map.true_lower(), high = map.true_upper();
    return map.extent() < far && map.extent() > -far && map.lower_bound() > -far && map.lower_bound() < far &&
           low > -far && high < far;
  }

  static RandomType wrap(Datatype* type, TypeMap map) { return {Ref<Datatype>::adopt(type), std::move(map)}; }

  RandomType basic() {
    static const MPI_Datatype kHandles[] = {
        MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_FLOAT, MPI_C_DOUBLE_COMPLEX,
        MPI_LONG_DOUBLE, MPI_SHORT_INT, MPI_DOUBLE_INT, MPI_2INT, MPI_BYTE,
    };
    auto* type = from_handle<Datatype>(kHandles[number(0, 10)]);
    TypeMap map;
    const datatype::Parts parts = datatype::parts_of(type->basic());
    map.entries.push_back({0, parts.first});
    if (parts.second != Basic::none)
      map.entries.push_back({type->true_extent() - datatype::bytes_of(parts.second), parts.second});
    map.has_members = true;
    map.upper = type->extent();
    return {Ref<Datatype>(type), map};
  }

  std::vector<int> numbers(std::int64_t n, std::int64_t low, std::int64_t high) {
    std::vector<int> list;
    for (std::int64_t i = 0; i < n; ++i) list.push_back(static_cast<int>(number(low, high)));
    return list;
  }

  RandomType derived(int depth) {
    switch (number(0, 10)) {
      case 0: return contiguous(depth);
      case 1: return vector(depth, false);
      case 2: return vector(depth, true);
      case 3: return indexed(depth, false, false);
      case 4: return indexed(depth, true, false);
      case 5: return indexed(depth, false, true);
      case 6: return indexed(depth, true, true);
      case 7: return structure(depth);
      case 8: return resized(depth);
      case 9: return subarray(depth);
      default: return darray(depth);
    }
  }

  RandomType contiguous(int depth) {
    const RandomType old = make(depth - 1);
    const std::int64_t n = number(0, 5);
    Datatype* type = nullptr;
    check(datatype::type_contiguous(n, *old.type, false, &type));
    TypeMap map;
    map.add_block(old.map, 0, n);
    return wrap(type, map);
  }

  RandomType vector(int depth, bool in_bytes) {
    const RandomType old = make(depth - 1);
    const std::int64_t n = number(0, 5), length = number(0, 4);
    const std::int64_t stride = in_bytes ? number(-40, 80) : number(-3, 6);
    Datatype* type = nullptr;
    check(in_bytes ? datatype::type_create_hvector(n, length, stride, *old.type, false, &type)
                   : datatype::type_vector(n, length, stride, *old.type, false, &type));
    TypeMap map;
    for (std::int64_t i = 0; i < n; ++i)
      map.add_block(old.map, i * stride * (in_bytes ? 1 : old.map.extent()), length);
    return wrap(type, map);
  }

  RandomType indexed(int depth, bool in_bytes, bool is_block) {
    const RandomType old = make(depth - 1);
    const std::int64_t n = number(0, number(0, 9) == 0 ? 150 : 6), length = number(0, 3);
    std::vector<int> lengths = is_block ? std::vector<int>(n, static_cast<int>(length)) : numbers(n, 0, 3);
    std::vector<std::int64_t> displacements;
    const bool is_ascending = number(0, 1) == 1;
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      at += lengths[i] * (in_bytes ? old.map.extent() : 1) + number(0, 3);
      if (!is_ascending) at = number(-20, 40);
      displacements.push_back(at);
    }
    std::vector<int> narrow(displacements.begin(), displacements.end());
    const IntArray bytes{displacements.data(), true}, elements{narrow.data(), false};
    const IntArray counts{lengths.data(), false};
    Datatype* type = nullptr;
    if (is_block)
      check(in_bytes ? datatype::type_create_hindexed_block(n, length, bytes, *old.type, false, &type)
                     : datatype::type_create_indexed_block(n, length, elements, *old.type, false, &type));
    else
      check(in_bytes ? datatype::type_create_hindexed(n, counts, bytes, *old.type, false, &type)
                     : datatype::type_indexed(n, counts, elements, *old.type, false, &type));
    TypeMap map;
    for (std::int64_t i = 0; i < n; ++i)
      map.add_block(old.map, displacements[i] * (in_bytes ? 1 : old.map.extent()), lengths[i]);
    return wrap(type, map);
  }

  RandomType structure(int depth) {
    const std::int64_t n = number(0, 4);
    std::vector<RandomType> members;
    std::vector<int> lengths = numbers(n, 0, 3);
    std::vector<std::int64_t> displacements;
    std::vector<MPI_Datatype> types;
    std::int64_t at = 0;
    TypeMap map;
    for (std::int64_t i = 0; i < n; ++i) {
      members.push_back(make(static_cast<int>(number(0, depth - 1))));
      if (number(0, 3) > 0) at += number(0, 20);
      displacements.push_back(number(0, 5) == 0 ? number(-50, 300) : at);
      map.add_block(members[i].map, displacements[i], lengths[i]);
      at = displacements[i] + lengths[i] * members[i].map.extent();
      types.push_back(to_handle<MPI_Datatype>(*members[i].type));
    }
    Datatype* type = nullptr;
    const IntArray counts{lengths.data(), false}, offsets{displacements.data(), true};
    check(datatype::type_create_struct(n, counts, offsets, types.data(), false, &type));
    return wrap(type, map);
  }

  RandomType resized(int depth) {
    const RandomType old = make(depth - 1);
    const std::int64_t lower = number(-30, 30);
    const std::int64_t extent = number(0, 4) == 0 ? number(-20, 40) : old.map.extent() + number(0, 32);
    Datatype* type = nullptr;
    check(datatype::type_create_resized(*old.type, lower, extent, false, &type));
    TypeMap map = old.map;
    map.has_bounds = true;
    map.lower = lower;
    map.upper = lower + extent;
    return wrap(type, map);
  }

  RandomType subarray(int depth) {
    const RandomType old = make(depth - 1);
    const int n = static_cast<int>(number(1, 4));
    std::vector<int> sizes = numbers(n, 1, 5), subsizes, starts;
    for (int i = 0; i < n; ++i) {
      subsizes.push_back(static_cast<int>(number(1, sizes[i])));
      starts.push_back(static_cast<int>(number(0, sizes[i] - subsizes[i])));
    }
    const int order = number(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    Datatype* type = nullptr;
    check(datatype::type_create_subarray(n, IntArray{sizes.data(), false}, IntArray{subsizes.data(), false},
                                         IntArray{starts.data(), false}, order, *old.type, false, &type));
    std::vector<std::vector<std::int64_t>> indices(n);
    for (int d = 0; d < n; ++d)
      for (int i = 0; i < subsizes[d]; ++i) indices[d].push_back(starts[d] + i);
    return wrap(type, array_map(old.map, sizes, indices, order));
  }

  RandomType darray(int depth) {
    const RandomType old = make(depth - 1);
    const int n = static_cast<int>(number(1, 3));
    std::vector<int> sizes = numbers(n, 1, 9), kinds, arguments, processes = numbers(n, 1, 3);
    std::vector<std::vector<std::int64_t>> indices(n);
    int size = 1;
    for (int d = 0; d < n; ++d) {
      kinds.push_back(static_cast<int>(number(MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC)));
      if (kinds[d] == MPI_DISTRIBUTE_NONE) processes[d] = 1;
      const int least = kinds[d] == MPI_DISTRIBUTE_BLOCK ? (sizes[d] + processes[d] - 1) / processes[d] : 1;
      const int argument = static_cast<int>(number(least, least + 3));
      arguments.push_back(number(0, 1) ? MPI_DISTRIBUTE_DFLT_DARG : argument);
      size *= processes[d];
    }
    const int rank = static_cast<int>(number(0, size - 1));
    for (int d = n - 1, left = rank; d >= 0; left /= processes[d], --d) {
      const int place = left % processes[d];
      const bool is_default = arguments[d] == MPI_DISTRIBUTE_DFLT_DARG;
      int block = sizes[d];
      if (kinds[d] == MPI_DISTRIBUTE_BLOCK)
        block = is_default ? (sizes[d] + processes[d] - 1) / processes[d] : arguments[d];
      if (kinds[d] == MPI_DISTRIBUTE_CYCLIC) block = is_default ? 1 : arguments[d];
      for (int i = 0; i < sizes[d]; ++i)
        if (i / block % processes[d] == place) indices[d].push_back(i);
    }
    const int order = number(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    Datatype* type = nullptr;
    check(datatype::type_create_darray(size, rank, n, IntArray{sizes.data(), false}, kinds.data(),
                                       arguments.data(), processes.data(), order, *old.type, false, &type));
    return wrap(type, array_map(old.map, sizes, indices, order));
  }

  /// The elements of an array at all combinations of indices, in storage order, with the bounds of the whole
  /// array.
  static TypeMap array_map(const TypeMap& old, const std::vector<int>& sizes,
                           const std::vector<std::vector<std::int64_t>>& indices, int order) {
    const int n = static_cast<int>(sizes.size());
    TypeMap map;
    std::int64_t total = 1;
    for (int d = 0; d < n; ++d) total *= sizes[d];
    for (std::int64_t i = 0; i < total; ++i) {
      bool is_chosen = true;
      std::int64_t left = i;
      for (int k = 0; k < n; ++k) {
        const int d = order == MPI_ORDER_FORTRAN ? k : n - 1 - k;
        const std::int64_t index = left % sizes[d];
        left /= sizes[d];
        is_chosen = is_chosen && std::binary_search(indices[d].begin(), indices[d].end(), index);
      }
      if (!is_chosen) continue;
      for (const Entry& e : old.entries) map.entries.push_back({i * old.extent() + e.displacement, e.basic});
    }
    map.has_bounds = true;
    map.lower = 0;
    map.upper = total * old.extent();
    return map;
  }

  static void check(Err e) {
    if (e != Err::ok) {
      std::fprintf(stderr, "constructor failed: %s\n", error_detail(e));
      std::abort();
    }
  }

  std::mt19937_64 random_;
};

/// Memory that holds `count` elements of a map, with room around it.
class Buffer {
 public:
  Buffer(const TypeMap& map, std::int64_t count, std::uint64_t seed) {
    const std::int64_t last = std::max<std::int64_t>(count - 1, 0) * map.extent();
    const std::int64_t low = map.true_lower() + std::min<std::int64_t>(last, 0);
    const std::int64_t high = map.true_upper() + std::max<std::int64_t>(last, 0);
    start_ = -low;
    bytes_.resize(static_cast<std::size_t>(high - low));
    std::mt19937_64 random(seed);
    for (std::byte& b : bytes_) b = static_cast<std::byte>(random());
  }
  std::byte* address() { return bytes_.data() + start_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::int64_t start_;
};

}  // namespace dunlin::test
