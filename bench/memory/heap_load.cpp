// Programs whose speed the preloaded allocator must not change: STREAM's triad, arrays that come and go,
// small blocks, a large block that is touched once.  Prints "name value" lines, smaller is better, of the
// load named or of all; bench/memory/heap_cost runs it with and without the allocator and compares.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

double now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) * 1e6 + double(now.tv_nsec) * 1e-3;
}

template <class T>
T* opaque(T* pointer) {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

double triad_us() {
  constexpr std::size_t kCount = 4 << 20;
  auto* a = static_cast<double*>(opaque(std::malloc(kCount * 8)));
  auto* b = static_cast<double*>(opaque(std::malloc(kCount * 8)));
  auto* c = static_cast<double*>(opaque(std::malloc(kCount * 8)));
  for (std::size_t i = 0; i < kCount; ++i) a[i] = 0, b[i] = 1, c[i] = 2;
  double best = 1e30;
  for (int round = 0; round < 12; ++round) {
    const double start = now_us();
    for (std::size_t i = 0; i < kCount; ++i) a[i] = b[i] + 3.0 * c[i];
    opaque(a);
    best = std::min(best, now_us() - start);
  }
  std::free(a), std::free(b), std::free(c);
  return best;
}

/// Eight arrays of 4 MiB anew in each step, as array expressions make them.
double temporaries_us() {
  constexpr int kSteps = 10;
  const double start = now_us();
  for (int step = 0; step < kSteps; ++step) {
    char* arrays[8];
    for (char*& each : arrays) each = static_cast<char*>(opaque(std::malloc(4 << 20)));
    for (char* each : arrays) std::memset(each, step, 4 << 20);
    for (char* each : arrays) std::free(each);
  }
  return (now_us() - start) / kSteps;
}

double small_blocks_ns() {
  constexpr int kRounds = 500000;
  void* kept[64] = {};
  const double start = now_us();
  for (int i = 0; i < kRounds; ++i) {
    std::free(kept[i % 64]);
    kept[i % 64] = opaque(std::malloc(16 + std::size_t(i) * 40503u % 500));
  }
  const double each = (now_us() - start) / kRounds;
  for (void* block : kept) std::free(block);
  return each * 1000;
}

/// Blocks of 1 KiB to 1 MiB in random order of lives, each touched.
double mixed_blocks_us() {
  constexpr int kRounds = 20000;
  std::vector<std::pair<char*, std::size_t>> kept(256);
  std::uint64_t random = 1;
  const double start = now_us();
  for (int i = 0; i < kRounds; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    auto& slot = kept[random >> 56];
    std::free(slot.first);
    slot.second = std::size_t{1024} << ((random >> 40) % 11);
    slot.first = static_cast<char*>(opaque(std::malloc(slot.second)));
    for (std::size_t at = 0; at < slot.second; at += 4096) slot.first[at] = 1;
  }
  const double each = (now_us() - start) / kRounds;
  for (auto& slot : kept) std::free(slot.first);
  return each;
}

double touch_once_us(std::size_t bytes) {
  const double start = now_us();
  char* block = static_cast<char*>(opaque(std::malloc(bytes)));
  std::memset(block, 1, bytes);
  std::free(opaque(block));
  return now_us() - start;
}

double touch_again_us() {
  touch_once_us(64 << 20);  // the machine's first use of fresh host pages is another story
  return touch_once_us(64 << 20);
}

struct Load {
  const char* name;
  double (*run)();
};
constexpr Load kLoads[] = {
    {"triad_32MiB_arrays_us", triad_us},     {"eight_4MiB_arrays_per_step_us", temporaries_us},
    {"small_pair_ns", small_blocks_ns},      {"mixed_block_us", mixed_blocks_us},
    {"touch_64MiB_once_us", touch_again_us},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Load& load : kLoads)
    if (argc < 2 || std::strcmp(argv[1], load.name) == 0) std::printf("%s %.3f\n", load.name, load.run());
  return 0;
}
