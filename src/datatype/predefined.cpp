// The predefined types of the standard ABI (MPI 5.0, 3.2.2, 5.1.1, 6.9.4 and A.1.1) and what is found among
// them: MPI_Type_match_size, MPI_Type_get_value_index.
//
// Fortran types have the kinds of gfortran on 64-bit machines, also when no Fortran compiler is there.  There
// is no two-byte REAL then: MPI_REAL2 and MPI_COMPLEX4 exist, with size MPI_UNDEFINED.
#include <mpi.h>

#include <algorithm>
#include <cfloat>
#include <climits>
#include <cstddef>
#include <new>

#include "datatype/functions.hpp"
#include "datatype/native.hpp"
#include "datatype/recipe.hpp"
#include "datatype/shape.hpp"

namespace dunlin {

namespace {

struct Predefined {
  MPI_Datatype handle;
  Basic basic;
  const char* name;
};

const Predefined kPredefined[] = {
    {MPI_AINT, Basic::i64, "MPI_AINT"},
    {MPI_COUNT, Basic::i64, "MPI_COUNT"},
    {MPI_OFFSET, Basic::i64, "MPI_OFFSET"},
    {MPI_PACKED, Basic::byte, "MPI_PACKED"},
    {MPI_BYTE, Basic::byte, "MPI_BYTE"},
    {MPI_CHAR, CHAR_MIN < 0 ? Basic::i8 : Basic::u8, "MPI_CHAR"},  // arithmetic is C's, as everywhere
    {MPI_SIGNED_CHAR, Basic::i8, "MPI_SIGNED_CHAR"},
    {MPI_UNSIGNED_CHAR, Basic::u8, "MPI_UNSIGNED_CHAR"},
    {MPI_WCHAR, Basic::wide_text, "MPI_WCHAR"},
    {MPI_SHORT, Basic::i16, "MPI_SHORT"},
    {MPI_UNSIGNED_SHORT, Basic::u16, "MPI_UNSIGNED_SHORT"},
    {MPI_INT, Basic::i32, "MPI_INT"},
    {MPI_UNSIGNED, Basic::u32, "MPI_UNSIGNED"},
    {MPI_LONG, Basic::long_int, "MPI_LONG"},
    {MPI_UNSIGNED_LONG, Basic::unsigned_long_int, "MPI_UNSIGNED_LONG"},
    {MPI_LONG_LONG, Basic::i64, "MPI_LONG_LONG_INT"},
    {MPI_UNSIGNED_LONG_LONG, Basic::u64, "MPI_UNSIGNED_LONG_LONG"},
    {MPI_INT8_T, Basic::i8, "MPI_INT8_T"},
    {MPI_UINT8_T, Basic::u8, "MPI_UINT8_T"},
    {MPI_INT16_T, Basic::i16, "MPI_INT16_T"},
    {MPI_UINT16_T, Basic::u16, "MPI_UINT16_T"},
    {MPI_INT32_T, Basic::i32, "MPI_INT32_T"},
    {MPI_UINT32_T, Basic::u32, "MPI_UINT32_T"},
    {MPI_INT64_T, Basic::i64, "MPI_INT64_T"},
    {MPI_UINT64_T, Basic::u64, "MPI_UINT64_T"},
    {MPI_FLOAT, Basic::f32, "MPI_FLOAT"},
    {MPI_DOUBLE, Basic::f64, "MPI_DOUBLE"},
    {MPI_LONG_DOUBLE, Basic::long_double, "MPI_LONG_DOUBLE"},
    {MPI_C_FLOAT_COMPLEX, Basic::c32, "MPI_C_COMPLEX"},
    {MPI_C_DOUBLE_COMPLEX, Basic::c64, "MPI_C_DOUBLE_COMPLEX"},
    {MPI_C_LONG_DOUBLE_COMPLEX, Basic::c_long_double, "MPI_C_LONG_DOUBLE_COMPLEX"},
    {MPI_CXX_FLOAT_COMPLEX, Basic::c32, "MPI_CXX_FLOAT_COMPLEX"},
    {MPI_CXX_DOUBLE_COMPLEX, Basic::c64, "MPI_CXX_DOUBLE_COMPLEX"},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, Basic::c_long_double, "MPI_CXX_LONG_DOUBLE_COMPLEX"},
    {MPI_C_BOOL, Basic::c_bool, "MPI_C_BOOL"},
    {MPI_CXX_BOOL, Basic::c_bool, "MPI_CXX_BOOL"},
    {MPI_FLOAT_INT, Basic::pair_f32_int, "MPI_FLOAT_INT"},
    {MPI_DOUBLE_INT, Basic::pair_f64_int, "MPI_DOUBLE_INT"},
    {MPI_LONG_INT, Basic::pair_long_int, "MPI_LONG_INT"},
    {MPI_2INT, Basic::pair_int_int, "MPI_2INT"},
    {MPI_SHORT_INT, Basic::pair_short_int, "MPI_SHORT_INT"},
    {MPI_LONG_DOUBLE_INT, Basic::pair_long_double_int, "MPI_LONG_DOUBLE_INT"},
    {MPI_CHARACTER, Basic::text, "MPI_CHARACTER"},
    {MPI_LOGICAL, Basic::logical32, "MPI_LOGICAL"},
    {MPI_INTEGER, Basic::i32, "MPI_INTEGER"},
    {MPI_REAL, Basic::f32, "MPI_REAL"},
    {MPI_DOUBLE_PRECISION, Basic::f64, "MPI_DOUBLE_PRECISION"},
    {MPI_COMPLEX, Basic::c32, "MPI_COMPLEX"},
    {MPI_DOUBLE_COMPLEX, Basic::c64, "MPI_DOUBLE_COMPLEX"},
    {MPI_2REAL, Basic::pair_f32_f32, "MPI_2REAL"},
    {MPI_2DOUBLE_PRECISION, Basic::pair_f64_f64, "MPI_2DOUBLE_PRECISION"},
    {MPI_2INTEGER, Basic::pair_i32_i32, "MPI_2INTEGER"},
    {MPI_LOGICAL1, Basic::logical8, "MPI_LOGICAL1"},
    {MPI_LOGICAL2, Basic::logical16, "MPI_LOGICAL2"},
    {MPI_LOGICAL4, Basic::logical32, "MPI_LOGICAL4"},
    {MPI_LOGICAL8, Basic::logical64, "MPI_LOGICAL8"},
    {MPI_LOGICAL16, Basic::logical128, "MPI_LOGICAL16"},
    {MPI_INTEGER1, Basic::i8, "MPI_INTEGER1"},
    {MPI_INTEGER2, Basic::i16, "MPI_INTEGER2"},
    {MPI_INTEGER4, Basic::i32, "MPI_INTEGER4"},
    {MPI_INTEGER8, Basic::i64, "MPI_INTEGER8"},
    {MPI_INTEGER16, Basic::i128, "MPI_INTEGER16"},
    {MPI_REAL2, Basic::none, "MPI_REAL2"},
    {MPI_REAL4, Basic::f32, "MPI_REAL4"},
    {MPI_REAL8, Basic::f64, "MPI_REAL8"},
    {MPI_REAL16, Basic::f128, "MPI_REAL16"},
    {MPI_COMPLEX4, Basic::none, "MPI_COMPLEX4"},
    {MPI_COMPLEX8, Basic::c32, "MPI_COMPLEX8"},
    {MPI_COMPLEX16, Basic::c64, "MPI_COMPLEX16"},
    {MPI_COMPLEX32, Basic::c128, "MPI_COMPLEX32"},
};
constexpr std::size_t kPredefinedTypes = sizeof kPredefined / sizeof kPredefined[0];

alignas(Datatype) std::byte storage[kPredefinedTypes][sizeof(Datatype)];

std::int64_t alignment_of(Basic basic) noexcept {
  switch (basic) {
    case Basic::long_double: case Basic::c_long_double: return alignof(long double);
    case Basic::i128: case Basic::logical128: return alignof(Int128);
    case Basic::f128: case Basic::c128: return alignof(Float128);
    case Basic::c32: return alignof(float);
    case Basic::c64: return alignof(double);
    default: return std::max<std::int64_t>(datatype::bytes_of(basic), 1);
  }
}

/// A struct {first, second} as a C or Fortran compiler lays it out, or the one element.
datatype::Shape predefined_shape(Basic basic) noexcept {
  const datatype::Parts parts = datatype::parts_of(basic);
  datatype::Shape shape;
  const std::int64_t first = datatype::bytes_of(parts.first), second = datatype::bytes_of(parts.second);
  shape.alignment = std::max(alignment_of(parts.first), alignment_of(parts.second));
  const std::int64_t alignment = alignment_of(parts.second);
  const std::int64_t at = second ? (first + alignment - 1) / alignment * alignment : first;
  shape.size = first + second;
  shape.true_upper_bound = at + second;
  shape.upper_bound = (at + second + shape.alignment - 1) / shape.alignment * shape.alignment;
  shape.is_empty = shape.size == 0;
  shape.layout = datatype::make_blocks({{0, first, 0}, {at, second, 0}});
  return shape;
}

Datatype& predefined(MPI_Datatype handle) noexcept { return *from_handle<Datatype>(handle); }

bool is_made = false;
bool are_integers_wide = false, are_logicals_wide = false;

/// What a type is whose size the Fortran compiler chooses.
Basic basic_of(const Predefined& entry) noexcept {
  if (are_integers_wide && entry.handle == MPI_INTEGER) return Basic::i64;
  if (are_integers_wide && entry.handle == MPI_2INTEGER) return Basic::pair_i64_i64;
  if (are_logicals_wide && entry.handle == MPI_LOGICAL) return Basic::logical64;
  return entry.basic;
}

}  // namespace

