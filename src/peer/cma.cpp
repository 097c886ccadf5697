// Cross memory attach: process_vm_readv and process_vm_writev copy between two processes inside the kernel.
//
// Reaches any address of the peer, needs the permission to trace it, and pays for pinning every page: with 4
// KiB pages it is 3-4 times slower than a mapped copy.  Many readers of one source contend for its page
// tables, so each counts itself in the source's control page and waits a little while too many are at work.
// docs/memory.md, "CMA".
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/assert.hpp"
#include "base/variable.hpp"
#include "os/environment.hpp"
#include "peer/provider.hpp"

namespace dunlin::peer {
namespace {

IntVariable readers_max{
    "CMA_READERS_MAX", 4, "",
    "how many processes may read one process by system calls at a time; others let them go first", 1};

constexpr std::size_t kPiecesMax = 64;                       // per system call; the kernel allows 1024
constexpr std::size_t kCallBytesMax = std::size_t{4} << 20;  // so that other readers get their turn
constexpr int kTurnYieldsMax = 1000;

/// Counts this process among the readers of `page` for a scope.  The limit is a courtesy, not a lock: who has
/// given its CPU away often enough ignores it (a reader that died leaves its count behind).
class Turn {
 public:
  explicit Turn(heap::Control* page) noexcept : page_(page) {
    if (!page_) return;
    const auto limit = std::uint32_t(readers_max.get());
    // Relaxed: the count orders nothing.  Those that wait are not in it, or they would wait for each other.
    for (int yields = 0; yields < kTurnYieldsMax; ++yields) {
      if (page_->readers.load(std::memory_order_relaxed) < limit) break;
      sched_yield();
    }
    page_->readers.fetch_add(1, std::memory_order_relaxed);
  }
  ~Turn() {
    if (page_) page_->readers.fetch_sub(1, std::memory_order_relaxed);
  }
  Turn(const Turn&) = delete;

 private:
  heap::Control* page_;
};

/// A list of pieces as iovecs, a batch at a time.
template <class P>
class Batches {
 public:
  explicit Batches(std::span<const P> pieces) noexcept : pieces_(pieces) {}

  /// Fills `out` with up to `bytes_max` bytes from the present position; returns the number of pieces.
  std::size_t fill(iovec (&out)[kPiecesMax], std::size_t bytes_max, std::size_t& bytes) noexcept {
    std::size_t count = 0;
    std::size_t skip = done_;
    bytes = 0;
    for (std::size_t i = index_; i < pieces_.size() && count < kPiecesMax && bytes < bytes_max;
         ++i, skip = 0) {
      const std::size_t part = std::min(pieces_[i].bytes - skip, bytes_max - bytes);
      if (part == 0) continue;
      out[count++] = {reinterpret_cast<void*>(std::uintptr_t(pieces_[i].at) + skip), part};
      bytes += part;
    }
    return count;
  }
  void advance(std::size_t bytes) noexcept {
    for (; bytes > 0; ++index_, done_ = 0) {
      DUNLIN_ASSERT(index_ < pieces_.size());
      const std::size_t left = pieces_[index_].bytes - done_;
      if (bytes < left) {
        done_ += bytes;
        return;
      }
      bytes -= left;
    }
  }

 private:
  std::span<const P> pieces_;
  std::size_t index_ = 0;
  std::size_t done_ = 0;
};

using Move = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                         unsigned long) noexcept;

class CmaPeer final : public PeerMemory {
 public:
  CmaPeer(std::uint32_t pid, std::shared_ptr<PeerControl> control) noexcept
      : pid_(pid_t(pid)), control_(std::move(control)) {}

  const char* name() const noexcept override { return "cma"; }
  bool can_map() const noexcept override { return false; }
  bool can_copy_anywhere() const noexcept override { return true; }
  Mapping map(std::uint64_t, std::size_t) noexcept override { return {}; }
  bool is_still_valid(const Mapping&) const noexcept override { return false; }
  bool try_read(std::span<const Piece> to, std::span<const RemotePiece> from,
                std::uint64_t) noexcept override {
    return try_move(to, from, process_vm_readv);
  }
  bool try_write(std::span<const RemotePiece> to, std::span<const Piece> from,
                 std::uint64_t) noexcept override {
    return try_move(from, to, process_vm_writev);
  }

 private:
  bool try_move(std::span<const Piece> local, std::span<const RemotePiece> remote, Move move) noexcept {
    Batches here(local);
    Batches there(remote);
    while (true) {
      iovec local_list[kPiecesMax];
      iovec remote_list[kPiecesMax];
      std::size_t local_bytes = 0;
      std::size_t remote_bytes = 0;
      std::size_t remote_count = there.fill(remote_list, kCallBytesMax, remote_bytes);
      const std::size_t local_count = here.fill(local_list, remote_bytes, local_bytes);
      if (remote_count == 0) return true;
      DUNLIN_ASSERT(local_count > 0);  // the totals are equal
      if (local_bytes < remote_bytes) remote_count = there.fill(remote_list, local_bytes, remote_bytes);
      const Turn turn(control_ ? &control_->page() : nullptr);
      const ssize_t moved = move(pid_, local_list, local_count, remote_list, remote_count, 0);
      if (moved <= 0) return false;  // EPERM, EFAULT, ESRCH: the caller takes its next way
      here.advance(std::size_t(moved));
      there.advance(std::size_t(moved));
    }
  }

  pid_t pid_;
  std::shared_ptr<PeerControl> control_;
};

class CmaProvider final : public Provider {
 public:
  const char* name() const noexcept override { return "cma"; }
  void publish(PublishedAddress&) noexcept override {
    // Where yama restricts tracing to descendants, allow the other ranks: descendants of our mpirun; ranks of
    // another launcher have no ancestor that we know.  EINVAL: a kernel without yama.
    const int launcher = os::environment_number("DUNLIN_LAUNCH_PID", 0);
    prctl(PR_SET_PTRACER, launcher > 0 ? (unsigned long)launcher : PR_SET_PTRACER_ANY, 0, 0, 0);
  }
  std::unique_ptr<PeerMemory> connect(const PublishedAddress& peer,
                                      const std::shared_ptr<PeerControl>& control) noexcept override {
    auto made = std::make_unique<CmaPeer>(peer.pid, control);
    std::uint64_t read = 0;
    const Piece to{reinterpret_cast<std::byte*>(&read), sizeof read};
    const RemotePiece from{peer.nonce_at, sizeof read};
    errno = 0;
    if (!made->try_read({&to, 1}, {&from, 1}, 0)) {
      why_not_ =
          errno == ENOSYS ? "this kernel has no process_vm_readv"
          : errno == EPERM
              ? "the kernel or the container's seccomp profile does not permit process_vm_readv (EPERM)"
              : "process_vm_readv does not reach the peer";
      return nullptr;
    }
    if (read != peer.nonce) {
      why_not_ = "the peer's process number means another process here (another container)";
      return nullptr;
    }
    why_not_ = "";
    return made;
  }
  const char* why_not() const noexcept override { return why_not_; }

 private:
  const char* why_not_ = "";
};

}  // namespace

Provider& cma_provider() noexcept {
  static CmaProvider provider;
  return provider;
}

}  // namespace dunlin::peer
