// Random nested datatypes against the slow reference, for as long as wanted: `fuzz_datatype SECONDS
// [FIRST_SEED]`.
//
// A failure prints its seed; `fuzz_datatype 0 SEED` runs that one again.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "test/unit/datatype/random_types.hpp"

int main(int argc, char** argv) {
  const auto start = std::chrono::steady_clock::now();
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  const auto clock_seed = static_cast<std::uint64_t>(start.time_since_epoch().count());
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : clock_seed;
  dunlin::init_predefined_datatypes();
  std::uint64_t seed = first;
  std::chrono::duration<double> elapsed{};
  do {
    const std::string failure = dunlin::test::check_seed(seed++);
    if (!failure.empty()) {
      std::fprintf(stderr, "%s\n", failure.c_str());
      return 1;
    }
    elapsed = std::chrono::steady_clock::now() - start;
  } while (elapsed.count() < seconds);
  std::printf("%llu seeds from %llu on, %.1f s, no difference\n",
              static_cast<unsigned long long>(seed - first), static_cast<unsigned long long>(first),
              elapsed.count());
  return 0;
}
