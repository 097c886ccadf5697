// Random nested types against the slow reference (reference.hpp).  The seed of a failure is printed; the
// fuzzer (test/fuzz/datatype.cpp) runs the same checks without end.
#include "test/unit/datatype/random_types.hpp"

#include <gtest/gtest.h>

namespace {

TEST(RandomTypes, AgreeWithTheReference) {
  dunlin::init_predefined_datatypes();
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const std::string failure = dunlin::test::check_seed(seed);
    ASSERT_EQ(failure, "");
  }
}

}  // namespace