void init_predefined_datatypes() noexcept {
  if (is_made) return;
  is_made = true;
  for (std::size_t i = 0; i < kPredefinedTypes; ++i) {
    const Predefined& entry = kPredefined[i];
    const Basic basic = basic_of(entry);
    auto* type = new (storage[i]) Datatype(predefined_shape(basic), basic, entry.name);
    make_predefined(*type, reinterpret_cast<std::uintptr_t>(entry.handle));
  }
}

bool datatype::try_widen_fortran_types(bool integers, bool logicals) noexcept {
  if (is_made && (integers || logicals)) return false;
  are_integers_wide = integers;
  are_logicals_wide = logicals;
  return true;
}

namespace datatype {

Err type_match_size(int type_class, int size, Datatype** type) noexcept {
  struct Match { int type_class; int size; MPI_Datatype handle; };
  static const Match kMatches[] = {
      {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1}, {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
      {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4}, {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
      {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16},
      {MPI_TYPECLASS_REAL, 4, MPI_REAL4}, {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
      {MPI_TYPECLASS_REAL, 16, MPI_REAL16},
      {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8}, {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
      {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
  };
  bool is_known_class = false;
  for (const Match& match : kMatches) {
    is_known_class = is_known_class || match.type_class == type_class;
    if (match.type_class == type_class && match.size == size) {
      *type = &predefined(match.handle);
      return Err::ok;
    }
  }
  if (!is_known_class) return fail(Err::arg, "typeclass %d is not one of MPI_TYPECLASS_...", type_class);
  return fail(Err::arg, "there is no type of %d bytes in typeclass %d", size, type_class);
}

Err type_get_value_index(const Datatype& value_type, const Datatype& index_type,
                         Datatype** pair_type) noexcept {
  struct Pair { MPI_Datatype value, index, pair; };
  static const Pair kPairs[] = {
      {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT}, {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
      {MPI_LONG, MPI_INT, MPI_LONG_INT}, {MPI_INT, MPI_INT, MPI_2INT}, {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
      {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT}, {MPI_REAL, MPI_REAL, MPI_2REAL},
      {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
      {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
  };
  *pair_type = nullptr;
  for (const Pair& pair : kPairs)
    if (value_type.handle_value() == reinterpret_cast<std::uintptr_t>(pair.value) &&
        index_type.handle_value() == reinterpret_cast<std::uintptr_t>(pair.index))
      *pair_type = &predefined(pair.pair);
  return Err::ok;
}

}  // namespace datatype

}  // namespace dunlin
