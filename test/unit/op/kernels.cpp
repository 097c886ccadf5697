// Every operator on every element kind, for every instruction set of this processor, against plain loops: two
// operands, three, many; unaligned; lengths around the vector sizes.  Seeded.
#include "op/kernels.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "datatype/datatype.hpp"
#include "datatype/native.hpp"
#include "datatype/signature.hpp"

namespace {

using dunlin::Basic;
using dunlin::op::Kernel;
using dunlin::op::KernelTable;
using dunlin::op::Operator;

constexpr Operator kArithmetic[] = {Operator::sum, Operator::prod};
constexpr Operator kOrder[] = {Operator::min, Operator::max};
constexpr Operator kBits[] = {Operator::band, Operator::bor, Operator::bxor};
constexpr Operator kLogical[] = {Operator::land, Operator::lor, Operator::lxor};

template <class T>
T reference(Operator operation, T a, T b) {
  switch (operation) {
    case Operator::sum: return static_cast<T>(a + b);
    case Operator::prod: return static_cast<T>(a * b);
    case Operator::min: return b < a ? b : a;
    case Operator::max: return b > a ? b : a;
    case Operator::land: return static_cast<T>(a && b);
    case Operator::lor: return static_cast<T>(a || b);
    case Operator::lxor: return static_cast<T>(!a != !b);
    default: ADD_FAILURE(); return T{};
  }
}

template <class T>
T reference_bits(Operator operation, T a, T b) {
  if (operation == Operator::band) return static_cast<T>(a & b);
  if (operation == Operator::bor) return static_cast<T>(a | b);
  return static_cast<T>(a ^ b);
}

class Kernels : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    fill_scalar_kernels(&table_);
    dunlin::op::fill_kernels(GetParam(), &table_);
  }

  /// Compares the kernels of one operator and kind with `expected(a, b)`.
  template <class T, class Make, class Expected>
  void check(Operator operation, Basic basic, Make make, Expected expected) {
    const Kernel& kernel = table_.at(operation, basic);
    ASSERT_NE(kernel.two, nullptr) << static_cast<int>(operation) << " on " << static_cast<int>(basic);
    for (std::int64_t n : {0, 1, 3, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1031}) {
      check_length<T>(kernel, n, n % 3, make, expected);
      check_length<T>(kernel, n, n % 7 * 8 + 8, make, expected);
    }
  }

  /// `n` elements that lie `shift` bytes off alignment.
  template <class T, class Make, class Expected>
  void check_length(const Kernel& kernel, std::int64_t n, std::size_t shift, Make make, Expected expected) {
    std::mt19937_64 random(7);
    constexpr int kOperands = 5;
    std::vector<std::vector<T>> values(kOperands);
    std::vector<std::vector<char>> raw(kOperands);
    std::vector<const void*> operands;
    for (int k = 0; k < kOperands; ++k) {
      for (std::int64_t i = 0; i < n; ++i) values[k].push_back(make(random));
      raw[k].resize(n * sizeof(T) + shift + 1);
      if (n > 0) std::memcpy(raw[k].data() + shift, values[k].data(), n * sizeof(T));
      operands.push_back(raw[k].data() + shift);
    }
    std::vector<char> out(n * sizeof(T) + shift + 1, 'x');
    kernel.two(operands[0], operands[1], out.data() + shift, n);
    for (std::int64_t i = 0; i < n; ++i)
      expect_equal<T>(out.data() + shift, i, expected(values[0][i], values[1][i]));
    EXPECT_EQ(out.back(), 'x') << "written behind the end, n = " << n;

    kernel.many(operands.data(), kOperands, out.data() + shift, n);
    for (std::int64_t i = 0; i < n; ++i) {
      T all = values[0][i];
      for (int k = 1; k < kOperands; ++k) all = expected(all, values[k][i]);
      expect_equal<T>(out.data() + shift, i, all);
    }
    EXPECT_EQ(out.back(), 'x') << "written behind the end, n = " << n;

    kernel.two(operands[0], operands[1], raw[1].data() + shift, n);  // inout
    for (std::int64_t i = 0; i < n; ++i)
      expect_equal<T>(raw[1].data() + shift, i, expected(values[0][i], values[1][i]));
  }

  template <class T>
  static void expect_equal(const char* from, std::int64_t i, const T& wanted) {
    T found;
    std::memcpy(&found, from + i * sizeof(T), sizeof(T));
    EXPECT_TRUE(found == wanted) << "element " << i;
  }

  template <class T>
  void check_integer(Basic basic) {
    const auto any = [](auto& random) { return static_cast<T>(random()); };
    const auto small = [](auto& random) { return static_cast<T>(random() % 2); };
    using U = std::make_unsigned_t<T>;
    for (Operator o : kArithmetic)
      check<T>(o, basic, any, [o](T a, T b) { return T(reference<std::uint64_t>(o, U(a), U(b))); });
    for (Operator o : kOrder) check<T>(o, basic, any, [o](T a, T b) { return reference(o, a, b); });
    for (Operator o : kBits) check<T>(o, basic, any, [o](T a, T b) { return reference_bits(o, a, b); });
    for (Operator o : kLogical) check<T>(o, basic, small, [o](T a, T b) { return reference(o, a, b); });
    for (Operator o : kLogical) check<T>(o, basic, any, [o](T a, T b) { return reference(o, a, b); });
  }

  template <class T>
  void check_real(Basic basic) {
    const auto any = [](auto& random) { return T(static_cast<int>(random() % 2001) - 1000) / 8; };
    for (Operator o : kArithmetic) check<T>(o, basic, any, [o](T a, T b) { return reference(o, a, b); });
    for (Operator o : kOrder) check<T>(o, basic, any, [o](T a, T b) { return reference(o, a, b); });
  }

  template <class T>
  struct Complex {
    T re, im;
    bool operator==(const Complex&) const = default;
  };
  template <class T>
  void check_complex(Basic basic) {
    const auto any = [](auto& random) {
      return Complex<T>{T(static_cast<int>(random() % 41) - 20), T(static_cast<int>(random() % 41) - 20)};
    };
    using C = Complex<T>;
    check<C>(Operator::sum, basic, any, [](C a, C b) { return C{a.re + b.re, a.im + b.im}; });
    check<C>(Operator::prod, basic, any, [](C a, C b) {
      return C{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    });
  }

  template <class V, class I>
  struct Located {
    V value;
    I index;
    bool operator==(const Located&) const = default;
  };
  template <class V, class I>
  void check_pair(Basic basic) {
    using P = Located<V, I>;
    const auto any = [](auto& random) { return P{V(random() % 5), I(random() % 9)}; };
    check<P>(Operator::minloc, basic, any, [](P a, P b) {
      if (a.value == b.value) return P{a.value, std::min(a.index, b.index)};
      return a.value < b.value ? a : b;
    });
    check<P>(Operator::maxloc, basic, any, [](P a, P b) {
      if (a.value == b.value) return P{a.value, std::min(a.index, b.index)};
      return a.value > b.value ? a : b;
    });
  }

  KernelTable table_{};
};

