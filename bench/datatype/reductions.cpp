// Reductions in cache and out of cache, beside the speed of reading the same memory.
//
// Bytes per second count what is read (two operands); `read` only adds up 512-bit words of one buffer of both
// sizes together, the best one core can do.
#include <benchmark/benchmark.h>
#include <mpi.h>

#include <cstring>
#include <vector>

#include "datatype/datatype.hpp"
#include "op/op.hpp"

namespace {

using namespace dunlin;

constexpr std::int64_t kInCache = 8 << 10;     // bytes per operand: both in the first-level cache
constexpr std::int64_t kOutOfCache = 64 << 20;  // bytes per operand

void reduce(benchmark::State& state, MPI_Op op_handle, MPI_Datatype type_handle) {
  init_predefined_datatypes();
  init_predefined_ops();
  const Op& op = *from_handle<Op>(op_handle);
  const Datatype& type = *from_handle<Datatype>(type_handle);
  const std::int64_t bytes = state.range(0);
  std::vector<char> in(static_cast<std::size_t>(bytes), 0), inout(static_cast<std::size_t>(bytes), 0);
  for (auto unused : state) {
    (void)unused;
    op.combine(in.data(), inout.data(), bytes / type.size(), type);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * bytes * 2);
}
BENCHMARK_CAPTURE(reduce, sum_double, MPI_SUM, MPI_DOUBLE)->Arg(kInCache)->Arg(kOutOfCache);
BENCHMARK_CAPTURE(reduce, sum_float, MPI_SUM, MPI_FLOAT)->Arg(kInCache)->Arg(kOutOfCache);
BENCHMARK_CAPTURE(reduce, sum_int32, MPI_SUM, MPI_INT32_T)->Arg(kInCache)->Arg(kOutOfCache);
BENCHMARK_CAPTURE(reduce, sum_int16, MPI_SUM, MPI_INT16_T)->Arg(kInCache)->Arg(kOutOfCache);
BENCHMARK_CAPTURE(reduce, max_double, MPI_MAX, MPI_DOUBLE)->Arg(kInCache)->Arg(kOutOfCache);
BENCHMARK_CAPTURE(reduce, max_int32, MPI_MAX, MPI_INT32_T)->Arg(kInCache)->Arg(kOutOfCache);
BENCHMARK_CAPTURE(reduce, prod_complex, MPI_PROD, MPI_C_DOUBLE_COMPLEX)->Arg(kInCache)->Arg(kOutOfCache);
BENCHMARK_CAPTURE(reduce, maxloc_pair, MPI_MAXLOC, MPI_2DOUBLE_PRECISION)->Arg(kInCache)->Arg(kOutOfCache);

/// out = a0 + ... + a7, as single-copy reductions of eight ranks do; bytes per second count the operands.
void reduce_eight(benchmark::State& state) {
  init_predefined_datatypes();
  init_predefined_ops();
  const Op& op = *from_handle<Op>(MPI_SUM);
  const Datatype& type = *from_handle<Datatype>(MPI_DOUBLE);
  const std::int64_t bytes = state.range(0);
  std::vector<std::vector<char>> buffers(8, std::vector<char>(static_cast<std::size_t>(bytes), 0));
  std::vector<char> out(static_cast<std::size_t>(bytes), 0);
  const void* operands[8];
  for (int i = 0; i < 8; ++i) operands[i] = buffers[i].data();
  for (auto unused : state) {
    (void)unused;
    op.combine_k(operands, out.data(), bytes / 8, type);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * bytes * 8);
}
BENCHMARK(reduce_eight)->Arg(2 << 10)->Arg(16 << 20);

void read_only(benchmark::State& state) {
  typedef std::uint64_t Words __attribute__((vector_size(64)));
  std::vector<Words> memory(static_cast<std::size_t>(state.range(0)) * 2 / sizeof(Words));
  for (Words& words : memory) words = Words{};
  for (auto unused : state) {
    (void)unused;
    Words sums[4] = {};
    for (std::size_t i = 0; i < memory.size(); i += 4)
      for (std::size_t j = 0; j < 4; ++j) sums[j] |= memory[i + j];
    benchmark::DoNotOptimize(sums);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0) * 2);
}
BENCHMARK(read_only)->Arg(kInCache)->Arg(kOutOfCache);

}  // namespace
