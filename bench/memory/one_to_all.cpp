// One process has 1 MB; all others read it at once, by mapping and by system call (issue rows X3, X4): mapped
// reads scale with the processes, system calls contend for the source's pages.
//
// usage: one_to_all [BYTES] [PROCESSES...]
#include <string>

#include "base/variable.hpp"
#include "bench/memory/processes.hpp"
#include "copy/copy.hpp"
#include "heap/heap.hpp"

namespace {

using dunlin::peer::Piece;
using dunlin::peer::RemotePiece;

constexpr int kSamples = 15;

void measure(bench::Process& self, const char* mechanism, std::size_t bytes) {
  setenv("DUNLIN_SHM_COPY", mechanism, 1);
  dunlin::Variable::read_all_again();
  auto* buffer = static_cast<std::byte*>(dunlin::heap::allocate(bytes));
  std::memset(buffer, self.rank() + 1, bytes);
  self.publish(buffer);
  const double connect_start = bench::now_us();
  auto source = self.rank() ? self.connect(0) : nullptr;
  const double connect_us = bench::now_us() - connect_start;
  const RemotePiece from{self.board().address[0], bytes};
  const Piece to{buffer, bytes};
  std::vector<double> samples;
  double first_us = 0;
  bool has_failed = self.rank() && !source;
  for (int sample = -1; sample < kSamples; ++sample) {
    self.barrier();
    const double start = bench::now_us();
    if (source) has_failed |= !source->try_read({&to, 1}, {&from, 1});
    self.board().end[self.rank()] = bench::now_us();
    const double own = self.board().end[self.rank()] - start;
    self.board().begin[self.rank()] = self.rank() ? start : self.board().end[0];
    self.barrier();
    const double all = self.span_us();
    if (sample < 0)
      first_us = own;
    else
      samples.push_back(all);
  }
  self.board().result[self.rank()] = has_failed ? -1 : first_us;
  self.barrier();
  const double all_us = bench::median(samples);
  if (self.rank() == 1) {
    if (has_failed)
      std::printf("%4d  %-12s does not work here\n", self.count(), mechanism);
    else
      std::printf("%4d  %-12s %10.1f %10.1f %10.1f %10.2f\n", self.count(), mechanism, connect_us, first_us,
                  all_us, double(bytes) * (self.count() - 1) / all_us * 1e-3);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::size_t bytes = count > 1 ? std::strtoul(arguments[1], nullptr, 0) : std::size_t{1} << 20;
  std::vector<int> processes;
  for (int i = 2; i < count; ++i) processes.push_back(std::atoi(arguments[i]));
  if (processes.empty()) processes = {2, 4, 8, 16};
  std::printf("one-to-all read of %zu bytes; times in us, median of %d\n", bytes, kSamples);
  std::printf("   n  mechanism       connect first read   all read  GB/s in all\n");
  int worst = 0;
  for (const int n : processes)
    for (const char* mechanism : {"shared_heap", "xpmem", "cma"})
      worst |= bench::run(std::min(n, bench::kProcessesMax),
                          [&](bench::Process& self) { measure(self, mechanism, bytes); });
  return worst;
}
