// The wider instruction sets of x86-64; chosen by op/choose_x86_64.cpp.
#pragma once

#include "op/kernels.hpp"

namespace dunlin::op {

void fill_avx2_kernels(KernelTable* table) noexcept;
void fill_avx512_kernels(KernelTable* table) noexcept;

}  // namespace dunlin::op
