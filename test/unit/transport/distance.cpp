// Near and far: what is compared, and how soon it is believed.
#include "transport/shm/distance.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

#include "base/variable.hpp"
#include "os/cpu.hpp"

namespace dunlin::transport::shm {
namespace {

/// A load that began when the clock did takes longer than one from memory; one that begins now takes no time.
void look(Distance& distance, bool is_slow) {
  const std::uint64_t before = distance.before_load();
  distance.after_load(before == 0 ? 0 : is_slow ? 1 : before, true);
}

/// Distances measured, whatever the processor.
class MeasuredDistance : public testing::Test {
 protected:
  MeasuredDistance() { set("measured"); }
  ~MeasuredDistance() override {
    unsetenv("DUNLIN_DISTANCE");
    Variable::read_all_again();
  }
  static void set(const char* value) {
    setenv("DUNLIN_DISTANCE", value, 1);
    Variable::read_all_again();
  }
};

TEST_F(MeasuredDistance, IsNearUntilALineWasSlow) {
  Distance distance;
  EXPECT_FALSE(distance.is_far());
  look(distance, true);
  EXPECT_TRUE(distance.is_far());
}

TEST_F(MeasuredDistance, OneLookDoesNotChangeWhatManyHaveSaid) {
  Distance distance;
  for (int i = 0; i < 50; ++i) look(distance, true);
  while (distance.before_load() == 0) look(distance, true);
  distance.after_load(1, false);  // nothing new was loaded
  EXPECT_TRUE(distance.is_far());
  for (int i = 0; i < 20; ++i) look(distance, true);
  EXPECT_TRUE(distance.is_far());
}

TEST_F(MeasuredDistance, OnceSureItLooksSeldom) {
  Distance distance;
  int looks = 0;
  for (int i = 0; i < 800; ++i) {
    looks += distance.before_load() != 0;
    look(distance, true);
  }
  EXPECT_GE(looks, 100);
  EXPECT_LE(looks, 105);
}

TEST_F(MeasuredDistance, ASettingIsBelievedAlone) {
  for (const bool is_far : {true, false}) {
    set(is_far ? "far" : "near");
    Distance distance;
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(distance.before_load(), 0u);
      look(distance, !is_far);
    }
    EXPECT_EQ(distance.is_far(), is_far);
  }
}

TEST_F(MeasuredDistance, IsMeasuredByItselfWhereALineStaysOwned) {
  set("auto");
  Distance distance;
  for (int i = 0; i < 10; ++i) look(distance, true);
  EXPECT_EQ(distance.is_far(), os::stores_slowly_to_owned_lines());
}

}  // namespace
}  // namespace dunlin::transport::shm
