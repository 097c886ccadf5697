// hot path: reduction kernels over vectors of `Isa::kVectorBytes` bytes, one text for every instruction set.
//
// Each file that includes this sets its instruction set first (#pragma GCC target) and defines `Isa` in an
// unnamed namespace, so that its instances are its own and never leak into code for lesser processors.  For
// the same reason no function of the C++ library is used here.  Cost: one load per operand, one operation,
// one store per vector; data in cache is bound by loads, data out of cache by memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "op/kernels.hpp"

namespace dunlin::op {

struct Sum {
  template <class V>
  static V apply(V a, V b) noexcept {
    return a + b;
  }
};
struct Product {
  template <class V>
  static V apply(V a, V b) noexcept {
    return a * b;
  }
};
struct Minimum {
  template <class V>
  static V apply(V a, V b) noexcept {
    return b < a ? b : a;
  }
};
struct Maximum {
  template <class V>
  static V apply(V a, V b) noexcept {
    return a < b ? b : a;
  }
};
struct BitAnd {
  template <class V>
  static V apply(V a, V b) noexcept {
    return a & b;
  }
};
struct BitOr {
  template <class V>
  static V apply(V a, V b) noexcept {
    return a | b;
  }
};
struct BitXor {
  template <class V>
  static V apply(V a, V b) noexcept {
    return a ^ b;
  }
};
// Any value but zero is true; the result is 0 or 1 (`V{} + 1`: every element of a vector).
struct LogicalAnd {
  template <class V>
  static V apply(V a, V b) noexcept {
    return (V)((a != 0) & (b != 0)) & (V{} + 1);
  }
};
struct LogicalOr {
  template <class V>
  static V apply(V a, V b) noexcept {
    return (V)((a != 0) | (b != 0)) & (V{} + 1);
  }
};
struct LogicalXor {
  template <class V>
  static V apply(V a, V b) noexcept {
    return (V)((a != 0) ^ (b != 0)) & (V{} + 1);
  }
};

/// `kParts` elements are one element of the kind: two for sums of complex numbers.
template <class Isa, class Operation, class Element, std::int64_t kParts>
struct VectorKernel {
  typedef Element Vector __attribute__((vector_size(Isa::kVectorBytes)));
  static constexpr std::int64_t kLanes = Isa::kVectorBytes / sizeof(Element);

  // Forced inline: vectors as arguments of real functions would follow the calling convention of the weakest
  // target.
  template <class Value>
  [[gnu::always_inline]] static inline Value combined(const Element* a, const Element* b) noexcept {
    Value left, right;
    std::memcpy(&left, a, sizeof left);
    std::memcpy(&right, b, sizeof right);
    return static_cast<Value>(Operation::apply(left, right));
  }
  template <class Value>
  [[gnu::always_inline]] static inline void step(const Element* a, const Element* b, Element* out) noexcept {
    const Value result = combined<Value>(a, b);
    std::memcpy(out, &result, sizeof result);
  }

  /// The first element behind out[0] from which on no vector of `out` lies in two lines, which takes twice as
  /// long in the first-level cache; at most a vector away.  Operands that a program allocated alike are
  /// aligned then, too.
  static std::int64_t aligned_element(const Element* out) noexcept {
    const std::uintptr_t bytes =
        Isa::kVectorBytes - reinterpret_cast<std::uintptr_t>(out) % Isa::kVectorBytes;
    return static_cast<std::int64_t>((bytes + sizeof(Element) - 1) / sizeof(Element));
  }

  /// Vectors from the given places on, two lines at a time, until `n` elements are reached or passed.  With
  /// three pointers that move: up to 7 % faster in the first-level cache than with one index.
  [[gnu::always_inline]] static inline void vectors(const Element* a, const Element* b, Element* out,
                                                    std::int64_t n) noexcept {
    constexpr std::int64_t kStep = 2 * 64 / static_cast<std::int64_t>(sizeof(Element));
    for (; n > kStep - kLanes; n -= kStep) {
#pragma GCC unroll 8
      for (std::int64_t i = 0; i < kStep; i += kLanes) step<Vector>(a + i, b + i, out + i);
      a += kStep;
      b += kStep;
      out += kStep;
      __asm__("" : "+r"(a), "+r"(b), "+r"(out));  // or the compiler would make one index of the three
    }
    for (std::int64_t i = 0; i < n; i += kLanes) step<Vector>(a + i, b + i, out + i);
  }

  /// The first and the last vector overlap others where the ends are ragged, and `out` may be an operand:
  /// they are combined before anything is stored, and stored last.
  static void two(const void* a_start, const void* b_start, void* out_start, std::int64_t count) noexcept {
    const std::int64_t n = count * kParts;
    const auto* a = static_cast<const Element*>(a_start);
    const auto* b = static_cast<const Element*>(b_start);
    auto* out = static_cast<Element*>(out_start);
    const std::int64_t end = n - kLanes;
    if (end < 0) {
      for (std::int64_t i = 0; i < n; ++i) step<Element>(a + i, b + i, out + i);
      return;
    }
    const Vector first = combined<Vector>(a, b), last = combined<Vector>(a + end, b + end);
    const std::int64_t head = aligned_element(out);
    vectors(a + head, b + head, out + head, end - head);
    std::memcpy(out, &first, sizeof first);
    std::memcpy(out + end, &last, sizeof last);
  }

