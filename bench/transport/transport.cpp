// Latency, message rate and streaming of the shared-memory transport alone, beside a raw cache-line
// ping-pong.
//
// Two processes on two CPUs, no MPI above.  On machines whose CPUs change their distance (virtual ones)
// every sample is labelled by a raw ping-pong before and after: near (< 80 ns), far (> 130 ns); mixed
// samples are dropped. Usage: transport [seconds] [first CPU] [second CPU]
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/copy_short.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "transport/shm/transport.hpp"

namespace dunlin {
namespace {

using transport::Envelope;
using transport::Sent;

/// What the two processes agree by.
struct alignas(128) Shared {
  alignas(128) std::atomic<std::uint64_t> line{0};
  alignas(128) std::atomic<int> arrived[2]{};
  alignas(128) std::atomic<bool> is_over{false};
};

class CopyingInbox final : public transport::Inbox {
 public:
  void arrived(int, const Envelope& envelope, const transport::Payload& payload) noexcept override {
    if (envelope.bytes <= 64 && envelope.bytes <= payload.first.size()) [[likely]] {
      copy_short(buffer.data(), payload.first.data(), envelope.bytes);
    } else {
      payload.copy_to(buffer.data(), 0, envelope.bytes);
    }
    ++messages;
    bytes += envelope.bytes;
  }
  std::vector<std::byte> buffer = std::vector<std::byte>(1 << 20);
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

class Bench {
 public:
  Bench(int me, Shared& shared, int fd) : me_(me), shared_(shared), data_(1 << 20, std::byte{1}) {
    static constexpr int kPeers[] = {0, 1};
    auto opened = transport::shm::Transport::open({fd, 4096, me, kPeers});
    if (!opened) std::abort();
    transport_ = std::move(*opened);
    channel_ = static_cast<transport::shm::Channel*>(transport_->connect(1 - me));
  }

  /// Half round trip of a raw cache line, ns.
  double raw() {
    constexpr int kRounds = 2000;
    meet();
    if (me_ == 0) shared_.line.store(0);
    meet();
    const auto start = os::now_ns();
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t mine = 2 * round + std::uint64_t(me_);
      while (shared_.line.load(std::memory_order_acquire) != mine) os::pause();
      shared_.line.store(mine + 1, std::memory_order_release);
    }
    return double(os::now_ns() - start) / kRounds / 2;
  }

  /// Half round trip, ns.
  double latency(std::size_t bytes) {
    const int rounds = bytes > 100'000 ? 50 : bytes > 4096 ? 300 : 2000;
    meet();
    const auto start = os::now_ns();
    for (int round = 0; round < rounds; ++round) {
      if (me_ == 0) send(bytes);
      receive(1);
      if (me_ == 1) send(bytes);
    }
    return double(os::now_ns() - start) / rounds / 2;
  }

  /// Time per message of a stream in windows of 64, ns.
  double rate(std::size_t bytes) {
    const int windows = bytes > 1024 ? 20 : 200;
    meet();
    const auto start = os::now_ns();
    for (int window = 0; window < windows; ++window) {
      if (me_ == 0) {
        for (int message = 0; message < 64; ++message) send(bytes);
        receive(1);
      } else {
        receive(64);
        send(4);
      }
    }
    return double(os::now_ns() - start) / windows / 64;
  }

  /// Half round trip of a large message cut into chunks, ns.
  double stream(std::size_t bytes) {
    const std::size_t chunk = channel_->bytes_max();
    const int rounds = int(std::max<std::size_t>(4, (16u << 20) / bytes));
    meet();
    const auto start = os::now_ns();
    for (int round = 0; round < rounds; ++round) {
      for (int turn = 0; turn < 2; ++turn) {
        if (turn == me_) {
          for (std::size_t sent = 0; sent < bytes; sent += chunk) send(std::min(chunk, bytes - sent));
        } else {
          const std::uint64_t wanted = inbox_.bytes + bytes;
          while (inbox_.bytes != wanted) poll();
        }
      }
    }
    return double(os::now_ns() - start) / rounds / 2;
  }

