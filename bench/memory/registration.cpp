// What it costs to make memory reachable, and what keeping it saves (issue rows X2, X3): the registration
// cache in front of real mappings of 1 MiB of a peer's file, on and off; and the first and later passes over
// a fresh buffer.
//
// usage: registration
#include <fcntl.h>

#include "base/variable.hpp"
#include "bench/memory/processes.hpp"
#include "memory/copy.hpp"
#include "memory/registration_cache.hpp"

namespace {

using namespace dunlin::memory;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kFileBytes = 256 * kMiB;

/// Maps ranges of a file, as an attachment of XPMEM does with a process.
class Mapper final : public Registrar {
 public:
  explicit Mapper(int file) : file_(file) {}
  bool try_register(std::uint64_t begin, std::uint64_t end, std::uint64_t& handle) noexcept override {
    void* mapped = mmap(nullptr, end - begin, PROT_READ, MAP_SHARED, file_, off_t(begin));
    handle = reinterpret_cast<std::uint64_t>(mapped);
    return mapped != MAP_FAILED;
  }
  void unregister(std::uint64_t begin, std::uint64_t end, std::uint64_t handle) noexcept override {
    munmap(reinterpret_cast<void*>(handle), end - begin);
  }

 private:
  int file_;
};

double cache_us(int file, bool is_on, std::size_t buffers, std::size_t bytes) {
  Mapper mapper(file);
  RegistrationCache cache(mapper, {.ranges_max = is_on ? buffers + 1 : 1, .linger = 0});
  std::vector<std::byte> here(bytes);
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    // Far apart, so that ranges do not become one.
    const std::uint64_t at = std::uint64_t(i) % buffers * 2 * bytes;
    const double start = bench::now_us();
    Registration* found = cache.acquire(at, bytes);
    if (!found) std::abort();
    dunlin::memory::copy(here.data(), reinterpret_cast<std::byte*>(found->handle) + (at - found->begin),
                         bytes);
    cache.release(found);
    if (!is_on) cache.clear();
    times.push_back(bench::now_us() - start);
  }
  return bench::median(times);
}

void first_touch(bench::Process& self, std::size_t bytes, bool is_huge) {
  setenv("DUNLIN_HEAP_HUGE_BYTES_MAX", is_huge ? "1g" : "0", 1);
  setenv("DUNLIN_SHM_COPY", "shared_heap", 1);
  dunlin::Variable::read_all_again();
  auto* here = static_cast<std::byte*>(allocate(bytes));
  std::memset(here, 1, bytes);
  self.publish(here);
  const double attach_start = bench::now_us();
  auto peer = self.connect(1 - self.rank());
  const double attach_us = bench::now_us() - attach_start;
  double alloc_us = 0;
  double passes[3] = {};
  constexpr int kRounds = 7;
  std::vector<double> allocs, first, second, third;
  for (int round = 0; round < kRounds; ++round) {
    const double start = bench::now_us();
    auto* fresh = static_cast<std::byte*>(allocate(bytes));
    std::memset(fresh, round, bytes);
    alloc_us = bench::now_us() - start;
    self.board().address[self.rank()] = reinterpret_cast<std::uint64_t>(fresh);
    self.barrier();
    for (double& pass : passes) {
      const double pass_start = bench::now_us();
      if (self.rank() == 1) {
        const RemotePiece from{self.board().address[0], bytes};
        const Piece to{here, bytes};
        if (!peer || !peer->try_read({&to, 1}, {&from, 1})) std::abort();
      }
      pass = bench::now_us() - pass_start;
      self.barrier();
    }
    allocs.push_back(alloc_us), first.push_back(passes[0]), second.push_back(passes[1]),
        third.push_back(passes[2]);
  }
  if (self.rank() == 1)
    std::printf("%8zu KiB  %-5s %10.1f %12.1f %10.1f %10.1f %6.2f\n", bytes >> 10, is_huge ? "huge" : "small",
                attach_us, bench::median(allocs), bench::median(first), bench::median(second),
                bench::median(first) / bench::median(second));
}

}  // namespace

int main() {
  const int file = memfd_create("bench", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, kFileBytes) != 0) return 1;
  void* whole = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (whole == MAP_FAILED) return 1;
  std::memset(whole, 1, kFileBytes);
  std::printf("a transfer from a mapped file, us; 8 buffers in turn\n     bytes  cache off   cache on\n");
  for (std::size_t bytes = 16 << 10; bytes <= 4 * kMiB; bytes *= 4)
    std::printf("%10zu %10.1f %10.1f\n", bytes, cache_us(file, false, 8, bytes),
                cache_us(file, true, 8, bytes));
  std::printf(
      "\na buffer new in the sender's heap, read by a peer, us\n"
      "     bytes     pages     attach  alloc+write  1st pass   2nd pass  ratio\n");
  int worst = 0;
  for (const std::size_t bytes : {256 << 10, 1 << 20, 4 << 20, 64 << 20})
    for (const bool is_huge : {true, false})
      worst |= bench::run(2, [&](bench::Process& self) { first_touch(self, bytes, is_huge); });
  return worst;
}