  /// out[i] to out[i + kVectors * lanes - 1], or one element.
  template <class Value, std::int64_t kVectors>
  [[gnu::always_inline]] static inline void step_many(const Element* const* list, std::int64_t k,
                                                      Element* out, std::int64_t i) noexcept {
    Value sums[kVectors];
    std::memcpy(&sums, list[0] + i, sizeof sums);
    for (std::int64_t j = 1; j < k; ++j) {
#pragma GCC unroll 4
      for (std::int64_t u = 0; u < kVectors; ++u) {
        Value right;
        std::memcpy(&right, list[j] + i + u * kLanes, sizeof right);
        sums[u] = static_cast<Value>(Operation::apply(sums[u], right));
      }
    }
    std::memcpy(out + i, &sums, sizeof sums);
  }

  /// All operands of a few vectors before the next vectors, so that `out` is written once and read never.
  static void many(const void* const* operands, std::int64_t k, void* out_start,
                   std::int64_t count) noexcept {
    const std::int64_t n = count * kParts;
    const auto* const* list = reinterpret_cast<const Element* const*>(operands);
    auto* out = static_cast<Element*>(out_start);
    std::int64_t i = 0;
    constexpr std::int64_t kUnroll = 4;  // enough loads in flight for one core, no registers spilled
    for (; i + kUnroll * kLanes <= n; i += kUnroll * kLanes) step_many<Vector, kUnroll>(list, k, out, i);
    for (; i + kLanes <= n; i += kLanes) step_many<Vector, 1>(list, k, out, i);
    for (; i < n; ++i) step_many<Element, 1>(list, k, out, i);
  }
};

template <class Isa>
struct VectorKernels {
  KernelTable& table;

  template <class Operation, class Element, std::int64_t kParts = 1>
  void set(Operator operation, Basic basic) const noexcept {
    using Kernels = VectorKernel<Isa, Operation, Element, kParts>;
    table.at(operation, basic) = {Kernels::two, Kernels::many};
  }

  /// Arithmetic and bits do not care about signs, and wrap around where unsigned.
  template <class Element>
  void set_bits(Basic basic) const noexcept {
    set<BitAnd, Element>(Operator::band, basic);
    set<BitOr, Element>(Operator::bor, basic);
    set<BitXor, Element>(Operator::bxor, basic);
  }
  template <class Element>
  void set_logical(Basic basic) const noexcept {
    set<LogicalAnd, Element>(Operator::land, basic);
    set<LogicalOr, Element>(Operator::lor, basic);
    set<LogicalXor, Element>(Operator::lxor, basic);
  }
  template <class Element>
  void set_order(Basic basic) const noexcept {
    set<Minimum, Element>(Operator::min, basic);
    set<Maximum, Element>(Operator::max, basic);
  }
  template <class Signed, class Unsigned>
  void set_integers(Basic signed_kind, Basic unsigned_kind) const noexcept {
    for (Basic basic : {signed_kind, unsigned_kind}) {
      set<Sum, Unsigned>(Operator::sum, basic);
      set<Product, Unsigned>(Operator::prod, basic);
      set_bits<Unsigned>(basic);
      set_logical<Unsigned>(basic);
    }
    set_order<Signed>(signed_kind);
    set_order<Unsigned>(unsigned_kind);
  }
  template <class Element>
  void set_floats(Basic real, Basic complex) const noexcept {
    set<Sum, Element>(Operator::sum, real);
    set<Product, Element>(Operator::prod, real);
    set_order<Element>(real);
    set<Sum, Element, 2>(Operator::sum, complex);
  }

  void fill() const noexcept {
    set_integers<std::int8_t, std::uint8_t>(Basic::i8, Basic::u8);
    set_integers<std::int16_t, std::uint16_t>(Basic::i16, Basic::u16);
    set_integers<std::int32_t, std::uint32_t>(Basic::i32, Basic::u32);
    set_integers<std::int64_t, std::uint64_t>(Basic::i64, Basic::u64);
    set_integers<std::int64_t, std::uint64_t>(Basic::long_int, Basic::unsigned_long_int);
    set_floats<float>(Basic::f32, Basic::c32);
    set_floats<double>(Basic::f64, Basic::c64);
    set_bits<std::uint8_t>(Basic::byte);
    set_logical<std::uint8_t>(Basic::c_bool);
    set_logical<std::uint8_t>(Basic::logical8);
    set_logical<std::uint16_t>(Basic::logical16);
    set_logical<std::uint32_t>(Basic::logical32);
    set_logical<std::uint64_t>(Basic::logical64);
  }
};

}  // namespace dunlin::op
