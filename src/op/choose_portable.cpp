// Machines without kernels of their own: the 16-byte vectors (Neon on aarch64) are all there is.
#include "op/kernels.hpp"

namespace dunlin::op {

const char* const* instruction_sets() noexcept {
  static const char* const kBaseline[] = {"baseline", nullptr};
  return kBaseline;
}

void fill_kernels(const char*, KernelTable* table) noexcept { fill_baseline_kernels(table); }

void fill_best_kernels(KernelTable* table) noexcept { fill_baseline_kernels(table); }

}  // namespace dunlin::op
