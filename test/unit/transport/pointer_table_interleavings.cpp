// base/pointer_table.hpp in every order of its accesses; here, because the interleaver is.
#include <gtest/gtest.h>

#include <optional>

#include "base/pointer_table.hpp"
#include "test/unit/transport/interleave.hpp"

namespace dunlin {
namespace {

using test::Interleaver;
using test::Model;

long objects[4];

using SmallTable = PointerTable<4, Model>;

/// Two places taken before; then two threads take and give back, the second one as often as it takes for the
/// same place to lie on top again while the first one is in the middle of taking it.
Interleaver::Program takers() {
  static std::optional<SmallTable> table;
  table.emplace();
  table->put(&objects[0]);
  table->put(&objects[1]);
  table->remove(1);
  table->remove(0);
  static std::uint32_t first, second, third;
  const auto one = [] { first = table->put(&objects[2]); };
  const auto other = [] {
    second = table->put(&objects[0]);
    third = table->put(&objects[1]);
    table->remove(second);
    second = table->put(&objects[3]);
  };
  return {{one, other}, [] {
            EXPECT_NE(first, second);
            EXPECT_NE(first, third);
            EXPECT_NE(second, third);
            EXPECT_EQ(table->get(first), &objects[2]);
            EXPECT_EQ(table->get(second), &objects[3]);
            EXPECT_EQ(table->get(third), &objects[1]);
          }};
}

TEST(PointerTableInterleavings, EveryOneHasItsPlace) {
  const Interleaver::Outcome outcome = Interleaver::explore(takers);
  EXPECT_TRUE(outcome.is_complete);
  EXPECT_EQ(outcome.deadlocks, 0u);
  EXPECT_GT(outcome.runs, 20u);
}

}  // namespace
}  // namespace dunlin
