// MPI_Pack and friends at their edges, the external32 representation byte by byte, and copies in step.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "datatype/cursor.hpp"
#include "datatype/functions.hpp"

namespace {

using namespace dunlin;
using namespace dunlin::datatype;

const Datatype& predefined(MPI_Datatype handle) { return *from_handle<Datatype>(handle); }

class Packing : public testing::Test {
 protected:
  void SetUp() override { init_predefined_datatypes(); }

  static std::vector<int> external_bytes(MPI_Datatype handle, const void* value) {
    unsigned char bytes[64];
    std::int64_t position = 0;
    EXPECT_EQ(pack_external("external32", value, 1, predefined(handle), bytes, sizeof bytes, &position),
              Err::ok);
    return {bytes, bytes + position};
  }
};

TEST_F(Packing, PacksBehindThePosition) {
  const int in[] = {1, 2, 3};
  char out[20] = {};
  std::int64_t position = 4, back = 4, bytes = 0;
  ASSERT_EQ(pack_size(3, predefined(MPI_INT), &bytes), Err::ok);
  EXPECT_EQ(bytes, 12);
  ASSERT_EQ(pack(in, 3, predefined(MPI_INT), out, sizeof out, &position), Err::ok);
  EXPECT_EQ(position, 16);
  EXPECT_EQ(pack(in, 2, predefined(MPI_INT), out, sizeof out, &position), Err::truncate);
  EXPECT_EQ(position, 16);
  int again[3] = {};
  ASSERT_EQ(unpack(out, sizeof out, &back, again, 3, predefined(MPI_INT)), Err::ok);
  EXPECT_EQ(std::memcmp(in, again, sizeof in), 0);
  EXPECT_EQ(unpack(out, sizeof out, &back, again, 3, predefined(MPI_INT)), Err::truncate);
  EXPECT_EQ(pack(nullptr, 0, predefined(MPI_INT), out, sizeof out, &position), Err::ok);
}

TEST_F(Packing, ExternalBytesAreThoseOfTheStandard) {
  const int number = 0x01020304;
  EXPECT_EQ(external_bytes(MPI_INT, &number), (std::vector<int>{1, 2, 3, 4}));
  const long wide = -2;
  EXPECT_EQ(external_bytes(MPI_LONG, &wide), (std::vector<int>{255, 255, 255, 254}));
  EXPECT_EQ(external_bytes(MPI_INT64_T, &wide), (std::vector<int>{255, 255, 255, 255, 255, 255, 255, 254}));
  const wchar_t letter = L'\u00e9';
  EXPECT_EQ(external_bytes(MPI_WCHAR, &letter), (std::vector<int>{0, 0xe9}));
  const double half = -1.5;
  EXPECT_EQ(external_bytes(MPI_DOUBLE, &half), (std::vector<int>{0xbf, 0xf8, 0, 0, 0, 0, 0, 0}));
  const long double three = 3;  // binary128: exponent 16384, fraction .5
  std::vector<int> quad{0x40, 0, 0x80};
  quad.resize(16);
  EXPECT_EQ(external_bytes(MPI_LONG_DOUBLE, &three), quad);
  const float parts[] = {1, -2};
  EXPECT_EQ(external_bytes(MPI_C_FLOAT_COMPLEX, parts), (std::vector<int>{0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}));
  const struct { short value; int index; } pair{1, 2};
  EXPECT_EQ(external_bytes(MPI_SHORT_INT, &pair), (std::vector<int>{0, 1, 0, 0, 0, 2}));
  std::int64_t bytes = 0;
  EXPECT_EQ(pack_external_size("native", 1, predefined(MPI_INT), &bytes), Err::arg);
}

TEST_F(Packing, CopiesFromOneStrideToAnother) {
  Datatype *column = nullptr, *pairs = nullptr;
  ASSERT_EQ(type_vector(100, 1, 7, predefined(MPI_INT), false, &column), Err::ok);
  ASSERT_EQ(type_vector(50, 2, 3, predefined(MPI_INT), false, &pairs), Err::ok);
  std::vector<int> from(700), to(150, -1);
  std::iota(from.begin(), from.end(), 0);
  const Source source = source_of(*column, from.data(), 1);
  EXPECT_EQ(copy_data(source, target_of(*pairs, to.data(), 1)), 400u);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(to[3 * i], 14 * i);
    EXPECT_EQ(to[3 * i + 1], 14 * i + 7);
    EXPECT_EQ(to[3 * i + 2], -1);
  }
  int room[10];
  EXPECT_EQ(copy_data(source, target_of(predefined(MPI_INT), room, 10)), 40u);  // what fits
  EXPECT_EQ(room[9], 63);
  EXPECT_EQ(type_free(*column), Err::ok);
  EXPECT_EQ(type_free(*pairs), Err::ok);
}

