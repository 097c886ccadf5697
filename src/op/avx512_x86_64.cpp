// Reduction kernels with 64-byte vectors (op/vector_kernels.hpp).
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "op/kernels_x86_64.hpp"

// From here to the end of the file: only this file's own kernels may be compiled for it.  GCC reads the
// first pragma, Clang the second.
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))), \
                             apply_to = function)
#include "op/vector_kernels.hpp"

namespace dunlin::op {

namespace {

struct Isa {
  static constexpr std::size_t kVectorBytes = 64;
};

}  // namespace

void fill_avx512_kernels(KernelTable* table) noexcept {
  table->name = "avx512";
  VectorKernels<Isa>{*table}.fill();
}

}  // namespace dunlin::op

#pragma clang attribute pop
