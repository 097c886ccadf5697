// Two threads on two processors play sender and receiver of a shared transfer (protocol/shared_transfer.hpp):
// caches and memory do not care whether threads or processes copy, and threads reach each other everywhere.
#include "measure.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/machine_settings.hpp"
#include "base/variable.hpp"
#include "heap/heap.hpp"
#include "os/clock.hpp"
#include "protocol/shared_transfer.hpp"

namespace {

using namespace dunlin;
using namespace dunlin::peer;
using namespace dunlin::protocol;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kBytesMax = 64 * kMiB;
constexpr double kPointNs = 1.5e8;  // per point: 20 points stay below 10 s with what surrounds them
constexpr double kGain = 0.95;      // another value has to be this much better than the preset

/// The other thread's memory is our own.
class OwnMemory final : public PeerMemory {
 public:
  const char* name() const noexcept override { return "own"; }
  bool can_map() const noexcept override { return true; }
  bool can_copy_anywhere() const noexcept override { return false; }
  Mapping map(std::uint64_t at, std::size_t) noexcept override {
    return {reinterpret_cast<std::byte*>(at), 0};
  }
  bool is_still_valid(const Mapping&) const noexcept override { return true; }
  bool try_read(std::span<const Piece>, std::span<const RemotePiece>, std::uint64_t) noexcept override {
    return false;
  }
  bool try_write(std::span<const RemotePiece>, std::span<const Piece>, std::uint64_t) noexcept override {
    return false;
  }
};

void set(const char* name, std::size_t value) {
  dunlin::Variable::find(name)->try_set(std::to_string(value).c_str());
}

/// Binds the calling thread to the `index`-th of the processors it may use.
bool try_bind(int index) {
  cpu_set_t all, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) return false;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(std::size_t(cpu), &all) && index-- == 0) CPU_SET(std::size_t(cpu), &one);
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

/// Sender and receiver, and the buffers between them.
class Pair {
 public:
  Pair()
      : from_(static_cast<std::byte*>(heap::allocate(kBytesMax))),
        to_(static_cast<std::byte*>(heap::allocate(kBytesMax))) {
    if (!can_work()) return;
    std::memset(from_, 1, kBytesMax);
    std::memset(to_, 2, kBytesMax);
  }
  ~Pair() {
    heap::release(from_);
    heap::release(to_);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  bool can_work() const {
    return from_ && to_ && heap::is_shared(from_, kBytesMax) && heap::is_shared(to_, kBytesMax);
  }
  const std::byte* from() const { return from_; }

  /// Median time of one transfer under the present settings, in ns; by the receiver alone or by both.
  double time_ns(std::size_t bytes, bool is_both) {
    std::vector<double> times;
    SourceHistory history;
    const std::int64_t end = dunlin::os::now_ns() + std::int64_t(kPointNs);
    do {
      SharedTransfer* const transfer = open_transfer(from_, bytes);
      if (!transfer) return 0;
      is_over_ = false;
      is_ready_ = !is_both;
      offered_.store(is_both ? transfer : nullptr, std::memory_order_release);
      while (!is_ready_) {
      }
      const std::int64_t begin = dunlin::os::now_ns();
      try_receive_shared(memory_, reinterpret_cast<std::uint64_t>(transfer),
                         reinterpret_cast<std::uint64_t>(from_), to_, bytes, history, {},
                         {[](void*) noexcept {}, nullptr});
      times.push_back(double(dunlin::os::now_ns() - begin));
      is_over_ = true;
      if (is_both)
        while (offered_.load(std::memory_order_acquire)) {
        }
      close_transfer(transfer);
    } while (dunlin::os::now_ns() < end || times.size() < 5);
    std::nth_element(times.begin(), times.begin() + long(times.size() / 2), times.end());
    return times[times.size() / 2];
  }

  /// The sender's thread.
  void send_until(const std::atomic<bool>& stop) {
    while (!stop) {
      SharedTransfer* const transfer = offered_.load(std::memory_order_acquire);
      if (!transfer) continue;
      is_ready_ = true;
      while (!is_over_) help_transfer(*transfer, memory_, from_);
      offered_.store(nullptr, std::memory_order_release);
    }
  }

 private:
  OwnMemory memory_;
  std::byte* from_;
  std::byte* to_;
  // receiver sets, sender clears when it has let go
  alignas(64) std::atomic<SharedTransfer*> offered_ = nullptr;
  alignas(64) std::atomic<bool> is_ready_ = false;  // the sender waits for the receiver to begin
  alignas(64) std::atomic<bool> is_over_ = false;   // the receiver has everything
};

/// From which size on two copy faster than one.
std::size_t find_share_bytes_min(Pair& pair) {
  constexpr std::size_t kSmallest = 8 << 10, kLargest = 256 << 10;
  set("COPY_SHARE_BYTES_MIN", kSmallest);
  std::size_t found = kLargest;
  for (std::size_t bytes = kLargest / 2; bytes >= kSmallest; bytes /= 2) {
    const double alone = pair.time_ns(bytes, false), both = pair.time_ns(bytes, true);
    std::printf("  %7zu KiB: one side %8.2f us, both %8.2f us\n", bytes >> 10, alone * 1e-3, both * 1e-3);
    if (both > alone * kGain) break;
    found = bytes;
  }
  return found;
}

std::size_t find_chunk_bytes(Pair& pair) {
  std::size_t best = 64 << 10;
  set("COPY_SHARE_CHUNK_BYTES", best);
  double best_ns = pair.time_ns(kMiB, true);
  std::printf("  1 MiB in chunks of %4zu KiB %8.2f us\n", best >> 10, best_ns * 1e-3);
  for (const std::size_t chunk : {16 << 10, 32 << 10, 128 << 10, 256 << 10}) {
    set("COPY_SHARE_CHUNK_BYTES", chunk);
    const double ns = pair.time_ns(kMiB, true);
    std::printf("  1 MiB in chunks of %4zu KiB %8.2f us\n", chunk >> 10, ns * 1e-3);
    if (ns < best_ns * kGain) best = chunk, best_ns = ns;
  }
  return best;
}

/// From which size on stores around the cache are faster; 0 where none was: the library's own rule.
std::size_t find_stream_bytes_min(Pair& pair) {
  std::size_t found = 0;
  for (std::size_t bytes = kBytesMax; bytes >= 4 * kMiB; bytes /= 2) {
    set("COPY_STREAM_BYTES_MIN", 2 * kBytesMax);
    const double through = pair.time_ns(bytes, true);
    set("COPY_STREAM_BYTES_MIN", bytes);
    const double around = pair.time_ns(bytes, true);
    std::printf("  %7zu MiB: through the cache %8.1f us, around it %8.1f us\n", bytes >> 20, through * 1e-3,
                around * 1e-3);
    if (around > through * kGain) break;
    found = bytes;
  }
  return found;
}

constexpr std::size_t kLookBytes = 64 << 10;

/// Median time of looks at the sender's buffer, each `step` bytes behind the last.
std::size_t time_looks_ns(const Pair& pair, std::size_t step) {
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < kBytesMax / (kLookBytes + step); ++i)
    times.push_back(SourceHistory::time_look_ns(pair.from() + i * step, kLookBytes));
  std::nth_element(times.begin(), times.begin() + long(times.size() / 2), times.end());
  return std::size_t(times[times.size() / 2]);
}

