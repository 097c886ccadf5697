// Reduction kernels by operator and element kind, for one instruction set (op/vector_kernels.hpp), and the
// choice.
//
// Called by op/op.cpp only.  Kernels take unaligned data; `out` may be one of the operands, but must not
// overlap one otherwise.
#pragma once

#include <cstdint>

#include "datatype/basic.hpp"
#include "op/op.hpp"

namespace dunlin::op {

/// out[i] = a[i] op b[i] for i < n.
using CombineTwo = void (*)(const void* a, const void* b, void* out, std::int64_t n);
/// out[i] = operands[0][i] op operands[1][i] op ... from left to right; at least one operand.
using CombineMany = void (*)(const void* const* operands, std::int64_t k, void* out, std::int64_t n);

struct Kernel {
  CombineTwo two = nullptr;  // nullptr: the operator is not defined for this kind
  CombineMany many = nullptr;
  std::int64_t parts = 1;  // elements of the kernel in one element of the kind: 2 for sums of complex numbers
};

struct KernelTable {
  const char* name;  // of the instruction set
  Kernel kernels[kOperators][kBasicKinds];

  Kernel& at(Operator operation, Basic basic) noexcept {
    return kernels[static_cast<int>(operation)][static_cast<int>(basic)];
  }
  const Kernel& at(Operator operation, Basic basic) const noexcept {
    return kernels[static_cast<int>(operation)][static_cast<int>(basic)];
  }
};

/// Fills the kinds without vectors: pairs, 128 bits, products of complex numbers (op/scalar_kernels.cpp).
void fill_scalar_kernels(KernelTable* table) noexcept;
/// Fills the others with 16-byte vectors, which every 64-bit machine has (op/baseline_kernels.cpp).
void fill_baseline_kernels(KernelTable* table) noexcept;
/// Fills the others for what this processor offers and DUNLIN_INSTRUCTIONS allows (op/choose_*.cpp).
void fill_best_kernels(KernelTable* table) noexcept;
/// The instruction sets this processor can run, ended by nullptr, and the kernels of one of them; for tests.
const char* const* instruction_sets() noexcept;
void fill_kernels(const char* instruction_set, KernelTable* table) noexcept;

/// The table in use; made at first call.
const KernelTable& kernels() noexcept;

}  // namespace dunlin::op
