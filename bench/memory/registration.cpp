// What it costs to make memory reachable, and what keeping it saves (issue rows X2, X3): the registration
// cache in front of real mappings of a peer's file, on and off, step by step; and the first and later passes
// over a fresh buffer.
//
// usage: registration
#include <fcntl.h>

#include <string>

#include "base/variable.hpp"
#include "bench/memory/mapper.hpp"
#include "bench/memory/processes.hpp"
#include "copy/copy.hpp"
#include "heap/heap.hpp"
#include "peer/registration_cache.hpp"

namespace {

using namespace dunlin;
using namespace dunlin::peer;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kFileBytes = 256 * kMiB;
constexpr int kTransfers = 200;

/// The steps of reaching a peer's memory for the first time and of one transfer from it, in us.
struct Steps {
  std::vector<double> make, get, attach, copy, release, all;
};

/// As without a cache: for each transfer the owner makes its bytes reachable, the peer gets the right to
/// them, maps them, copies (and takes the page faults of a new mapping), and lets go.
Steps steps_without_cache(int file, std::size_t buffers, std::size_t bytes) {
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  std::vector<std::byte> here(bytes);
  Steps steps;
  for (int i = 0; i < kTransfers; ++i) {
    const std::uint64_t at = std::uint64_t(i) % buffers * 2 * bytes;
    const double start = bench::now_us();
    const int made = memfd_create("made", MFD_CLOEXEC);
    if (made < 0 || ftruncate(made, off_t(bytes)) != 0) std::abort();
    const double is_made = bench::now_us();
    const int got = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (got < 0) std::abort();
    const double is_got = bench::now_us();
    bench::Mapper mapper(got, kFileBytes);
    std::uint64_t handle = 0;
    if (!mapper.try_register(at, at + bytes, handle)) std::abort();
    const double is_attached = bench::now_us();
    dunlin::copy::bytes(here.data(), reinterpret_cast<std::byte*>(handle), bytes);
    const double is_copied = bench::now_us();
    mapper.unregister(at, at + bytes, handle);
    close(got);
    close(made);
    const double end = bench::now_us();
    steps.make.push_back(is_made - start);
    steps.get.push_back(is_got - is_made);
    steps.attach.push_back(is_attached - is_got);
    steps.copy.push_back(is_copied - is_attached);
    steps.release.push_back(end - is_copied);
    steps.all.push_back(end - start);
  }
  return steps;
}

/// With the cache: what was mapped once is found.
Steps steps_with_cache(int file, std::size_t buffers, std::size_t bytes) {
  bench::Mapper mapper(file, kFileBytes);
  RegistrationCache cache(mapper, {.ranges_max = buffers + 1, .linger = 0});
  std::vector<std::byte> here(bytes);
  Steps steps;
  for (int i = 0; i < kTransfers; ++i) {
    // Far apart, so that ranges do not become one.
    const std::uint64_t at = std::uint64_t(i) % buffers * 2 * bytes;
    const double start = bench::now_us();
    Registration* found = cache.acquire(at, bytes);
    if (!found) std::abort();
    const double is_found = bench::now_us();
    dunlin::copy::bytes(here.data(), reinterpret_cast<std::byte*>(found->handle) + (at - found->begin),
                         bytes);
    const double is_copied = bench::now_us();
    cache.release(found);
    const double end = bench::now_us();
    steps.attach.push_back(is_found - start);
    steps.copy.push_back(is_copied - is_found);
    steps.release.push_back(end - is_copied);
    steps.all.push_back(end - start);
  }
  return steps;
}

void print_steps(std::size_t bytes, const char* cache, const Steps& steps) {
  std::printf("%10zu  %-5s", bytes, cache);
  for (const auto* each : {&steps.make, &steps.get, &steps.attach, &steps.copy, &steps.release, &steps.all})
    std::printf(" %8.2f", bench::median(*each));
  const double all = bench::median(steps.all);
  std::printf("  %3.0f %%\n", 100 * (all - bench::median(steps.copy)) / all);
}

void first_touch(bench::Process& self, std::size_t bytes, bool is_huge) {
  setenv("DUNLIN_HEAP_HUGE_PERCENT", is_huge ? "100" : "0", 1);
  setenv("DUNLIN_SHM_COPY", "shared_heap", 1);
  dunlin::Variable::read_all_again();
  auto* here = static_cast<std::byte*>(heap::allocate(bytes));
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
    auto* fresh = static_cast<std::byte*>(heap::allocate(bytes));
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
  std::printf(
      "a transfer from a peer's file, 8 buffers in turn, us (row X3)\n"
      "     bytes  cache     make      get   attach     copy  release      all  not copying\n");
  for (std::size_t bytes = 16 << 10; bytes <= 4 * kMiB; bytes *= 4) {
    print_steps(bytes, "off", steps_without_cache(file, 8, bytes));
    print_steps(bytes, "on", steps_with_cache(file, 8, bytes));
  }
  std::printf(
      "\na buffer new in the sender's heap, read by a peer, us\n"
      "     bytes     pages     attach  alloc+write  1st pass   2nd pass  ratio\n");
  int worst = 0;
  for (const std::size_t bytes : {256 << 10, 1 << 20, 4 << 20, 64 << 20})
    for (const bool is_huge : {true, false})
      worst |= bench::run(2, [&](bench::Process& self) { first_touch(self, bytes, is_huge); });
  return worst;
}
