// Cases of collectives that reduce, with operators that commute and one that does not.
#include "op/functions.hpp"
#include "test/simulate/collective_case.hpp"

namespace dunlin::test {
namespace {

/// x -> a x + b modulo 2^32, packed into 64 bits; composition is associative and does not commute.
std::int64_t compose(std::int64_t left, std::int64_t right) {
  const auto a = std::uint32_t(std::uint64_t(left) >> 32), b = std::uint32_t(left);
  const auto c = std::uint32_t(std::uint64_t(right) >> 32), d = std::uint32_t(right);
  return std::int64_t(std::uint64_t(a * c) << 32 | std::uint32_t(a * d + b));
}
std::int64_t add(std::int64_t left, std::int64_t right) { return left + right; }
std::int64_t larger(std::int64_t left, std::int64_t right) { return left > right ? left : right; }

/// A program's function, over elements of any of our layouts.
template <std::int64_t (*combine)(std::int64_t, std::int64_t)>
void user_function(void* in, void* inout, int* count, void* datatype) {
  const auto* type = from_handle<Datatype>(*static_cast<MPI_Datatype*>(datatype));
  for (int element = 0; element < *count; ++element)
    for (std::int64_t value = 0; value < type->size() / 8; ++value) {
      const std::int64_t at = element * type->extent() + value * 8;
      std::int64_t left, right;
      std::memcpy(&left, static_cast<std::byte*>(in) + at, sizeof left);
      std::memcpy(&right, static_cast<std::byte*>(inout) + at, sizeof right);
      right = combine(left, right);
      std::memcpy(static_cast<std::byte*>(inout) + at, &right, sizeof right);
    }
}

std::int64_t add_bytes(std::int64_t left, std::int64_t right) { return std::int8_t(left + right); }
std::int64_t differ(std::int64_t left, std::int64_t right) { return left ^ right; }

/// A value of type T in the lowest bytes, as a buffer has it.
template <class T>
T as(std::int64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
std::int64_t bits_of(T value) {
  std::int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return Buffer::narrow(bits, sizeof value);
}
template <class T>
std::int64_t add_floating(std::int64_t left, std::int64_t right) {
  return bits_of(as<T>(left) + as<T>(right));
}
template <class T>
std::int64_t larger_floating(std::int64_t left, std::int64_t right) {
  return bits_of(std::max(as<T>(left), as<T>(right)));
}

/// A value and its place, as MPI_MINLOC takes them.
template <class T>
struct Located {
  T value;
  std::int32_t place;
};
template <class T, bool is_largest>
std::int64_t locate(std::int64_t left, std::int64_t right) {
  const auto a = as<Located<T>>(left), b = as<Located<T>>(right);
  if (a.value == b.value) return a.place < b.place ? left : right;
  return (a.value < b.value) == is_largest ? right : left;
}

// Operands from the numbers of a case; sums of floating point numbers are the same in any order.
std::int64_t as_whole(std::int64_t number) { return number; }
std::int64_t as_byte(std::int64_t number) { return std::int8_t(number); }
template <class T, std::int64_t kBelow>
std::int64_t floating(std::int64_t number) {
  return bits_of(T(number % kBelow));
}
template <class T>
std::int64_t located(std::int64_t number) {  // many are equal
  return bits_of(Located<T>{T(number % 3), std::int32_t(number / 3 % 50)});
}

struct Operator {
  const Op* op;
  std::int64_t (*combine)(std::int64_t left, std::int64_t right);
  int base;  // of the operands
  std::int64_t (*operand)(std::int64_t number);
  bool is_predefined;
};

Op* create(op::UserFunction function, bool is_commutative) {
  Op* made = nullptr;
  EXPECT_EQ(op::op_create(function, is_commutative, &made), Err::ok);
  return made;
}

/// Every fourth is one of the program's own that does not commute.
constexpr int kOperators = 16;
const Operator& operator_of(int kind) {
  static const Op* const sum = create(&user_function<add>, true);
  static const Op* const affine = create(&user_function<compose>, false);
  static const auto predefined = [](MPI_Op op) { return from_handle<Op>(op); };
  constexpr int kInt64 = 0, kDouble = 1, kFloat = 2, kInt8 = 3, k2Int = 4, kFloatInt = 5;
  constexpr std::int64_t kFloatsBelow = 1 << 18, kDoublesBelow = std::int64_t{1} << 40;  // 33 of them fit
  static const Operator all[kOperators] = {
      {affine, &compose, kInt64, &as_whole, false},
      {affine, &compose, kInt64, &as_whole, false},
      {affine, &compose, kInt64, &as_whole, false},
      {affine, &compose, kInt64, &as_whole, false},
      {sum, &add, kInt64, &as_whole, false},
      {sum, &add, kInt64, &as_whole, false},
      {predefined(MPI_SUM), &add, kInt64, &as_whole, true},
      {predefined(MPI_SUM), &add, kInt64, &as_whole, true},
      {predefined(MPI_MAX), &larger, kInt64, &as_whole, true},
      {predefined(MPI_SUM), &add_floating<double>, kDouble, &floating<double, kDoublesBelow>, true},
      {predefined(MPI_SUM), &add_floating<float>, kFloat, &floating<float, kFloatsBelow>, true},
      {predefined(MPI_MAX), &larger_floating<float>, kFloat, &floating<float, kFloatsBelow>, true},
      {predefined(MPI_SUM), &add_bytes, kInt8, &as_byte, true},
      {predefined(MPI_BXOR), &differ, kInt8, &as_byte, true},
      {predefined(MPI_MINLOC), &locate<std::int32_t, false>, k2Int, &located<std::int32_t>, true},
      {predefined(MPI_MAXLOC), &locate<float, true>, kFloatInt, &located<float>, true}};
  return all[kind];
}

class Reduction : public Case {
 public:
  Reduction(const Comms& comms, std::uint64_t seed)
      : Case(comms, seed),
        operator_(operator_of(int(roll(kOperators)))),
        in_place_(coin()) {
    base_ = operator_.base;
    step_ = coin() ? 2 : 1;
    layout_ = operator_.is_predefined ? layout_of(0, base_) : any_layout();
  }

 protected:
  /// The operands of ranks first..last at one place, combined in rank order.
  std::int64_t reduced(int first, int last, std::int64_t i) const {
    std::int64_t value = operand(first, i);
    for (int rank = first + 1; rank <= last; ++rank) value = operator_.combine(value, operand(rank, i));
    return value;
  }
  std::int64_t operand(int rank, std::int64_t i) const {
    return operator_.operand((rank + 1) * 1'000'003 + i * 7919 + round_ * 104'729);
  }
  const Operator& operator_;
  const bool in_place_;
  Layout layout_;
  int round_ = 0;
};

/// reduce, allreduce, scan, exscan: every rank gives and may get the same number of values.
class Full final : public Reduction {
 public:
  enum class Form { reduce, allreduce, scan, exscan };
  Full(const Comms& comms, std::uint64_t seed, Form form)
      : Reduction(comms, seed), form_(form), root_(int(roll(size()))), values_(any_values()) {
    for (int rank = 0; rank < size(); ++rank) {
      sends_.emplace_back(layout_, values_);
      receives_.emplace_back(layout_, values_);
    }
  }
  const char* name() const override {
    constexpr const char* kNames[] = {"reduce", "allreduce", "scan", "exscan"};
    return kNames[int(form_)];
  }
  void fill(int round) override {
    round_ = round;
    for (int rank = 0; rank < size(); ++rank)
      for (std::int64_t i = 0; i < values_; ++i) {
        sends_[std::size_t(rank)].set(i, operand(rank, i));
        receives_[std::size_t(rank)].set(i, is_in_place(rank) ? operand(rank, i) : -1);
      }
  }
  Err start(int rank, Mode mode, Request** request) override {
    const void* send = is_in_place(rank) ? MPI_IN_PLACE : sends_[std::size_t(rank)].at();
    void* recv = form_ == Form::reduce && rank != root_ ? nullptr : receives_[std::size_t(rank)].at();
    const std::int64_t count = values_ / layout_.values;
    const Datatype& type = *layout_.type;
    const Op& op = *operator_.op;
    Comm& on = comm(rank);
    const bool is_now = mode == Mode::blocking, is_once = mode == Mode::nonblocking;
    switch (form_) {
      case Form::reduce:
        if (is_now) return coll::reduce(send, recv, count, type, op, root_, on);
        return is_once ? coll::ireduce(send, recv, count, type, op, root_, on, request)
                       : coll::reduce_init(send, recv, count, type, op, root_, on, nullptr, request);
      case Form::allreduce:
        if (is_now) return coll::allreduce(send, recv, count, type, op, on);
        return is_once ? coll::iallreduce(send, recv, count, type, op, on, request)
                       : coll::allreduce_init(send, recv, count, type, op, on, nullptr, request);
      case Form::scan:
        if (is_now) return coll::scan(send, recv, count, type, op, on);
        return is_once ? coll::iscan(send, recv, count, type, op, on, request)
                       : coll::scan_init(send, recv, count, type, op, on, nullptr, request);
      case Form::exscan:
        if (is_now) return coll::exscan(send, recv, count, type, op, on);
        return is_once ? coll::iexscan(send, recv, count, type, op, on, request)
                       : coll::exscan_init(send, recv, count, type, op, on, nullptr, request);
    }
    return Err::intern;
  }
  void check() override {
    for (int rank = 0; rank < size(); ++rank) {
      const Buffer &send = sends_[std::size_t(rank)], &receive = receives_[std::size_t(rank)];
      EXPECT_TRUE(send.has_intact_gaps());
      EXPECT_TRUE(receive.has_intact_gaps());
      const bool gets_nothing =
          (form_ == Form::reduce && rank != root_) || (form_ == Form::exscan && rank == 0);
      for (std::int64_t i = 0; i < values_; ++i) {
        ASSERT_SAME(send.get(i), operand(rank, i)) << "send buffer of rank " << rank;
        if (gets_nothing) continue;
        const int last = form_ == Form::scan ? rank : form_ == Form::exscan ? rank - 1 : size() - 1;
        ASSERT_SAME(receive.get(i), reduced(0, last, i)) << "rank " << rank << " value " << i;
      }
    }
  }
  void each_buffer(const SeeBuffer& see) const override {
    see_all(see, sends_);
    see_all(see, receives_);
  }

 private:
  bool is_in_place(int rank) const { return in_place_ && (form_ != Form::reduce || rank == root_); }
  const Form form_;
  const int root_;
  const std::int64_t values_;
  std::vector<Buffer> sends_, receives_;
};

/// reduce_scatter and reduce_scatter_block.
class Scattered final : public Reduction {
 public:
  Scattered(const Comms& comms, std::uint64_t seed, bool is_varied)
      : Reduction(comms, seed), is_varied_(is_varied) {
    const std::int64_t equal = any_values_below(roll(4) == 0 ? 400 : 20);
    for (int rank = 0; rank < size(); ++rank) {
      values_.push_back(is_varied ? any_values_below(40) : equal);
      counts_.push_back(int(values_.back() / layout_.values));
      starts_.push_back(total_);
      total_ += values_.back();
    }
    for (int rank = 0; rank < size(); ++rank) {
      sends_.emplace_back(layout_, total_);
      receives_.emplace_back(layout_, in_place_ ? total_ : values_[std::size_t(rank)]);
    }
  }
  const char* name() const override { return is_varied_ ? "reduce_scatter" : "reduce_scatter_block"; }
  void fill(int round) override {
    round_ = round;
    for (int rank = 0; rank < size(); ++rank) {
      for (std::int64_t i = 0; i < total_; ++i) sends_[std::size_t(rank)].set(i, operand(rank, i));
      for (std::int64_t i = 0; i < (in_place_ ? total_ : values_[std::size_t(rank)]); ++i)
        receives_[std::size_t(rank)].set(i, in_place_ ? operand(rank, i) : -1);
    }
  }
  Err start(int rank, Mode mode, Request** request) override {
    const void* send = in_place_ ? MPI_IN_PLACE : sends_[std::size_t(rank)].at();
    void* recv = receives_[std::size_t(rank)].at();
    const Datatype& type = *layout_.type;
    const Op& op = *operator_.op;
    Comm& on = comm(rank);
    const IntArray counts{counts_.data(), false};
    if (is_varied_) switch (mode) {
        case Mode::blocking:
          return coll::reduce_scatter(send, recv, counts, type, op, on);
        case Mode::nonblocking:
          return coll::ireduce_scatter(send, recv, counts, type, op, on, request);
        case Mode::persistent:
          return coll::reduce_scatter_init(send, recv, counts, type, op, on, nullptr, request);
      }
    switch (mode) {
      case Mode::blocking:
        return coll::reduce_scatter_block(send, recv, counts[0], type, op, on);
      case Mode::nonblocking:
        return coll::ireduce_scatter_block(send, recv, counts[0], type, op, on, request);
      case Mode::persistent:
        return coll::reduce_scatter_block_init(send, recv, counts[0], type, op, on, nullptr, request);
    }
    return Err::intern;
  }
  void check() override {
    for (int rank = 0; rank < size(); ++rank) {
      const auto at = std::size_t(rank);
      EXPECT_TRUE(receives_[at].has_intact_gaps());
      for (std::int64_t i = 0; i < values_[at]; ++i)
        ASSERT_SAME(receives_[at].get(i), reduced(0, size() - 1, starts_[at] + i))
            << "rank " << rank << " value " << i;
    }
  }
  void each_buffer(const SeeBuffer& see) const override {
    see_all(see, sends_);
    see_all(see, receives_);
  }

 private:
  const bool is_varied_;
  std::vector<std::int64_t> values_, starts_;
  std::vector<int> counts_;
  std::int64_t total_ = 0;
  std::vector<Buffer> sends_, receives_;
};

}  // namespace

std::unique_ptr<Case> make_reduction(int kind, const Comms& comms, std::uint64_t seed) {
  switch (kind) {
    case 0:
      return std::make_unique<Full>(comms, seed, Full::Form::reduce);
    case 1:
      return std::make_unique<Full>(comms, seed, Full::Form::allreduce);
    case 2:
      return std::make_unique<Full>(comms, seed, Full::Form::scan);
    case 3:
      return std::make_unique<Full>(comms, seed, Full::Form::exscan);
    case 4:
      return std::make_unique<Scattered>(comms, seed, false);
    default:
      return std::make_unique<Scattered>(comms, seed, true);
  }
}

}  // namespace dunlin::test
