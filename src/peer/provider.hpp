// One mechanism to reach peers' memory, as the registry sees it: what it publishes, and how it connects.
//
// Adding a mechanism is one file that implements this and PeerMemory, a field in PublishedAddress, and a line
// in registry.cpp; test/conformance/peer_memory runs on it unchanged.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "peer/peer_control.hpp"
#include "peer/peer_memory.hpp"

namespace dunlin::peer {

/// What one process tells the others (peer_memory.hpp, `published_address`); the same on every process of a
/// job.
struct PublishedAddress {
  static constexpr std::uint32_t kMagic = 0x32444144;  // changes with the layout

  std::uint32_t magic = kMagic;
  std::uint32_t pid = 0;
  std::uint64_t nonce = 0;               // random, and the value of the word at nonce_at
  std::uint64_t nonce_at = 0;            // address of a word that probes read
  std::uint64_t heap_nonce = 0;          // of the heap's control page
  std::int32_t control_descriptor = -1;  // of the heap's control page; -1: no shared heap
  std::uint32_t serves_descriptors = 0;  // 1: a thread gives the heap's to who asks by heap_nonce
  std::uint64_t knem_probe = 0;          // cookie of the word at nonce_at; 0: no KNEM
  std::int64_t xpmem_segment = -1;       // -1: no XPMEM
};
static_assert(sizeof(PublishedAddress) <= kPublishedBytesMax);

/// Thread safety: `publish` is called once; `connect` by one thread at a time; the others by any thread.
class Provider {
 public:
  virtual const char* name() const noexcept = 0;
  /// Fills in this mechanism's fields, or leaves them when it does not work in this process.
  virtual void publish(PublishedAddress& address) noexcept = 0;
  /// The peer's memory after a probe that really read `nonce`; nullptr when that failed.
  virtual std::unique_ptr<PeerMemory> connect(const PublishedAddress& peer,
                                              const std::shared_ptr<PeerControl>& control) noexcept = 0;
  /// One sentence why it does not work here (as of the last `publish` or `connect`); "" when it does.
  virtual const char* why_not() const noexcept = 0;
  /// As in peer_memory.hpp, but without the question whether it is needed; 0: this mechanism knows no
  /// cookies.
  virtual std::uint64_t expose(std::span<const Piece>, bool) noexcept { return 0; }
  virtual void unexpose(std::uint64_t) noexcept {}

 protected:
  ~Provider() = default;
};

/// All mechanisms in the order of preference (registry.cpp).
std::span<Provider* const> providers() noexcept;

/// Whether DUNLIN_SHM_COPY lets it be used.
bool is_enabled(const Provider& provider) noexcept;

Provider& shared_heap_provider() noexcept;
Provider& xpmem_provider() noexcept;
Provider& cma_provider() noexcept;
Provider& knem_provider() noexcept;

}  // namespace dunlin::peer
