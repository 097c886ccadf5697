// The kinds of elements that a processor knows: what every type of the standard is made of in the end.
//
// Several predefined types share one kind (MPI_INT, MPI_INT32_T and MPI_INTEGER are all `i32`); reductions
// choose their kernel by it, external32 its conversion.  Used by datatype/predefined.cpp,
// datatype/external32.cpp and op/.
#pragma once

#include <cstdint>

namespace dunlin {

enum class Basic : std::uint8_t {
  none,     // derived types, and optional types that this platform lacks
  byte,     // MPI_BYTE, MPI_PACKED: no conversion, bitwise operations only
  text,     // MPI_CHARACTER: no operations
  wide_text,  // MPI_WCHAR
  i8, i16, i32, i64, i128,
  u8, u16, u32, u64,
  long_int, unsigned_long_int,  // C's long: half as long in external32, otherwise like i64 and u64
  f32, f64, long_double, f128,
  c32, c64, c_long_double, c128,  // complex; the number is the size of one of the two parts in bits
  logical8, logical16, logical32, logical64, logical128,  // Fortran's
  c_bool,
  pair_f32_int, pair_f64_int, pair_long_int, pair_int_int, pair_short_int, pair_long_double_int,
  pair_f32_f32, pair_f64_f64, pair_i32_i32, pair_i64_i64,  // Fortran's 2REAL, 2DOUBLE_PRECISION, 2INTEGER
  count_,
};

inline constexpr int kBasicKinds = static_cast<int>(Basic::count_);

}  // namespace dunlin
