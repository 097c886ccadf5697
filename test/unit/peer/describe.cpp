// The reports that dunlin-info prints.
#include "peer/describe.hpp"

#include <gtest/gtest.h>

namespace dunlin::peer {
namespace {

TEST(Describe, EveryMechanismIsJudged) {
  const auto reports = describe_mechanisms();
  ASSERT_EQ(reports.size(), 5u);
  for (const MechanismReport& each : reports) {
    EXPECT_EQ(each.works, each.why_not.empty()) << each.name;
    if (!each.works) {
      EXPECT_TRUE(each.used_for.empty()) << each.name;
    }
  }
  EXPECT_EQ(reports.back().name, "cico");
  EXPECT_FALSE(reports.back().used_for.empty());
  EXPECT_FALSE(describe_heap().empty());
  EXPECT_FALSE(describe_copying().empty());
}

}  // namespace
}  // namespace dunlin::peer