TEST_P(Kernels, Integers) {
  check_integer<std::int8_t>(Basic::i8);
  check_integer<std::uint8_t>(Basic::u8);
  check_integer<std::int16_t>(Basic::i16);
  check_integer<std::uint16_t>(Basic::u16);
  check_integer<std::int32_t>(Basic::i32);
  check_integer<std::uint32_t>(Basic::u32);
  check_integer<std::int64_t>(Basic::i64);
  check_integer<std::uint64_t>(Basic::u64);
  check_integer<long>(Basic::long_int);
  check_integer<unsigned long>(Basic::unsigned_long_int);
}

// Each cache has a loop of its own; they change at 32 KiB, 768 KiB and behind 6 MiB.
TEST_P(Kernels, OperandsInEveryCache) {
  const auto any = [](auto& random) { return static_cast<std::uint32_t>(random()); };
  const Kernel& kernel = table_.at(Operator::sum, Basic::u32);
  for (std::int64_t kib : {31, 32, 767, 768, 6144, 6145})
    for (std::int64_t more : {0, 1, 15})
      check_length<std::uint32_t>(kernel, kib * 256 + more, 64 + more, any,
                                  [](std::uint32_t a, std::uint32_t b) { return a + b; });
}

TEST_P(Kernels, Integers128) {
  using T = dunlin::Int128;
  using U = unsigned __int128;
  const auto any = [](auto& random) { return static_cast<T>(U{random()} << 64 | random()); };
  for (Operator o : kArithmetic)
    check<T>(o, Basic::i128, any, [o](T a, T b) { return T(reference(o, U(a), U(b))); });
  for (Operator o : kOrder) check<T>(o, Basic::i128, any, [o](T a, T b) { return reference(o, a, b); });
  for (Operator o : kBits) check<T>(o, Basic::i128, any, [o](T a, T b) { return reference_bits(o, a, b); });
  for (Operator o : kLogical) check<T>(o, Basic::i128, any, [o](T a, T b) { return reference(o, a, b); });
}