TEST_F(Packing, TransposesInTiles) {
  for (int side : {1, 2, 15, 16, 17, 64, 100}) {
    Datatype *column = nullptr, *type = nullptr;
    ASSERT_EQ(type_vector(side, 1, side, predefined(MPI_DOUBLE), false, &column), Err::ok);
    ASSERT_EQ(type_create_hvector(side, 1, 8, *column, false, &type), Err::ok);
    const std::size_t cells = static_cast<std::size_t>(side) * side;
    std::vector<double> from(cells), to(cells), back(cells);
    std::iota(from.begin(), from.end(), 0.0);
    Cursor(*type, 1, from.data()).pack(reinterpret_cast<std::byte*>(to.data()), cells * 8);
    for (int i = 0; i < side; ++i)
      for (int j = 0; j < side; ++j) ASSERT_EQ(to[i * side + j], from[j * side + i]) << side;
    Cursor(target_of(*type, back.data(), 1)).unpack(reinterpret_cast<std::byte*>(to.data()), cells * 8);
    EXPECT_EQ(back, from);
    std::fill(back.begin(), back.end(), -1);
    EXPECT_EQ(copy_data(source_of(*type, from.data(), 1), target_of(*type, back.data(), 1)), cells * 8);
    EXPECT_EQ(back, from);
    EXPECT_EQ(type_free(*column), Err::ok);
    EXPECT_EQ(type_free(*type), Err::ok);
  }
}

TEST_F(Packing, ListsReachFartherThan32Bits) {
  const std::int64_t places[] = {0, 3'000'000'000, 3'000'000'004, -2'500'000'000};
  Datatype* type = nullptr;
  ASSERT_EQ(type_create_hindexed_block(4, 1, {places, true}, predefined(MPI_INT), false, &type), Err::ok);
  Piece pieces[4];
  Cursor cursor(*type, 1, nullptr);
  ASSERT_EQ(cursor.pieces(pieces, 1000), 3u);
  EXPECT_EQ(reinterpret_cast<std::int64_t>(pieces[0].address), 0);
  EXPECT_EQ(reinterpret_cast<std::int64_t>(pieces[1].address), 3'000'000'000);
  EXPECT_EQ(pieces[1].bytes, 8u);
  EXPECT_EQ(reinterpret_cast<std::int64_t>(pieces[2].address), -2'500'000'000);
  EXPECT_EQ(type_free(*type), Err::ok);
}

/// Records of runs {offset, bytes}, copied to every alignment: what lies between the runs stays.
void expect_records_copied(const std::vector<std::pair<int, int>>& runs, int extent, int n) {
  std::vector<int> lengths, places;
  for (const auto& [offset, bytes] : runs) {
    places.push_back(offset);
    lengths.push_back(bytes);
  }
  Datatype *inner = nullptr, *type = nullptr;
  const auto count = static_cast<std::int64_t>(runs.size());
  const IntArray blocks{lengths.data(), false}, offsets{places.data(), false};
  ASSERT_EQ(type_indexed(count, blocks, offsets, predefined(MPI_BYTE), false, &inner), Err::ok);
  ASSERT_EQ(type_create_resized(*inner, 0, extent, false, &type), Err::ok);
  const std::size_t margin = 256, room = 2 * margin + static_cast<std::size_t>(n) * 300;
  std::vector<unsigned char> from(room), to(room), expected(room);
  for (std::size_t i = 0; i < room; ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 255 + 1);
  for (const std::size_t shift : {0, 1, 24, 63}) {
    std::fill(to.begin(), to.end(), 0);
    expected = to;
    for (std::int64_t i = 0; i < n; ++i)
      for (const auto& [offset, bytes] : runs) {
        const std::int64_t at = static_cast<std::int64_t>(margin) + i * extent + offset;
        std::memcpy(&expected[shift + at], &from[at], static_cast<std::size_t>(bytes));
      }
    copy_data(source_of(*type, &from[margin], n), target_of(*type, &to[margin + shift], n));
    ASSERT_EQ(to, expected) << n << " records of extent " << extent << " shifted by " << shift;
  }
  EXPECT_EQ(type_free(*inner), Err::ok);
  EXPECT_EQ(type_free(*type), Err::ok);
}

TEST_F(Packing, CopiesManyRecords) {
  for (const int n : {2, 511, 512, 700}) {
    expect_records_copied({{0, 4}, {8, 8}, {16, 3}}, 24, n);
    expect_records_copied({{16, 3}, {0, 4}, {8, 8}}, 25, n);
    expect_records_copied({{-20, 4}, {30, 20}}, 64, n);
    expect_records_copied({{-20, 4}, {30, 34}}, 80, n);        // the next record lies in between
    expect_records_copied({{0, 24}, {32, 70}, {110, 1}}, 256, n);
    expect_records_copied({{0, 1}, {2, 1}}, 3, n);
    expect_records_copied({{0, 100}, {150, 149}}, 299, n);     // no mask repeats in time
  }
}

TEST_F(Packing, JoinsNeighboursInPieces) {
  const int lengths[] = {1, 1, 2}, places[] = {4, 0, 1};  // packed order; the last two touch
  Datatype* type = nullptr;
  ASSERT_EQ(type_indexed(3, {lengths, false}, {places, false}, predefined(MPI_INT), false, &type), Err::ok);
  int buffer[5];
  Piece pieces[4];
  Cursor cursor(*type, 1, buffer);
  ASSERT_EQ(cursor.pieces(pieces, 1000), 2u);
  EXPECT_EQ(pieces[0].address, reinterpret_cast<std::byte*>(buffer + 4));
  EXPECT_EQ(pieces[1].address, reinterpret_cast<std::byte*>(buffer));
  EXPECT_EQ(pieces[1].bytes, 12u);
  EXPECT_EQ(type_free(*type), Err::ok);
}

}  // namespace
