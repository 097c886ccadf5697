// MPI_Type_create_f90_real, _complex and _integer (MPI 5.0, 19.1.9): types by precision and range.
//
// The kinds are gfortran's.  The standard counts these types among the predefined ones: the same arguments
// give the same handle, and nobody frees them.  They live in a table that only grows; whoever calls holds
// base/big_lock.hpp.
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "datatype/functions.hpp"
#include "datatype/make.hpp"

namespace dunlin::datatype {

namespace {

struct RealKind {
  int precision, range;  // decimal digits, decimal exponent
  MPI_Datatype real, complex;
};
const RealKind kReals[] = {
    {6, 37, MPI_REAL4, MPI_COMPLEX8},
    {15, 307, MPI_REAL8, MPI_COMPLEX16},
    {18, 4931, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX},
    {33, 4931, MPI_REAL16, MPI_COMPLEX32},
};

struct IntegerKind {
  int range;  // decimal exponent
  MPI_Datatype type;
};
const IntegerKind kIntegers[] = {
    {2, MPI_INTEGER1}, {4, MPI_INTEGER2}, {9, MPI_INTEGER4}, {18, MPI_INTEGER8}, {38, MPI_INTEGER16},
};

/// The type for these arguments: made once, never destroyed.
Err permanent_type(int combiner, std::initializer_list<int> arguments, MPI_Datatype like,
                   Datatype** new_type) noexcept {
  static std::map<std::pair<int, std::vector<int>>, Datatype*> types;
  Datatype*& type = types[{combiner, arguments}];
  if (!type) {
    const Datatype& predefined = *from_handle<Datatype>(like);
    auto recipe = std::make_unique<Recipe>();
    recipe->combiner = combiner;
    recipe->integers = arguments;
    if (Err e = make_type(shape_of(predefined), std::move(recipe), &type); e != Err::ok) return e;
    type->set_basic(predefined.basic());
    type->set_committed();
  }
  *new_type = type;
  return Err::ok;
}

Err find_real(int precision, int range, const RealKind** kind) noexcept {
  if (precision == MPI_UNDEFINED && range == MPI_UNDEFINED)
    return fail(Err::arg, "p and r are both MPI_UNDEFINED; give at least one of them");
  for (const RealKind& candidate : kReals) {
    *kind = &candidate;
    const bool is_precise = precision == MPI_UNDEFINED || precision <= candidate.precision;
    if (is_precise && (range == MPI_UNDEFINED || range <= candidate.range)) return Err::ok;
  }
  return fail(Err::arg, "there is no REAL with p = %d digits and r = %d", precision, range);
}

}  // namespace

Err type_create_f90_real(int precision, int range, Datatype** new_type) noexcept {
  const RealKind* kind;
  if (Err e = find_real(precision, range, &kind); e != Err::ok) return e;
  return permanent_type(MPI_COMBINER_F90_REAL, {precision, range}, kind->real, new_type);
}

Err type_create_f90_complex(int precision, int range, Datatype** new_type) noexcept {
  const RealKind* kind;
  if (Err e = find_real(precision, range, &kind); e != Err::ok) return e;
  return permanent_type(MPI_COMBINER_F90_COMPLEX, {precision, range}, kind->complex, new_type);
}

Err type_create_f90_integer(int range, Datatype** new_type) noexcept {
  for (const IntegerKind& kind : kIntegers)
    if (range <= kind.range) return permanent_type(MPI_COMBINER_F90_INTEGER, {range}, kind.type, new_type);
  return fail(Err::arg, "there is no INTEGER with r = %d digits", range);
}

}  // namespace dunlin::datatype