TEST_P(Kernels, BytesAndLogicals) {
  const auto byte = [](auto& random) { return static_cast<std::uint8_t>(random()); };
  using U8 = std::uint8_t;
  for (Operator o : kBits)
    check<U8>(o, Basic::byte, byte, [o](U8 a, U8 b) { return reference_bits(o, a, b); });
  const auto check_logical = [this]<class T>(Basic basic, T) {
    const auto truth = [](auto& random) { return static_cast<T>(random() % 2); };
    for (Operator o : kLogical) check<T>(o, basic, truth, [o](T a, T b) { return reference(o, a, b); });
  };
  check_logical(Basic::c_bool, std::uint8_t{});
  check_logical(Basic::logical8, std::uint8_t{});
  check_logical(Basic::logical16, std::uint16_t{});
  check_logical(Basic::logical32, std::uint32_t{});
  check_logical(Basic::logical64, std::uint64_t{});
  check_logical(Basic::logical128, static_cast<unsigned __int128>(0));
}

TEST_P(Kernels, Reals) {
  check_real<float>(Basic::f32);
  check_real<double>(Basic::f64);
  check_real<long double>(Basic::long_double);
  check_real<dunlin::Float128>(Basic::f128);
}

TEST_P(Kernels, Complex) {
  check_complex<float>(Basic::c32);
  check_complex<double>(Basic::c64);
  check_complex<long double>(Basic::c_long_double);
  check_complex<dunlin::Float128>(Basic::c128);
}

TEST_P(Kernels, Pairs) {
  check_pair<float, int>(Basic::pair_f32_int);
  check_pair<double, int>(Basic::pair_f64_int);
  check_pair<long, int>(Basic::pair_long_int);
  check_pair<int, int>(Basic::pair_int_int);
  check_pair<short, int>(Basic::pair_short_int);
  check_pair<long double, int>(Basic::pair_long_double_int);
  check_pair<float, float>(Basic::pair_f32_f32);
  check_pair<double, double>(Basic::pair_f64_f64);
  check_pair<std::int32_t, std::int32_t>(Basic::pair_i32_i32);
  check_pair<std::int64_t, std::int64_t>(Basic::pair_i64_i64);
}

std::vector<const char*> all_instruction_sets() {
  std::vector<const char*> all;
  for (const char* const* set = dunlin::op::instruction_sets(); *set; ++set) all.push_back(*set);
  return all;
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, Kernels, testing::ValuesIn(all_instruction_sets()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
