// Reduction kernels with 16-byte vectors, which every 64-bit processor has (op/vector_kernels.hpp).
#include "op/vector_kernels.hpp"

namespace dunlin::op {

static_assert(sizeof(long) == 8, "MPI_LONG shares the kernels of 64-bit integers");

namespace {

struct Isa {
  static constexpr std::size_t kVectorBytes = 16;
};

}  // namespace

void fill_baseline_kernels(KernelTable* table) noexcept {
  table->name = "baseline";
  VectorKernels<Isa>{*table}.fill();
}

}  // namespace dunlin::op