/// Three halves of a look at the own cache; lines of a near core's take twice as long and more.
std::size_t find_near_lines_ns(Pair& pair) {
  const std::size_t own_ns = time_looks_ns(pair, 0);
  std::printf("  32 lines from the own cache %zu ns\n", own_ns);
  return own_ns * 3 / 2;
}

/// Two thirds of a look at memory: lines of a distant cache take as long or longer, those of a near one half
/// of it.
std::size_t find_slow_lines_ns(Pair& pair) {
  const std::size_t memory_ns = time_looks_ns(pair, kLookBytes + 4096);
  std::printf("  32 lines from memory %zu ns\n", memory_ns);
  return memory_ns * 2 / 3;
}

}  // namespace

int measure_machine() {
  Pair pair;
  if (!pair.can_work() || !try_bind(0)) {
    std::printf("Nothing to measure: %s\n",
                pair.can_work() ? "only one processor may be used" : "the shared heap does not work here");
    return 1;
  }
  std::atomic<bool> stop = false;
  std::thread sender([&] {
    try_bind(1);
    pair.send_until(stop);
  });
  std::printf("Measuring on two processors, 10 s:\n");
  std::string text = "# Measured by dunlin-info --measure; delete this file to go back to the presets.\n";
  std::size_t (*const finders[])(Pair&) = {find_share_bytes_min, find_chunk_bytes, find_stream_bytes_min,
                                           find_near_lines_ns, find_slow_lines_ns};
  for (std::size_t i = 0; i < std::size(finders); ++i) {
    const std::size_t value = finders[i](pair);
    set(kMeasuredSettings[i], value);
    text += std::string(kMeasuredSettings[i]) + "=" + std::to_string(value) + "\n";
  }
  stop = true;
  sender.join();
  const std::string path = dunlin::machine_settings_path();
  const bool is_written = dunlin::try_write_machine_settings(text);
  std::printf("%s\n%s %s%s%s\n", text.c_str(), is_written ? "Written to" : "Cannot write", path.c_str(),
              is_written ? "" : ": ", is_written ? "" : std::strerror(errno));
  return is_written ? 0 : 1;
}
