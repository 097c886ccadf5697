// The list of mechanisms, and the way from what a peer published to its memory.
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/variable.hpp"
#include "heap/heap.hpp"
#include "peer/provider.hpp"

namespace dunlin::peer {
namespace {

WordVariable shm_copy{"SHM_COPY", "auto", "auto|shared_heap|xpmem|cma|knem|cico",
                      "how large messages move inside a node; cico: two copies through shared memory"};

constexpr std::size_t kProvidersMax = 4;
constexpr int kIndexShift = 60;  // the upper bits of Mapping::generation say whose mapping it is

/// Several mechanisms of one peer, the preferred first.  Thread safety: constant after it was made.
class BestOf final : public PeerMemory {
 public:
  void add(std::unique_ptr<PeerMemory> memory) noexcept {
    DUNLIN_ASSERT(count_ < kProvidersMax);
    if (count_) name_ += '+';
    name_ += memory->name();
    each_[count_++] = std::move(memory);
  }
  std::size_t count() const noexcept { return count_; }
  std::unique_ptr<PeerMemory> take_only() noexcept { return std::move(each_[0]); }

  const char* name() const noexcept override { return name_.c_str(); }
  bool can_map() const noexcept override { return any(&PeerMemory::can_map); }
  bool can_copy_anywhere() const noexcept override { return any(&PeerMemory::can_copy_anywhere); }
  bool needs_cookie() const noexcept override {
    return std::all_of(each_, each_ + count_, [](const auto& each) { return each->needs_cookie(); });
  }

  Mapping map(std::uint64_t at, std::size_t bytes) noexcept override {
    for (std::size_t i = 0; i < count_; ++i)
      if (Mapping mapping = each_[i]->map(at, bytes)) {
        DUNLIN_ASSERT(mapping.generation >> kIndexShift == 0);
        mapping.generation |= std::uint64_t{i} << kIndexShift;
        return mapping;
      }
    return {};
  }
  Held hold(std::uint64_t at, std::size_t bytes) noexcept override {
    Held declined;
    for (std::size_t i = 0; i < count_; ++i) {
      Held held = each_[i]->hold(at, bytes);
      if (held.mapping) {
        held.mapping.generation |= std::uint64_t{i} << kIndexShift;
        return held;
      }
      if (held.present) declined = held;  // it may be asked again in the next generation
    }
    return declined;
  }
  void let_go(const Held& held) noexcept override {
    if (held.mapping) each_[held.mapping.generation >> kIndexShift]->let_go(held);
  }
  bool is_still_valid(const Mapping& mapping) const noexcept override {
    const std::size_t index = mapping.generation >> kIndexShift;
    DUNLIN_ASSERT(index < count_);
    return each_[index]->is_still_valid(
        {mapping.at, mapping.generation & ((std::uint64_t{1} << kIndexShift) - 1)});
  }
  bool try_read(std::span<const Piece> to, std::span<const RemotePiece> from,
                std::uint64_t cookie) noexcept override {
    for (std::size_t i = 0; i < count_; ++i)
      if (each_[i]->try_read(to, from, cookie)) return true;
    return false;
  }
  bool try_write(std::span<const RemotePiece> to, std::span<const Piece> from,
                 std::uint64_t cookie) noexcept override {
    for (std::size_t i = 0; i < count_; ++i)
      if (each_[i]->try_write(to, from, cookie)) return true;
    return false;
  }

 private:
  bool any(bool (PeerMemory::*can)() const noexcept) const noexcept {
    for (std::size_t i = 0; i < count_; ++i)
      if ((each_[i].get()->*can)()) return true;
    return false;
  }
  std::unique_ptr<PeerMemory> each_[kProvidersMax];
  std::size_t count_ = 0;
  std::string name_;
};

/// Whether some peer can only be served by a mechanism that wants buffers declared.
std::atomic<bool> needs_cookies = false;

/// The word that a peer's probe reads; in static memory, so that every mechanism but the shared heap can
/// reach it.
std::uint64_t probe_word;

PublishedAddress make_address() noexcept {
  PublishedAddress address;
  address.pid = std::uint32_t(getpid());
  if (getrandom(&address.nonce, sizeof address.nonce, GRND_NONBLOCK) != sizeof address.nonce)
    address.nonce = (std::uint64_t(getpid()) << 32) ^ reinterpret_cast<std::uintptr_t>(&address);
  probe_word = address.nonce;
  address.nonce_at = reinterpret_cast<std::uintptr_t>(&probe_word);
  for (Provider* each : providers()) each->publish(address);
  if (address.knem_probe && std::strcmp(shm_copy.get(), "knem") == 0) needs_cookies = true;
  return address;
}

}  // namespace

std::span<Provider* const> providers() noexcept {
  static Provider* const all[] = {&shared_heap_provider(), &xpmem_provider(), &cma_provider(),
                                  &knem_provider()};
  return all;
}

bool is_way_chosen() noexcept { return std::strcmp(shm_copy.get(), "auto") != 0; }

bool is_enabled(const Provider& provider) noexcept {
  return !is_way_chosen() || std::strcmp(shm_copy.get(), provider.name()) == 0;
}

std::span<const std::byte> published_address() noexcept {
  static const PublishedAddress address = make_address();
  return std::as_bytes(std::span(&address, 1));
}

std::unique_ptr<PeerMemory> connect(std::span<const std::byte> address) noexcept {
  published_address();  // probes need what `publish` asks of the kernel on both sides
  PublishedAddress peer;
  if (address.size() < sizeof peer) return nullptr;
  std::memcpy(&peer, address.data(), sizeof peer);
  if (peer.magic != PublishedAddress::kMagic) return nullptr;
  const char* why = "";
  const std::shared_ptr<PeerControl> control = PeerControl::attach(peer, &why);
  auto best = std::make_unique<BestOf>();
  for (Provider* each : providers()) {
    if (!is_enabled(*each)) continue;
    if (auto memory = each->connect(peer, control)) {
      // Relaxed: the peer finds out the same about us, and without a cookie it takes its next way.
      if (each == &knem_provider() && !best->can_copy_anywhere())
        needs_cookies.store(true, std::memory_order_relaxed);
      best->add(std::move(memory));
    } else
      log::note("%s does not reach process %u: %s", each->name(), peer.pid, each->why_not());
  }
  if (best->count() == 0) return nullptr;
  if (best->count() == 1) return best->take_only();
  return best;
}

std::uint64_t expose(std::span<const Piece> pieces, bool writable) noexcept {
  if (!needs_cookies.load(std::memory_order_relaxed)) return 0;
  return knem_provider().expose(pieces, writable);
}

void unexpose(std::uint64_t cookie) noexcept {
  if (cookie != 0) knem_provider().unexpose(cookie);
}

}  // namespace dunlin::peer
