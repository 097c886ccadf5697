// Bounds, envelope and contents, names, counts and lifetime of types, at the edges that random types seldom
// meet.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <string>
#include <vector>

#include "datatype/cursor.hpp"
#include "datatype/functions.hpp"
#include "datatype/layout.hpp"

namespace {

using namespace dunlin;
using namespace dunlin::datatype;

const Datatype& predefined(MPI_Datatype handle) { return *from_handle<Datatype>(handle); }

class Inquiry : public testing::Test {
 protected:
  void SetUp() override { init_predefined_datatypes(); }
};


TEST_F(Inquiry, PredefinedTypesHaveTheSizesOfC) {
  struct { MPI_Datatype handle; std::int64_t size, extent; const char* name; } expected[] = {
      {MPI_CHAR, 1, 1, "MPI_CHAR"}, {MPI_WCHAR, sizeof(wchar_t), sizeof(wchar_t), "MPI_WCHAR"},
      {MPI_LONG, sizeof(long), sizeof(long), "MPI_LONG"}, {MPI_AINT, 8, 8, "MPI_AINT"},
      {MPI_LONG_DOUBLE, sizeof(long double), sizeof(long double), "MPI_LONG_DOUBLE"},
      {MPI_C_DOUBLE_COMPLEX, 16, 16, "MPI_C_DOUBLE_COMPLEX"},
      {MPI_SHORT_INT, 6, 8, "MPI_SHORT_INT"}, {MPI_DOUBLE_INT, 12, 16, "MPI_DOUBLE_INT"},
      {MPI_LONG_DOUBLE_INT, 20, 32, "MPI_LONG_DOUBLE_INT"}, {MPI_2INT, 8, 8, "MPI_2INT"},
      {MPI_LOGICAL, 4, 4, "MPI_LOGICAL"}, {MPI_REAL16, 16, 16, "MPI_REAL16"},
      {MPI_2DOUBLE_PRECISION, 16, 16, "MPI_2DOUBLE_PRECISION"}, {MPI_COMPLEX32, 32, 32, "MPI_COMPLEX32"},
  };
  for (const auto& e : expected) {
    const Datatype& type = predefined(e.handle);
    EXPECT_EQ(type.size(), e.size) << e.name;
    EXPECT_EQ(type.extent(), e.extent) << e.name;
    EXPECT_STREQ(type.name(), e.name);
    EXPECT_TRUE(type.is_committed());
    EXPECT_EQ(type.is_contiguous(), e.size == e.extent) << e.name;
    EXPECT_EQ(to_handle<MPI_Datatype>(type), e.handle);
  }
}

TEST_F(Inquiry, TypesThatAreNotThereHaveNoSize) {
  for (MPI_Datatype handle : {MPI_REAL2, MPI_COMPLEX4}) {
    std::int64_t size = 0, lower = 0, extent = 0;
    EXPECT_EQ(type_size(predefined(handle), &size), Err::ok);
    EXPECT_EQ(size, MPI_UNDEFINED);
    EXPECT_EQ(type_get_extent(predefined(handle), &lower, &extent), Err::ok);
    EXPECT_EQ(extent, MPI_UNDEFINED);
  }
  EXPECT_EQ(from_handle<Datatype>(MPI_DATATYPE_NULL), nullptr);
}

TEST_F(Inquiry, LargeConstructorsShowLargeCountsOnly) {
  const std::int64_t lengths[] = {1, 2}, places[] = {0, 3'000'000'000};
  Datatype* type = nullptr;
  ASSERT_EQ(type_create_hindexed(2, {lengths, true}, {places, true}, predefined(MPI_INT), true, &type),
            Err::ok);
  std::int64_t ints = -1, addresses = -1, counts = -1, types = -1;
  int combiner = 0;
  EXPECT_EQ(type_get_envelope(*type, false, &ints, &addresses, nullptr, &types, &combiner), Err::type);
  ASSERT_EQ(type_get_envelope(*type, true, &ints, &addresses, &counts, &types, &combiner), Err::ok);
  EXPECT_EQ(combiner, MPI_COMBINER_HINDEXED);
  EXPECT_EQ(ints, 0);
  EXPECT_EQ(addresses, 0);
  EXPECT_EQ(counts, 5);
  EXPECT_EQ(types, 1);
  MPI_Count values[6] = {0, 0, 0, 0, 0, -7};
  MPI_Datatype old = nullptr;
  EXPECT_EQ(type_get_contents(*type, true, 0, 0, 4, 1, nullptr, nullptr, values, &old), Err::arg);
  ASSERT_EQ(type_get_contents(*type, true, 0, 0, 6, 1, nullptr, nullptr, values, &old), Err::ok);
  EXPECT_EQ(values[0], 2);
  EXPECT_EQ(values[4], 3'000'000'000);
  EXPECT_EQ(values[5], -7);
  EXPECT_EQ(old, MPI_INT);
  EXPECT_EQ(type_free(*type), Err::ok);
}

TEST_F(Inquiry, PredefinedTypesHaveNoContentsAndCannotBeFreed) {
  int combiner = 0;
  std::int64_t ints = -1, addresses = -1, types = -1;
  auto& type = const_cast<Datatype&>(predefined(MPI_INT));
  ASSERT_EQ(type_get_envelope(type, false, &ints, &addresses, nullptr, &types, &combiner), Err::ok);
  EXPECT_EQ(combiner, MPI_COMBINER_NAMED);
  EXPECT_EQ(ints + addresses + types, 0);
  EXPECT_EQ(type_get_contents(type, false, 9, 9, 0, 9, nullptr, nullptr, nullptr, nullptr), Err::type);
  EXPECT_EQ(type_free(type), Err::type);
}

TEST_F(Inquiry, ExplicitBoundsWinOverOtherMembers) {
  Datatype* resized = nullptr;
  ASSERT_EQ(type_create_resized(predefined(MPI_INT), -4, 20, false, &resized), Err::ok);
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {8, 100};
  const MPI_Datatype types[] = {to_handle<MPI_Datatype>(*resized), MPI_DOUBLE};
  Datatype* type = nullptr;
  ASSERT_EQ(type_create_struct(2, {lengths, false}, {places, true}, types, false, &type), Err::ok);
  EXPECT_EQ(type->lower_bound(), 4);
  EXPECT_EQ(type->upper_bound(), 24);
  EXPECT_EQ(type->true_lower_bound(), 8);
  EXPECT_EQ(type->true_extent(), 100);
  EXPECT_EQ(type_free(*resized), Err::ok);  // still held by `type`
  EXPECT_EQ(type->size(), 12);
  EXPECT_EQ(type_free(*type), Err::ok);
}

TEST_F(Inquiry, RefusesWhatSpansTooMuch) {
  Datatype* type = nullptr;
  EXPECT_EQ(type_contiguous(INT64_MAX, predefined(MPI_DOUBLE), true, &type), Err::value_too_large);
  const Datatype& real = predefined(MPI_DOUBLE);
  EXPECT_EQ(type_vector(1 << 20, 1, INT64_MAX / 8, real, true, &type), Err::value_too_large);
  EXPECT_EQ(type_vector(2, 1, INT64_MAX, predefined(MPI_DOUBLE), true, &type), Err::value_too_large);
  EXPECT_EQ(type_create_resized(predefined(MPI_INT), INT64_MIN, 4, true, &type), Err::value_too_large);
  EXPECT_EQ(type_contiguous(-1, predefined(MPI_INT), false, &type), Err::arg);
  EXPECT_EQ(type, nullptr);
}

TEST_F(Inquiry, CountsMoreThanTwoToThe31Elements) {
  Datatype* row = nullptr;
  Datatype* type = nullptr;
  const std::int64_t many = std::int64_t{3} << 31;
  ASSERT_EQ(type_vector(many, 1, 2, predefined(MPI_INT), true, &row), Err::ok);
  ASSERT_EQ(type_contiguous(5, *row, true, &type), Err::ok);
  EXPECT_EQ(type->size(), 5 * many * 4);
  EXPECT_EQ(type->element_count(), 5 * many);
  std::int64_t count = 0, bytes = 0;
  EXPECT_EQ(get_elements(4 * (many + 7), *type, &count), Err::ok);
  EXPECT_EQ(count, many + 7);
  EXPECT_EQ(get_elements(4 * many + 2, *type, &count), Err::ok);
  EXPECT_EQ(count, MPI_UNDEFINED);
  EXPECT_EQ(status_set_elements(*type, many, &bytes), Err::ok);
  EXPECT_EQ(bytes, 4 * many);
  EXPECT_EQ(get_count(3 * type->size(), *type, &count), Err::ok);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(get_count(3 * type->size() + 1, *type, &count), Err::ok);
  EXPECT_EQ(count, MPI_UNDEFINED);

  // A cursor finds any byte of it without memory behind the addresses.
  Cursor cursor(*type, 2, nullptr);
  const auto place = static_cast<std::size_t>(type->size() + 4 * (many - 1) + 3);
  cursor.seek(place);
  Piece pieces[2];
  ASSERT_EQ(cursor.pieces(pieces, 100), 2u);
  const std::int64_t last_of_first_row = type->extent() + (many - 1) * 8 + 3;
  EXPECT_EQ(reinterpret_cast<std::intptr_t>(pieces[0].address), last_of_first_row);
  EXPECT_EQ(pieces[0].bytes, 5u);  // the next row starts where this one ends
  EXPECT_EQ(type_free(*row), Err::ok);
  EXPECT_EQ(type_free(*type), Err::ok);
}

TEST_F(Inquiry, NestsDeeperThanTheStack) {
  Ref<Datatype> type(const_cast<Datatype*>(&predefined(MPI_CHAR)));
  const int lengths[] = {1, 1};
  for (int level = 0; level < 60000; ++level) {
    Datatype* outer = nullptr;
    if (level % 2 == 0) {
      ASSERT_EQ(type_contiguous(1, *type, false, &outer), Err::ok);
    } else if (level < 2000) {  // a member more each time
      const MPI_Aint places[] = {0, type->extent() + 1};
      const MPI_Datatype types[] = {to_handle<MPI_Datatype>(*type), MPI_SHORT};
      ASSERT_EQ(type_create_struct(2, {lengths, false}, {places, true}, types, false, &outer), Err::ok);
    } else {
      ASSERT_EQ(type_dup(*type, &outer), Err::ok);
    }
    type = Ref<Datatype>::adopt(outer);
  }
  EXPECT_EQ(type->size(), 1 + 1000 * 2);
  std::vector<char> buffer(static_cast<std::size_t>(type->true_extent()), 'b');
  std::vector<std::byte> packed(static_cast<std::size_t>(type->size()));
  EXPECT_EQ(Cursor(*type, 1, buffer.data()).pack(packed.data(), packed.size()), packed.size());
  EXPECT_EQ(packed.back(), std::byte{'b'});
}

TEST_F(Inquiry, RegularTypesBecomeOneNestOfStrides) {
  const int sizes[] = {9, 8, 7}, subsizes[] = {4, 3, 2}, starts[] = {1, 2, 3};
  Datatype* type = nullptr;
  ASSERT_EQ(type_create_subarray(3, {sizes, false}, {subsizes, false}, {starts, false}, MPI_ORDER_C,
                                 predefined(MPI_DOUBLE), false, &type),
            Err::ok);
  ASSERT_EQ(type->layout().form, Layout::Form::strided);
  EXPECT_EQ(type->layout().strided.block, 16);
  EXPECT_EQ(type->layout().strided.dimensions, 2);
  EXPECT_EQ(type->extent(), 9 * 8 * 7 * 8);
  EXPECT_EQ(type->true_lower_bound(), ((1 * 8 + 2) * 7 + 3) * 8);
  EXPECT_EQ(type_free(*type), Err::ok);

  const int places[] = {0, 3, 6, 9};
  ASSERT_EQ(type_create_indexed_block(4, 2, {places, false}, predefined(MPI_INT), false, &type), Err::ok);
  EXPECT_EQ(type->layout().form, Layout::Form::strided);
  EXPECT_EQ(type_free(*type), Err::ok);
  const int neighbours[] = {0, 2, 4, 6};
  ASSERT_EQ(type_create_indexed_block(4, 2, {neighbours, false}, predefined(MPI_INT), false, &type), Err::ok);
  EXPECT_TRUE(type->is_contiguous());
  EXPECT_EQ(type_free(*type), Err::ok);
}

TEST_F(Inquiry, NamesAndDuplicates) {
  Datatype* type = nullptr;
  Datatype* duplicate = nullptr;
  ASSERT_EQ(type_contiguous(3, predefined(MPI_INT), false, &type), Err::ok);
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  ASSERT_EQ(type_get_name(*type, name, &length), Err::ok);
  EXPECT_EQ(length, 0);
  const std::string longer(300, 'n');
  ASSERT_EQ(type_set_name(*type, longer.c_str()), Err::ok);
  ASSERT_EQ(type_get_name(*type, name, &length), Err::ok);
  EXPECT_EQ(length, MPI_MAX_OBJECT_NAME - 1);
  EXPECT_FALSE(type->is_committed());
  ASSERT_EQ(type_commit(*type), Err::ok);
  ASSERT_EQ(type_dup(*type, &duplicate), Err::ok);
  EXPECT_TRUE(duplicate->is_committed());
  EXPECT_EQ(&duplicate->layout(), &type->layout());
  ASSERT_EQ(type_get_name(*duplicate, name, &length), Err::ok);
  EXPECT_EQ(length, 0);
  EXPECT_EQ(type_free(*type), Err::ok);
  EXPECT_EQ(type_free(*duplicate), Err::ok);
}

TEST_F(Inquiry, SynonymsHaveTheNameThatTheStandardsTablePutsFirst) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  ASSERT_EQ(type_get_name(predefined(MPI_LONG_LONG), name, &length), Err::ok);
  EXPECT_STREQ(name, "MPI_LONG_LONG_INT");
  ASSERT_EQ(type_get_name(predefined(MPI_C_FLOAT_COMPLEX), name, &length), Err::ok);
  EXPECT_STREQ(name, "MPI_C_COMPLEX");
}

TEST_F(Inquiry, TypesByPrecisionAreOfTheFamily) {
  Datatype *real = nullptr, *again = nullptr, *complex = nullptr, *integer = nullptr;
  ASSERT_EQ(type_create_f90_real(15, 307, &real), Err::ok);
  ASSERT_EQ(type_create_f90_real(15, 307, &again), Err::ok);
  EXPECT_EQ(real, again);
  EXPECT_EQ(real->basic(), Basic::f64);
  EXPECT_TRUE(real->is_committed());
  EXPECT_EQ(type_free(*real), Err::type);
  ASSERT_EQ(type_create_f90_complex(MPI_UNDEFINED, 400, &complex), Err::ok);
  EXPECT_EQ(complex->basic(), Basic::c_long_double);
  ASSERT_EQ(type_create_f90_integer(18, &integer), Err::ok);
  EXPECT_EQ(integer->size(), 8);
  EXPECT_EQ(type_create_f90_integer(39, &integer), Err::arg);
  EXPECT_EQ(type_create_f90_real(99, MPI_UNDEFINED, &real), Err::arg);
  EXPECT_EQ(type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &real), Err::arg);
  std::int64_t ints = 0, addresses = 0, types = 0;
  int combiner = 0, values[2] = {0, 0};
  ASSERT_EQ(type_get_envelope(*again, false, &ints, &addresses, nullptr, &types, &combiner), Err::ok);
  EXPECT_EQ(combiner, MPI_COMBINER_F90_REAL);
  ASSERT_EQ(type_get_contents(*again, false, 2, 0, 0, 0, values, nullptr, nullptr, nullptr), Err::ok);
  EXPECT_EQ(values[0], 15);
  EXPECT_EQ(values[1], 307);
}

TEST_F(Inquiry, FindsTypesBySizeAndPairsByParts) {
  Datatype* type = nullptr;
  ASSERT_EQ(type_match_size(MPI_TYPECLASS_REAL, 8, &type), Err::ok);
  EXPECT_EQ(type->basic(), Basic::f64);
  EXPECT_EQ(type_match_size(MPI_TYPECLASS_REAL, 3, &type), Err::arg);
  EXPECT_EQ(type_match_size(77, 4, &type), Err::arg);
  ASSERT_EQ(type_get_value_index(predefined(MPI_DOUBLE), predefined(MPI_INT), &type), Err::ok);
  EXPECT_EQ(type, &predefined(MPI_DOUBLE_INT));
  ASSERT_EQ(type_get_value_index(predefined(MPI_DOUBLE), predefined(MPI_CHAR), &type), Err::ok);
  EXPECT_EQ(type, nullptr);
}

TEST_F(Inquiry, ChecksArguments) {
  Datatype* type = nullptr;
  const int sizes[] = {4}, subsizes[] = {5}, starts[] = {0};
  EXPECT_EQ(type_create_subarray(1, {sizes, false}, {subsizes, false}, {starts, false}, MPI_ORDER_C,
                                 predefined(MPI_INT), false, &type),
            Err::arg);
  EXPECT_STREQ(error_detail(Err::arg), "array_of_subsizes[0] is 5; it must be from 1 to 4");
  const int kinds[] = {MPI_DISTRIBUTE_BLOCK}, one[] = {1}, two[] = {2};
  for (int rank : {0, 2}) {  // an argument too small; a rank that is not there
    const int* argument = rank == 0 ? one : two;
    EXPECT_EQ(type_create_darray(2, rank, 1, {sizes, false}, kinds, argument, two, MPI_ORDER_C,
                                 predefined(MPI_INT), false, &type),
              Err::arg);
  }
  const int negative[] = {-1};
  EXPECT_EQ(type_indexed(1, {negative, false}, {starts, false}, predefined(MPI_INT), false, &type), Err::arg);
  EXPECT_EQ(type, nullptr);
}

TEST_F(Inquiry, TypesAreLaidOutAlikeOrNot) {
  const auto list = [](int last, std::int64_t extent) {
    const int places[] = {0, 3, last};
    Datatype *inner = nullptr, *type = nullptr;
    const IntArray offsets{places, false};
    EXPECT_EQ(type_create_indexed_block(3, 1, offsets, predefined(MPI_INT), false, &inner), Err::ok);
    EXPECT_EQ(type_create_resized(*inner, 0, extent, false, &type), Err::ok);
    EXPECT_EQ(type_free(*inner), Err::ok);
    return Ref<Datatype>::adopt(type);
  };
  const Ref<Datatype> a = list(4, 64), b = list(4, 64), longer = list(4, 68), other = list(5, 64);
  for (int again = 0; again < 2; ++again) {  // the second time from memory
    EXPECT_TRUE(a->is_laid_out_like(*a));
    EXPECT_TRUE(a->is_laid_out_like(*b));
    EXPECT_TRUE(b->is_laid_out_like(*a));
    EXPECT_FALSE(a->is_laid_out_like(*longer));
    EXPECT_FALSE(a->is_laid_out_like(*other));
    EXPECT_FALSE(other->is_laid_out_like(*b));
    EXPECT_FALSE(predefined(MPI_DOUBLE_INT).is_laid_out_like(predefined(MPI_SHORT_INT)));
    EXPECT_FALSE(a->is_laid_out_like(predefined(MPI_DOUBLE_INT)));
  }
}

}  // namespace
