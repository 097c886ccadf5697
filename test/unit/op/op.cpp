// Operators: which are allowed on which types, operand order, a program's functions, predefined handles.
#include "op/op.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <climits>
#include <cstring>
#include <vector>

#include "datatype/functions.hpp"
#include "object/life.hpp"
#include "op/functions.hpp"
#include "op/shortcut.hpp"

namespace {

using dunlin::Datatype;
using dunlin::Err;
using dunlin::Op;

const Op& predefined(MPI_Op handle) { return *dunlin::from_handle<Op>(handle); }
const Datatype& predefined(MPI_Datatype handle) { return *dunlin::from_handle<Datatype>(handle); }

class Ops : public testing::Test {
 protected:
  void SetUp() override {
    dunlin::init_predefined_datatypes();
    dunlin::init_predefined_ops();
  }
};

TEST_F(Ops, AllowsWhatTheStandardAllows) {
  EXPECT_EQ(predefined(MPI_SUM).check(predefined(MPI_INT)), Err::ok);
  EXPECT_EQ(predefined(MPI_SUM).check(predefined(MPI_COUNT)), Err::ok);
  EXPECT_EQ(predefined(MPI_SUM).check(predefined(MPI_C_DOUBLE_COMPLEX)), Err::ok);
  EXPECT_EQ(predefined(MPI_LAND).check(predefined(MPI_LOGICAL)), Err::ok);
  EXPECT_EQ(predefined(MPI_BXOR).check(predefined(MPI_BYTE)), Err::ok);
  EXPECT_EQ(predefined(MPI_MINLOC).check(predefined(MPI_2REAL)), Err::ok);
  EXPECT_EQ(predefined(MPI_REPLACE).check(predefined(MPI_CHAR)), Err::ok);

  EXPECT_EQ(predefined(MPI_MAX).check(predefined(MPI_C_DOUBLE_COMPLEX)), Err::op);
  EXPECT_EQ(predefined(MPI_SUM).check(predefined(MPI_BYTE)), Err::op);
  EXPECT_EQ(predefined(MPI_SUM).check(predefined(MPI_CHARACTER)), Err::op);
  EXPECT_EQ(predefined(MPI_BAND).check(predefined(MPI_DOUBLE)), Err::op);
  EXPECT_EQ(predefined(MPI_LAND).check(predefined(MPI_FLOAT)), Err::op);
  EXPECT_EQ(predefined(MPI_MINLOC).check(predefined(MPI_INT)), Err::op);
  EXPECT_EQ(predefined(MPI_SUM).check(predefined(MPI_2INT)), Err::op);
  EXPECT_EQ(predefined(MPI_SUM).check(predefined(MPI_REAL2)), Err::op);
  EXPECT_STREQ(dunlin::error_detail(Err::op), "MPI_SUM is not defined for MPI_REAL2");
}

TEST_F(Ops, ReducesCharactersWithCsMeaning) {
  const char a[] = {'\1', char(-100)}, b[] = {'\2', '\1'};
  char sum[2], largest[2];
  ASSERT_EQ(predefined(MPI_SUM).check(predefined(MPI_CHAR)), Err::ok);
  predefined(MPI_SUM).combine3(a, b, sum, 2, predefined(MPI_CHAR));
  predefined(MPI_MAX).combine3(a, b, largest, 2, predefined(MPI_CHAR));
  EXPECT_EQ(sum[0], 3);
  EXPECT_EQ(sum[1], char(-99));
  EXPECT_EQ(largest[1], std::max(a[1], b[1]));
}

TEST_F(Ops, AcceptsDuplicatesOfPredefinedTypesOnly) {
  Datatype* duplicate = nullptr;
  ASSERT_EQ(dunlin::datatype::type_dup(predefined(MPI_INT), &duplicate), Err::ok);
  EXPECT_EQ(predefined(MPI_SUM).check(*duplicate), Err::ok);
  Datatype* pair = nullptr;
  ASSERT_EQ(dunlin::datatype::type_contiguous(2, *duplicate, false, &pair), Err::ok);
  EXPECT_EQ(predefined(MPI_SUM).check(*pair), Err::op);
  pair->release();
  duplicate->release();
}

TEST_F(Ops, ReplaceTakesTheLeftOperandAndNoOpTheRight) {
  const int in[] = {1, 2, 3};
  int inout[] = {7, 8, 9};
  predefined(MPI_NO_OP).combine(in, inout, 3, predefined(MPI_INT));
  EXPECT_EQ(inout[0], 7);
  predefined(MPI_REPLACE).combine(in, inout, 2, predefined(MPI_INT));
  EXPECT_EQ(inout[1], 2);
  EXPECT_EQ(inout[2], 9);
}

TEST_F(Ops, CombinesManyFromLeftToRight) {
  // In this order the small value is lost; in any other grouping it is not.
  const double a = 1e17, b = 1.0, c = -1e17;
  const void* operands[] = {&a, &b, &c};
  double out = 5;
  predefined(MPI_SUM).combine_k(operands, &out, 1, predefined(MPI_DOUBLE));
  EXPECT_EQ(out, 0.0);
}

// A function that is associative, not commutative: composition of maps x -> m x + b.
struct Map {
  int m, b;
};
std::vector<int> lengths;

void compose(void* in, void* inout, int* n, void* datatype) {
  lengths.push_back(*n);
  auto* left = static_cast<Map*>(in);
  auto* right = static_cast<Map*>(inout);
  for (int i = 0; i < *n; ++i) right[i] = Map{left[i].m * right[i].m, left[i].m * right[i].b + left[i].b};
  EXPECT_NE(*static_cast<void**>(datatype), nullptr);
}

void compose_large(void* in, void* inout, std::int64_t* n, void* datatype) {
  int narrow = static_cast<int>(*n);
  compose(in, inout, &narrow, datatype);
}

TEST_F(Ops, CallsAProgramsFunctionInOrder) {
  Datatype* type = nullptr;
  ASSERT_EQ(dunlin::datatype::type_contiguous(2, predefined(MPI_INT), false, &type), Err::ok);
  Op* narrow = nullptr;
  Op* wide = nullptr;
  ASSERT_EQ(dunlin::op::op_create(compose, false, &narrow), Err::ok);
  ASSERT_EQ(dunlin::op::op_create(compose_large, false, &wide), Err::ok);
  for (const Op* op : {narrow, wide}) {
    EXPECT_FALSE(op->is_commutative());
    EXPECT_EQ(op->check(*type), Err::ok);
    const Map a{2, 1}, b{3, 5}, c{7, 11};
    Map out = b;
    op->combine(&a, &out, 1, *type);
    EXPECT_EQ(out.b, 11);
    Map third{};
    op->combine3(&a, &b, &third, 1, *type);
    EXPECT_EQ(third.b, 11);
    const void* operands[] = {&a, &b, &c};
    op->combine_k(operands, &third, 1, *type);
    EXPECT_EQ(third.m, 42);
    EXPECT_EQ(third.b, 2 * (3 * 11 + 5) + 1);
  }
  EXPECT_EQ(dunlin::op::op_free(*narrow), Err::ok);
  EXPECT_EQ(dunlin::op::op_free(*wide), Err::ok);
  type->release();
}

void count_only(void*, void*, int* n, void*) { lengths.push_back(*n); }

TEST_F(Ops, SplitsHugeCountsForFunctionsWithInt) {
  Datatype* nothing = nullptr;  // elements without data: nothing is read, however many there are
  ASSERT_EQ(dunlin::datatype::type_contiguous(0, predefined(MPI_INT), false, &nothing), Err::ok);
  Op* op = nullptr;
  ASSERT_EQ(dunlin::op::op_create(count_only, true, &op), Err::ok);
  lengths.clear();
  int dummy = 0;
  op->combine(&dummy, &dummy, std::int64_t{INT_MAX} + 5, *nothing);
  EXPECT_EQ(lengths, (std::vector<int>{INT_MAX, 5}));
  EXPECT_EQ(dunlin::op::op_free(*op), Err::ok);
  nothing->release();
}

TEST_F(Ops, PredefinedCannotBeFreed) {
  EXPECT_EQ(dunlin::op::op_free(const_cast<Op&>(predefined(MPI_SUM))), Err::op);
  int commutes = 0;
  EXPECT_EQ(dunlin::op::op_commutative(predefined(MPI_MAXLOC), &commutes), Err::ok);
  EXPECT_EQ(commutes, 1);
}

TEST_F(Ops, CopiesDoNotCommute) {
  for (const MPI_Op each : {MPI_REPLACE, MPI_NO_OP}) {
    int commutes = -1;
    EXPECT_EQ(dunlin::op::op_commutative(predefined(each), &commutes), Err::ok);
    EXPECT_EQ(commutes, 0);
  }
}

TEST_F(Ops, ReduceLocalChecksTheType) {
  const int in = 4;
  int inout = 5;
  EXPECT_EQ(dunlin::op::reduce_local(&in, &inout, 1, predefined(MPI_INT), predefined(MPI_PROD)), Err::ok);
  EXPECT_EQ(inout, 20);
  EXPECT_EQ(dunlin::op::reduce_local(&in, &inout, 1, predefined(MPI_INT), predefined(MPI_MINLOC)), Err::op);
}

/// MPI_Reduce_local's shortcut between the first and the last call of MPI.
class Shortcut : public Ops {
 protected:
  void SetUp() override {
    Ops::SetUp();
    dunlin::Life::users = 1;
  }
  void TearDown() override { dunlin::Life::users = 0; }
};

TEST_F(Shortcut, TakesEveryHandleThatHasAKernel) {
  int taken = 0;
  for (std::uintptr_t t = 0; t < 0x400; ++t)
    for (std::uintptr_t o = 0; o < 0x50; ++o) {
      const auto type_handle = reinterpret_cast<MPI_Datatype>(t);
      const auto op_handle = reinterpret_cast<MPI_Op>(o);
      const auto* type = dunlin::from_handle<Datatype>(type_handle);
      const auto* op = dunlin::from_handle<Op>(op_handle);
      const bool has_kernel = type && op && op->kernel(*type).two;
      char in[1], inout[1];
      const bool is_taken = dunlin::op::try_reduce_local(in, inout, 0, type_handle, op_handle);
      EXPECT_EQ(is_taken, has_kernel) << t << " " << o;
      if (!has_kernel) continue;
      EXPECT_EQ(dunlin::op::kind_of_handle[t - 0x200], type->basic()) << type->name();
      EXPECT_EQ(o - 0x20, static_cast<std::uintptr_t>(op->operation()));
      ++taken;
    }
  EXPECT_GT(taken, 200);
}

TEST_F(Shortcut, DeclinesWhateverIsNotRight) {
  const auto attempt = [](const void* in, void* inout, std::int64_t count) {
    return dunlin::op::try_reduce_local(in, inout, count, MPI_INT, MPI_SUM);
  };
  const int in = 4;
  int inout = 5;
  EXPECT_FALSE(attempt(nullptr, &inout, 1));
  EXPECT_FALSE(attempt(&in, nullptr, 1));
  EXPECT_FALSE(attempt(MPI_IN_PLACE, &inout, 1));
  EXPECT_FALSE(attempt(&in, MPI_IN_PLACE, 1));
  EXPECT_FALSE(attempt(&in, &inout, -1));
  dunlin::Life::users = 0;
  EXPECT_FALSE(attempt(&in, &inout, 1));
  EXPECT_EQ(inout, 5);
  dunlin::Life::users = 1;
  EXPECT_TRUE(attempt(&in, &inout, 0));
  EXPECT_EQ(inout, 5);
  EXPECT_TRUE(attempt(&in, &inout, 1));
  EXPECT_EQ(inout, 9);
}

}  // namespace
