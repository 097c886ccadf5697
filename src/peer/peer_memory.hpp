// Reaching the memory of one peer process on this node, without its help (docs/memory.md).
//
// Called by protocol/ (rendezvous), coll/shared and rma.  The way there: every rank publishes
// `published_address()` (boot carries the bytes), and makes a PeerMemory of what a peer published with
// `connect`.  `connect` has really read the peer's memory by every mechanism it kept, so what it returns
// works; a nullptr means that no mechanism does and bytes go by copy-in/copy-out.  Mechanisms are the files
// shared_heap_provider, xpmem, cma and knem; registry.cpp lists them in the order of preference;
// DUNLIN_SHM_COPY chooses one.
//
// Every operation may decline for the bytes at hand (a buffer on the stack is not in the shared heap, a
// kernel may forbid), and says so by its result: the caller then takes its next way for this operation.
// Nothing here waits for a peer to do something.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/err.hpp"

namespace dunlin::peer {

/// Contiguous bytes of this process.
struct Piece {
  std::byte* at;
  std::size_t bytes;
};

/// Contiguous bytes of the peer, at the address the peer itself uses.
struct RemotePiece {
  std::uint64_t at;
  std::size_t bytes;
};

/// What `map` gives: a pointer that plain loads and stores may use until the transfer ends, and what
/// `is_still_valid` needs to judge that transfer afterwards.  False when the bytes cannot be mapped.
struct Mapping {
  std::byte* at = nullptr;
  std::uint64_t generation = 0;
  /// Windows that the owner has in memory of its own, which others may update while it sends that memory
  /// (MPI 5.0, 12.7).  nullptr: the owner may be refused writing, and so may we.
  const std::atomic<std::uint32_t>* open_windows = nullptr;
  /// Whether bytes may be stored back as they are (copy::take_over), asked right before: neither update is
  /// lost.
  bool may_take_over() const noexcept {
    // Relaxed: making a window is collective, and who has heard of it by any message sees the count.
    return open_windows && open_windows->load(std::memory_order_relaxed) == 0;
  }
  explicit operator bool() const noexcept { return at != nullptr; }
};

/// A mapping that outlasts transfers (lasting_mapping.hpp).
struct Held {
  Mapping mapping;                                      // false: declined, in this generation at least
  const std::atomic<std::uint64_t>* present = nullptr;  // the generation of now; nullptr: it never changes
  std::uint64_t generation = 0;  // in which it was declined; an odd one: it was just changing
  void* kept = nullptr;          // what the mechanism keeps for it
};

/// The memory of one peer.
/// Thread safety: all members may be called by several threads at once.
class PeerMemory {
 public:
  virtual ~PeerMemory() = default;

  /// Name of the mechanism ("shared_heap", "xpmem", "cma", "knem"; several joined by '+').
  virtual const char* name() const noexcept = 0;

  /// Whether `map` can ever succeed.
  virtual bool can_map() const noexcept = 0;
  /// Whether `try_read` and `try_write` reach any address of the peer (CMA does, the shared heap does not).
  virtual bool can_copy_anywhere() const noexcept = 0;
  /// Whether they do so only with a cookie.
  virtual bool needs_cookie() const noexcept { return !can_copy_anywhere(); }

  /// A pointer to `bytes` bytes at the peer's address `at`, or a false Mapping.  The pages belong to the
  /// peer: the pointer may be used only while the peer keeps the buffer (until the transfer is acknowledged).
  virtual Mapping map(std::uint64_t at, std::size_t bytes) noexcept = 0;

  /// As `map`, of memory that the peer keeps over its forks (heap::Kept); the pointer stays usable until
  /// `let_go`.
  virtual Held hold([[maybe_unused]] std::uint64_t at, [[maybe_unused]] std::size_t bytes) noexcept {
    return {};
  }
  /// Of what `hold` gave, also where it declined.
  virtual void let_go([[maybe_unused]] const Held& held) noexcept {}

  /// To be asked after the last load or store through `mapping` and before the peer is told that the transfer
  /// is done: false when the peer's memory changed its backing meanwhile (it forked), and then the whole
  /// transfer has to be done again by another way (`map` will decline; `try_read`/`try_write` work, as does
  /// copy-in/copy-out).
  virtual bool is_still_valid(const Mapping& mapping) const noexcept = 0;

  /// Copies from the peer's pieces into ours (both lists in order; the totals must be equal).  False:
  /// declined; some bytes of `to` may have been written already, and the caller moves all of them by its next
  /// way. `cookie` is what the peer's `expose` returned for the pieces (0 where none was needed).
  virtual bool try_read(std::span<const Piece> to, std::span<const RemotePiece> from,
                        std::uint64_t cookie = 0) noexcept = 0;
  /// Copies our pieces into the peer's; as `try_read` otherwise.
  virtual bool try_write(std::span<const RemotePiece> to, std::span<const Piece> from,
                         std::uint64_t cookie = 0) noexcept = 0;
};

/// Bytes that describe how to reach this process; constant from the first call on (so: after the process has
/// got the identity it keeps), at most kPublishedBytesMax.  Also asks the kernel for what the mechanisms need
/// (PR_SET_PTRACER).
inline constexpr std::size_t kPublishedBytesMax = 128;
std::span<const std::byte> published_address() noexcept;

/// The memory of the peer that published `address`, with every mechanism that a probe just showed to work,
/// the preferred first; nullptr when there is none, or where DUNLIN_SHM_COPY=cico.  The peer must be in this
/// node's list of processes; it need not do anything for the probe, but must be alive.
std::unique_ptr<PeerMemory> connect(std::span<const std::byte> address) noexcept;

/// Whether DUNLIN_SHM_COPY names the way.
bool is_way_chosen() noexcept;

/// Called by the owner before the address of a large buffer is sent to a peer: gives blocks of the shared
/// heap huge pages that they lack (a peer's first pass is 20 times cheaper then), and declares the buffer to
/// mechanisms that want it (KNEM).  Returns a cookie that travels with the address, or 0 when none is needed.
/// `writable`: the peer may write too.  Ends by `unexpose`.  Cost: about 30 ns when there is nothing to do.
std::uint64_t expose(std::span<const Piece> pieces, bool writable) noexcept;
void unexpose(std::uint64_t cookie) noexcept;

/// Whose memory an engine reaches, and which of its own its peers reach.  The runtime answers with the
/// mechanisms above, a simulation with dice.
class Memories {
 public:
  /// Whether the peer (by peer index) has told how its memory is reached; until then nothing is known of it.
  virtual bool has_published([[maybe_unused]] int peer) noexcept { return true; }
  /// The memory of a peer that has; nullptr: bytes go by copy-in/copy-out.
  virtual std::unique_ptr<PeerMemory> connect(int peer) noexcept = 0;
  /// Whether peers can map these bytes of ours now.
  virtual bool is_shared(const void* at, std::size_t bytes) noexcept = 0;

 protected:
  ~Memories() = default;
};

}  // namespace dunlin::peer
