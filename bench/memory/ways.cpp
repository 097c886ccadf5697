// One receiver copies from one sender by each mechanism, 4 KiB to 64 MiB: what the mechanism itself costs,
// without any protocol around it (issue row V4).  "clean": the source was not written since the last time;
// "fresh": the sender writes before, the receiver reads after, both timed.
//
// usage: ways [SECONDS [MECHANISM...]]
#include <numeric>

#include "base/variable.hpp"
#include "bench/memory/processes.hpp"
#include "heap/heap.hpp"
#include "protocol/shared_transfer.hpp"

namespace {

using dunlin::peer::Piece;
using dunlin::peer::RemotePiece;
using dunlin::protocol::SharedTransfer;

constexpr std::size_t kBytesMax = std::size_t{64} << 20;

volatile std::uint64_t sink;
void read_all(const std::byte* at, std::size_t bytes) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(at);
  sink = std::accumulate(words, words + bytes / 8, std::uint64_t{0});
}

/// The copy of one message: by the receiver alone, `copies` times, or, for "both", by both sides.
void copy_message(bench::Process& self, dunlin::peer::PeerMemory& peer, std::byte* buffer,
                  std::size_t bytes, SharedTransfer* transfer, int copies) {
  const std::uint64_t from = self.board().address[0];
  auto& done = self.board().ball;
  if (self.rank() == 0) {
    while (transfer && done.load(std::memory_order_acquire) == 0) help_transfer(*transfer, peer, buffer);
    return;
  }
  const Piece to{buffer, bytes};
  const RemotePiece source{from, bytes};
  const bool is_shared = self.board().address[2] != 0;
  static dunlin::protocol::SourceHistory history;
  const dunlin::protocol::WhileWaiting nothing{[](void*) noexcept {}, nullptr};
  const bool has_arrived =
      is_shared && try_receive_shared(peer, self.board().address[2], from, buffer, bytes, history, {},
                                      nothing) == dunlin::protocol::SharedReceive::arrived;
  for (; !has_arrived && copies > 0; --copies)
    if (!peer.try_read({&to, 1}, {&source, 1})) std::abort();
  done.store(1, std::memory_order_release);
}

/// One message from rank 0 to rank 1; the time of the whole on rank 1's clock.  What one side copies and
/// nobody writes is copied several times in a row, or the clock would weigh as much as 4 KiB.
double transfer(bench::Process& self, dunlin::peer::PeerMemory& peer, std::byte* buffer, std::size_t bytes,
                bool is_both, bool is_fresh, int value) {
  SharedTransfer* shared = nullptr;
  if (self.rank() == 0) {
    if (is_both) shared = dunlin::protocol::open_transfer(buffer, bytes);
    self.board().address[2] = reinterpret_cast<std::uint64_t>(shared);
    self.board().ball.store(0);
  }
  const int copies = is_fresh || is_both ? 1 : int(std::max<std::size_t>(1, (std::size_t{1} << 20) / bytes));
  self.barrier();
  const double start = bench::now_us();
  if (is_fresh) {
    if (self.rank() == 0) std::memset(buffer, value, bytes);
    self.barrier();
  }
  copy_message(self, peer, buffer, bytes, shared, copies);
  if (is_fresh && self.rank() == 1) read_all(buffer, bytes);
  const double elapsed = (bench::now_us() - start) / copies;
  self.barrier();
  if (shared) close_transfer(shared);
  return elapsed;
}

void measure(bench::Process& self, const char* mechanism, double seconds) {
  const bool is_both = std::strcmp(mechanism, "both") == 0;
  setenv("DUNLIN_SHM_COPY", is_both ? "shared_heap" : mechanism, 1);
  dunlin::Variable::read_all_again();
  auto* buffer = static_cast<std::byte*>(dunlin::heap::allocate(kBytesMax));
  std::memset(buffer, 1, kBytesMax);
  self.publish(buffer);
  auto peer = self.connect(1 - self.rank());
  self.board().result[self.rank()] = peer != nullptr;
  self.barrier();
  if (!peer || !self.board().result[1 - self.rank()]) return;
  for (std::size_t bytes = 4096; bytes <= kBytesMax; bytes *= 4) {
    for (const bool is_fresh : {false, true}) {
      std::vector<double> by_state[2];
      const double end = bench::now_us() + seconds * 1e6 / 20;
      for (int sample = 0;; ++sample) {
        const double before = self.probe_ns();
        std::vector<double> times;
        for (int i = 0; i < 9; ++i)
          times.push_back(transfer(self, *peer, buffer, bytes, is_both, is_fresh, sample + i));
        const double after = self.probe_ns();
        const bool is_near = before < 80 && after < 80;
        const bool is_far = before > 130 && after > 130;
        if (is_near || is_far) by_state[is_far].push_back(bench::median(times));
        self.barrier();
        if (self.rank() == 0) self.board().result[0] = bench::now_us() > end;
        self.barrier();
        if (self.board().result[0] != 0) break;
      }
      if (self.rank() == 1)
        for (const int state : {0, 1})
          if (!by_state[state].empty())
            std::printf("%-12s %-5s %-5s %10zu %10.2f %8.2f\n", mechanism, is_fresh ? "fresh" : "clean",
                        state ? "far" : "near", bytes, bench::median(by_state[state]),
                        double(bytes) / bench::median(by_state[state]) * 1e-3);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 10;
  std::printf("mechanism    data  state      bytes         us     GB/s\n");
  std::vector<const char*> mechanisms(arguments + std::min(count, 2), arguments + count);
  if (mechanisms.empty()) mechanisms = {"both", "shared_heap", "xpmem", "cma"};
  int worst = 0;
  for (const char* mechanism : mechanisms)
    worst |= bench::run(2, [&](bench::Process& self) { measure(self, mechanism, seconds); });
  return worst;
}
