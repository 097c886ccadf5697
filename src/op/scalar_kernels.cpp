// Reduction kernels for kinds without vectors: pairs, 128 bits, long double, products of complex numbers.
#include <cstring>
#include <initializer_list>

#include "datatype/native.hpp"
#include "op/kernels.hpp"
#include "op/vector_kernels.hpp"

namespace dunlin::op {

namespace {

/// The loop over elements of any copyable type; `kParts` of them are one element of the kind.
template <class Operation, class Element, std::int64_t kParts>
struct ScalarKernel {
  static Element load(const void* from, std::int64_t i) noexcept {
    Element element;
    std::memcpy(&element, static_cast<const char*>(from) + i * static_cast<std::int64_t>(sizeof element),
                sizeof element);
    return element;
  }
  static void store(void* to, std::int64_t i, const Element& element) noexcept {
    std::memcpy(static_cast<char*>(to) + i * static_cast<std::int64_t>(sizeof element), &element,
                sizeof element);
  }
  static void two(const void* a, const void* b, void* out, std::int64_t n) noexcept {
    for (std::int64_t i = 0; i < n * kParts; ++i) store(out, i, Operation::apply(load(a, i), load(b, i)));
  }
  static void many(const void* const* operands, std::int64_t k, void* out, std::int64_t n) noexcept {
    for (std::int64_t i = 0; i < n * kParts; ++i) {
      Element sum = load(operands[0], i);
      for (std::int64_t j = 1; j < k; ++j) sum = Operation::apply(sum, load(operands[j], i));
      store(out, i, sum);
    }
  }
};

template <class Operation, class Element, std::int64_t kParts = 1>
void set(KernelTable* table, Operator operation, Basic basic) noexcept {
  using Kernels = ScalarKernel<Operation, Element, kParts>;
  table->at(operation, basic) = {Kernels::two, Kernels::many};
}

template <class Real>
struct Complex {
  Real real, imaginary;
};

/// The textbook product: no extra care for infinities, as C's own operator takes under -fcx-limited-range.
struct ComplexProduct {
  template <class Real>
  static Complex<Real> apply(const Complex<Real>& a, const Complex<Real>& b) noexcept {
    return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
  }
};

template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
};

/// Of equal values the one with the lower index (MPI 5.0, 6.9.4).
struct MinimumLocation {
  template <class P>
  static P apply(const P& a, const P& b) noexcept {
    if (a.value == b.value) return a.index <= b.index ? a : b;
    return b.value < a.value ? b : a;
  }
};
struct MaximumLocation {
  template <class P>
  static P apply(const P& a, const P& b) noexcept {
    if (a.value == b.value) return a.index <= b.index ? a : b;
    return a.value < b.value ? b : a;
  }
};

template <class Value, class Index>
void set_pair(KernelTable* table, Basic basic) noexcept {
  set<MinimumLocation, Pair<Value, Index>>(table, Operator::minloc, basic);
  set<MaximumLocation, Pair<Value, Index>>(table, Operator::maxloc, basic);
}

template <class Real>
void set_reals(KernelTable* table, Basic real, Basic complex) noexcept {
  set<Sum, Real>(table, Operator::sum, real);
  set<Product, Real>(table, Operator::prod, real);
  set<Minimum, Real>(table, Operator::min, real);
  set<Maximum, Real>(table, Operator::max, real);
  set<Sum, Real, 2>(table, Operator::sum, complex);
  set<ComplexProduct, Complex<Real>>(table, Operator::prod, complex);
}

}  // namespace

void fill_scalar_kernels(KernelTable* table) noexcept {
  using UnsignedInt128 = unsigned __int128;
  set<Sum, UnsignedInt128>(table, Operator::sum, Basic::i128);
  set<Product, UnsignedInt128>(table, Operator::prod, Basic::i128);
  set<Minimum, Int128>(table, Operator::min, Basic::i128);
  set<Maximum, Int128>(table, Operator::max, Basic::i128);
  set<BitAnd, UnsignedInt128>(table, Operator::band, Basic::i128);
  set<BitOr, UnsignedInt128>(table, Operator::bor, Basic::i128);
  set<BitXor, UnsignedInt128>(table, Operator::bxor, Basic::i128);
  for (Basic basic : {Basic::i128, Basic::logical128}) {
    set<LogicalAnd, UnsignedInt128>(table, Operator::land, basic);
    set<LogicalOr, UnsignedInt128>(table, Operator::lor, basic);
    set<LogicalXor, UnsignedInt128>(table, Operator::lxor, basic);
  }
  set_reals<long double>(table, Basic::long_double, Basic::c_long_double);
  set_reals<Float128>(table, Basic::f128, Basic::c128);
  set<ComplexProduct, Complex<float>>(table, Operator::prod, Basic::c32);
  set<ComplexProduct, Complex<double>>(table, Operator::prod, Basic::c64);

  set_pair<float, int>(table, Basic::pair_f32_int);
  set_pair<double, int>(table, Basic::pair_f64_int);
  set_pair<long, int>(table, Basic::pair_long_int);
  set_pair<int, int>(table, Basic::pair_int_int);
  set_pair<short, int>(table, Basic::pair_short_int);
  set_pair<long double, int>(table, Basic::pair_long_double_int);
  set_pair<float, float>(table, Basic::pair_f32_f32);
  set_pair<double, double>(table, Basic::pair_f64_f64);
  set_pair<std::int32_t, std::int32_t>(table, Basic::pair_i32_i32);
  set_pair<std::int64_t, std::int64_t>(table, Basic::pair_i64_i64);
}

}  // namespace dunlin::op