  void meet() {
    shared_.arrived[me_].fetch_add(1);
    while (shared_.arrived[1 - me_].load() < shared_.arrived[me_].load()) os::pause();
  }

 private:
  void send(std::size_t bytes) {
    const Envelope envelope{1, me_, 7, std::uint32_t(bytes), transport::MessageKind::eager};
    while (channel_->try_send(envelope, {}, Source{data_.data(), bytes}) != Sent::yes) os::pause();
  }
  void poll() {
    if (transport_->poll_peer(1 - me_, inbox_) == 0) os::pause();
  }
  void receive(std::uint64_t messages) {
    const std::uint64_t wanted = inbox_.messages + messages;
    while (inbox_.messages < wanted) poll();
  }

  const int me_;
  Shared& shared_;
  std::unique_ptr<transport::shm::Transport> transport_;
  transport::shm::Channel* channel_;
  CopyingInbox inbox_;
  std::vector<std::byte> data_;
};

void run_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

struct Case {
  std::string name;
  double (Bench::*measure)(std::size_t);
  std::size_t bytes;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::size_t bytes : {0u, 8u, 40u, 64u, 256u, 512u, 1024u, 4096u, 16384u}) {
    all.push_back({"half round trip", &Bench::latency, bytes});
  }
  for (const std::size_t bytes : {8u, 64u, 512u, 1024u, 4096u, 16384u})
    all.push_back({"stream, a message", &Bench::rate, bytes});
  for (const std::size_t bytes : {65536u, 262144u, 1u << 20, 4u << 20}) {
    all.push_back({"large, half round trip", &Bench::stream, bytes});
  }
  return all;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void run(int me, Shared& shared, int fd, double seconds) {
  Bench bench(me, shared, fd);
  const std::vector<Case> all = cases();
  std::vector<std::vector<double>> near(all.size()), far(all.size());
  std::vector<double> raw_near, raw_far;
  const auto start = os::now_ns();
  for (;;) {
    bench.meet();
    if (me == 0) shared.is_over.store(double(os::now_ns() - start) > seconds * 1e9);
    bench.meet();
    if (shared.is_over.load()) break;
    for (std::size_t at = 0; at < all.size(); ++at) {
      const double before = bench.raw();
      const double value = (bench.*all[at].measure)(all[at].bytes);
      const double after = bench.raw();
      const bool is_near = before < 80 && after < 80;
      if (!is_near && (before < 130 || after < 130)) continue;
      (is_near ? near : far)[at].push_back(value);
      (is_near ? raw_near : raw_far).push_back(before);
    }
  }
  if (me == 1) return;
  std::printf("%-24s %9s %10s %10s   samples near/far\n", "ns (median)", "bytes", "near", "far");
  std::printf("%-24s %9d %10.1f %10.1f   %zu/%zu\n", "raw cache line", 8, median(raw_near), median(raw_far),
              raw_near.size(), raw_far.size());
  for (std::size_t at = 0; at < all.size(); ++at) {
    std::printf("%-24s %9zu %10.1f %10.1f   %zu/%zu\n", all[at].name.c_str(), all[at].bytes, median(near[at]),
                median(far[at]), near[at].size(), far[at].size());
  }
}

}  // namespace
}  // namespace dunlin

int main(int argc, char** argv) {
  using namespace dunlin;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  const int cpus[] = {argc > 2 ? std::atoi(argv[2]) : 0, argc > 3 ? std::atoi(argv[3]) : 1};
  const int fd = memfd_create("dunlin-bench", MFD_CLOEXEC);
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (fd < 0 || memory == MAP_FAILED) return 1;
  Shared& shared = *new (memory) Shared;
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int me = child == 0 ? 1 : 0;
  run_on(cpus[me]);
  run(me, shared, fd, seconds);
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return 0;
}
