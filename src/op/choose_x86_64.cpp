// Which of the x86-64 kernels run here.
#include <cstring>

#include "base/assert.hpp"
#include "base/variable.hpp"
#include "op/kernels_x86_64.hpp"

namespace dunlin::op {

namespace {

WordVariable instructions{"INSTRUCTIONS", "auto", "auto|baseline|avx2|avx512",
                          "widest instruction set that reductions use"};

bool has_avx2() noexcept { return __builtin_cpu_supports("avx2"); }
bool has_avx512() noexcept {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace

const char* const* instruction_sets() noexcept {
  static const char* const kAll[] = {"baseline", "avx2", "avx512", nullptr};
  static const char* const kNarrow[] = {"baseline", "avx2", nullptr};
  static const char* const kBaseline[] = {"baseline", nullptr};
  return has_avx512() ? kAll : has_avx2() ? kNarrow : kBaseline;
}

void fill_kernels(const char* instruction_set, KernelTable* table) noexcept {
  if (std::strcmp(instruction_set, "avx512") == 0)
    fill_avx512_kernels(table);
  else if (std::strcmp(instruction_set, "avx2") == 0)
    fill_avx2_kernels(table);
  else
    fill_baseline_kernels(table);
}

void fill_best_kernels(KernelTable* table) noexcept {
  const char* best = nullptr;
  for (const char* const* set = instruction_sets(); *set; ++set) {
    best = *set;
    if (std::strcmp(instructions.get(), best) == 0) break;
  }
  DUNLIN_ASSERT(best != nullptr);
  fill_kernels(best, table);
}

}  // namespace dunlin::op
