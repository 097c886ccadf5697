// Reduction kernels by operator and element kind, for one instruction set (op/vector_kernels.hpp), and the
// choice.
//
// Called by Op only (op/op.hpp).  Kernels take unaligned data; `out` may be one of the operands, but must not
// overlap one otherwise.
#pragma once

#include <cstdint>

#include "datatype/basic.hpp"

namespace dunlin::op {

/// Numbered as the handles of the standard ABI, from MPI_OP_NULL on.
enum class Operator : std::uint8_t {
  user = 0, sum = 1, min = 2, max = 3, prod = 4, band = 8, bor = 9, bxor = 10, land = 16, lor = 17, lxor = 18,
  minloc = 24, maxloc = 25, replace = 28, no_op = 29, count_ = 32,
};
inline constexpr int kOperators = static_cast<int>(Operator::count_);

/// out[i] = a[i] op b[i] for i < n elements of the kind.
using CombineTwo = void (*)(const void* a, const void* b, void* out, std::int64_t n);
/// out[i] = operands[0][i] op operands[1][i] op ... from left to right; at least one operand.
using CombineMany = void (*)(const void* const* operands, std::int64_t k, void* out, std::int64_t n);

struct Kernel {
  CombineTwo two = nullptr;  // nullptr: the operator is not defined for this kind
  CombineMany many = nullptr;
};

struct KernelTable {
  const char* name;  // of the instruction set
  Kernel kernels[kOperators][kBasicKinds];

  /// The kernels of one operator, by element kind.
  const Kernel* row(Operator operation) const noexcept { return kernels[static_cast<int>(operation)]; }
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

/// The table in use, and the element kind by the handle of a predefined type, from MPI_DATATYPE_NULL on;
/// written by init_predefined_ops.  Fixed addresses: every load that leads to a kernel has to wait for the
/// stores of the reduction before it, where their addresses agree in the lowest 12 bits (op/shortcut.hpp).
[[gnu::visibility("hidden")]] extern KernelTable kernels;
inline constexpr int kTypeHandles = 256;
[[gnu::visibility("hidden")]] extern Basic kind_of_handle[kTypeHandles];

}  // namespace dunlin::op
