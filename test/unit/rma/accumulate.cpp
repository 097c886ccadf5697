#include "rma/accumulate.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <thread>
#include <vector>

#include "datatype/functions.hpp"

namespace dunlin::rma {
namespace {

class AccumulateTest : public testing::Test {
 protected:
  void SetUp() override {
    static const bool made = (init_predefined_datatypes(), init_predefined_ops(), true);
    (void)made;
  }
  static const Datatype& type(MPI_Datatype handle) { return *from_handle<Datatype>(handle); }
  static const Op& op(MPI_Op handle) { return *from_handle<Op>(handle); }
  ElementLocks locks_;
};

template <class T>
Piece piece(T& value) {
  return {reinterpret_cast<std::byte*>(&value), sizeof value};
}
template <class T>
const std::byte* bytes(const T& value) {
  return reinterpret_cast<const std::byte*>(&value);
}
template <class T>
std::byte* bytes(T& value) {
  return reinterpret_cast<std::byte*>(&value);
}

TEST_F(AccumulateTest, EveryOperatorOfAnInteger) {
  const struct {
    MPI_Op op;
    std::int32_t result;
  } rows[] = {{MPI_SUM, 13}, {MPI_PROD, 30}, {MPI_MAX, 10}, {MPI_MIN, 3},  {MPI_BAND, 2},    {MPI_BOR, 11},
              {MPI_BXOR, 9}, {MPI_LAND, 1},  {MPI_LOR, 1},  {MPI_LXOR, 0}, {MPI_REPLACE, 3}, {MPI_NO_OP, 10}};
  for (const auto& row : rows) {
    std::int32_t element = 10, before = -1;
    const std::int32_t operand = 3;
    const Piece run = piece(element);
    Elements{{&run, 1}, type(MPI_INT32_T), locks_, 0}.combine(op(row.op), bytes(operand), bytes(before));
    EXPECT_EQ(element, row.result);
    EXPECT_EQ(before, 10);
  }
}

TEST_F(AccumulateTest, OneInstructionDoesAWord) {
  alignas(8) std::byte memory[16] = {};
  std::int64_t ten = 10, three = 3, before = 0, value = 0;
  const auto element = [&](std::size_t at) {
    std::memcpy(&value, memory + at, sizeof value);
    return value;
  };
  EXPECT_TRUE(combine_word(op::Operator::replace, 8, memory, &ten, nullptr));
  EXPECT_TRUE(combine_word(op::Operator::sum, 8, memory, &three, &before));
  EXPECT_EQ(before, 10);
  EXPECT_TRUE(combine_word(op::Operator::no_op, 8, memory, nullptr, &before));
  EXPECT_EQ(before, 13);
  swap_word(8, memory, &three, &ten, &before);
  EXPECT_EQ(before, 13);
  EXPECT_EQ(element(0), 13);
  swap_word(8, memory, &before, &ten, &before);
  EXPECT_EQ(element(0), 10);
  // Of four bytes, the others stay.
  const std::int32_t all = -1;
  EXPECT_TRUE(combine_word(op::Operator::replace, 4, memory + 4, &all, nullptr));
  EXPECT_EQ(element(0), 10 - (std::int64_t{1} << 32));
  // What the processor does not do with one instruction, or not there, is left alone.
  EXPECT_FALSE(combine_word(op::Operator::max, 8, memory, &ten, nullptr));
  EXPECT_EQ(word_bytes_at(memory, Basic::u64), 8u);
  EXPECT_EQ(word_bytes_at(memory + 4, Basic::i32), 4u);
  EXPECT_EQ(word_bytes_at(memory, Basic::f64), 0u);
  EXPECT_EQ(word_bytes_at(memory + 4, Basic::i64), 0u);
  EXPECT_EQ(element(8), 0);
}

TEST_F(AccumulateTest, FloatingPointAndUnalignedElements) {
  double number = 1.5, before = 0;
  const double half = 0.5;
  const Piece run = piece(number);
  Elements{{&run, 1}, type(MPI_DOUBLE), locks_, 0}.combine(op(MPI_SUM), bytes(half), bytes(before));
  EXPECT_EQ(number, 2.0);
  EXPECT_EQ(before, 1.5);

  alignas(8) std::byte memory[16] = {};
  std::int64_t value = 40;
  std::memcpy(memory + 3, &value, sizeof value);
  const std::int64_t two = 2;
  const Piece unaligned{memory + 3, sizeof value};
  Elements{{&unaligned, 1}, type(MPI_INT64_T), locks_, 0}.combine(op(MPI_SUM), bytes(two), nullptr);
  std::memcpy(&value, memory + 3, sizeof value);
  EXPECT_EQ(value, 42);
}

TEST_F(AccumulateTest, APairWithAGapIsTwoRuns) {
  struct {
    double value;
    int index;
  } pair = {2.5, 7};
  const Piece runs[] = {piece(pair.value), piece(pair.index)};
  std::byte operand[12], before[12];
  const double value = 1.5;
  const int index = 3;
  std::memcpy(operand, &value, 8);
  std::memcpy(operand + 8, &index, 4);
  Elements{runs, type(MPI_DOUBLE_INT), locks_, 0}.combine(op(MPI_MINLOC), operand, before);
  EXPECT_EQ(pair.value, 1.5);
  EXPECT_EQ(pair.index, 3);
  double old;
  std::memcpy(&old, before, sizeof old);
  EXPECT_EQ(old, 2.5);
}

TEST_F(AccumulateTest, CompareAndSwap) {
  std::int64_t element = 5, before = 0, six = 6, five = 5, nine = 9;
  const Piece run = piece(element);
  const Elements elements{{&run, 1}, type(MPI_INT64_T), locks_, 0};
  elements.compare_and_swap(bytes(six), bytes(nine), bytes(before));
  EXPECT_EQ(element, 5);
  EXPECT_EQ(before, 5);
  elements.compare_and_swap(bytes(five), bytes(nine), bytes(before));
  EXPECT_EQ(element, 9);
  EXPECT_EQ(before, 5);
  std::int8_t small = 1, small_before = 0, small_one = 1, small_two = 2;
  const Piece small_run = piece(small);
  Elements{{&small_run, 1}, type(MPI_INT8_T), locks_, 0}.compare_and_swap(bytes(small_one), bytes(small_two),
                                                                          bytes(small_before));
  EXPECT_EQ(small, 2);
  EXPECT_EQ(small_before, 1);
}

TEST_F(AccumulateTest, NothingIsLostBetweenThreads) {
  std::int64_t counter = 0;
  double number = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      const std::int64_t one = 1;
      const double half = 0.5;
      for (int i = 0; i < 5000; ++i) {
        const Piece count = piece(counter), sum = piece(number);
        Elements{{&count, 1}, type(MPI_INT64_T), locks_, 0}.combine(op(MPI_SUM), bytes(one), nullptr);
        Elements{{&sum, 1}, type(MPI_DOUBLE), locks_, 0}.combine(op(MPI_SUM), bytes(half), nullptr);
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(counter, 20000);
  EXPECT_EQ(number, 10000.0);
}

TEST_F(AccumulateTest, RunsHoldWholeElements) {
  Datatype* spread = nullptr;  // every second double-int pair
  ASSERT_EQ(datatype::type_vector(50, 1, 2, type(MPI_DOUBLE_INT), false, &spread), Err::ok);
  spread->set_committed();
  std::vector<std::byte> memory(100 * 16);
  Cursor cursor(*spread, 1, memory.data());
  std::size_t all = 0;
  while (cursor.remaining() > 0) {
    Piece runs[7];
    const std::size_t before = cursor.position();
    const std::size_t count = next_runs(cursor, runs, 12, 100);
    std::size_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += runs[i].bytes;
    EXPECT_EQ(sum, cursor.position() - before);
    EXPECT_EQ(sum % 12, 0u);
    ASSERT_GT(sum, 0u);
    all += sum;
  }
  EXPECT_EQ(all, 600u);
  spread->release();
}

}  // namespace
}  // namespace dunlin::rma
