// Which range the registration cache should give up when there are too many: the first that came (FIFO) or
// the one unused longest (LRU), for buffers in the order in which programs send them (docs/memory.md,
// "Registration cache").  A miss maps the buffer and touches its pages, as an attachment of XPMEM costs.
//
// usage: eviction [accesses]
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>

#include "bench/memory/mapper.hpp"
#include "bench/memory/processes.hpp"

namespace {

using dunlin::peer::Registration;
using dunlin::peer::RegistrationCache;

constexpr std::size_t kBufferBytes = 64 << 10;
constexpr std::size_t kStride = 2 * kBufferBytes;  // apart, so that buffers do not become one range
constexpr std::uint64_t kFileBytes = std::uint64_t{1} << 30;

/// The buffer that access `i` uses, by number; `capacity` is the cache's, so that each pattern stresses it
/// alike.
using Pattern =
    std::function<std::uint64_t(std::uint64_t i, std::uint64_t capacity, std::mt19937_64& random)>;

/// Numbers that no other part of a pattern uses: buffers that are sent once.
std::uint64_t fresh(std::uint64_t i) { return 1'000'000 + i; }

/// One of `count` with a probability that falls as 1 / rank.
std::uint64_t zipf(std::uint64_t count, std::mt19937_64& random) {
  const double u = std::uniform_real_distribution<>(0, 1)(random);
  return std::uint64_t(std::pow(double(count), u)) - 1;
}

struct Named {
  const char* name;
  Pattern pattern;
};

const Named kPatterns[] = {
    // A program that sends all parts of its data in turn, a quarter more than fit.
    {"cyclic", [](auto i, auto capacity, auto&) { return i % (capacity * 5 / 4); }},
    // Most messages from half as many buffers as fit, every fifth from a new one.
    {"hot_and_new",
     [](auto i, auto capacity, auto& random) { return i % 5 ? random() % (capacity / 2) : fresh(i); }},
    // Six faces each step, and six temporaries for ghost cells that are allocated anew and never come back.
    {"halo_ghosts", [](auto i, auto, auto&) { return i % 12 < 6 ? i % 12 : fresh(i); }},
    // As many faces and ghosts as fit, of which regridding replaces an eighth every 20 steps.
    {"regridding",
     [](auto i, auto capacity, auto&) {
       const std::uint64_t slot = i % capacity;
       const std::uint64_t moves = i / (capacity * 20);
       return slot + capacity * ((moves + slot * 8 / capacity) / 8);
     }},
    // Graphs and task queues: few buffers often, many seldom.
    {"zipf", [](auto, auto capacity, auto& random) { return zipf(capacity * 4, random); }},
    // No order at all, twice as many as fit.
    {"uniform", [](auto, auto capacity, auto& random) { return random() % (capacity * 2); }},
};

struct Result {
  double hit_share, us;
};

Result measure(const Pattern& pattern, std::size_t capacity, int file, std::uint64_t accesses) {
  bench::Mapper mapper(file, kFileBytes);
  RegistrationCache cache(mapper, {.ranges_max = capacity, .linger = 0});
  std::mt19937_64 random(1);
  double spent_us = 0;
  for (std::uint64_t i = 0; i < accesses; ++i) {
    const std::uint64_t at = pattern(i, capacity, random) * kStride;
    const double start = bench::now_us();
    Registration* found = cache.acquire(at, kBufferBytes);
    if (!found) std::abort();
    const auto* bytes = reinterpret_cast<const volatile char*>(found->handle) + (at - found->begin);
    for (std::size_t page = 0; page < kBufferBytes; page += 4096) (void)bytes[page];
    cache.release(found);
    spent_us += bench::now_us() - start;
  }
  return {double(cache.counters().hits) / double(accesses), spent_us / double(accesses)};
}

}  // namespace

int main(int count, char** arguments) {
  const std::uint64_t accesses = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 40000;
  const int file = memfd_create("bench", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, off_t(kFileBytes)) != 0) return 1;
  void* whole = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (whole == MAP_FAILED) return 1;
  std::memset(whole, 1, kFileBytes);
  std::printf("capacity  pattern          found      us\n");
  for (const std::size_t capacity : {16, 128, 1024})
    for (const Named& each : kPatterns) {
      const Result seen = measure(each.pattern, capacity, file, accesses);
      std::printf("%8zu  %-12s  %5.1f %%  %6.3f\n", capacity, each.name, 100 * seen.hit_share, seen.us);
    }
}
