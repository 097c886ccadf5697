// XPMEM as a way to a peer's memory: attachments are made at first use and kept in a registration cache per
// peer.
//
// The kernel module follows the owner's page tables, so that an attachment stays right when the owner unmaps,
// maps anew or forks; a load from what the owner does not map any more is a SIGBUS, which a correct program
// never does.
#include "memory/xpmem.hpp"

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/variable.hpp"
#include "memory/copy.hpp"
#include "memory/provider.hpp"
#include "memory/registration_cache.hpp"

namespace dunlin::memory {
namespace {

IntVariable cache_ranges{"XPMEM_CACHE_RANGES", 1024, "",
                         "attachments of one peer that are kept for the next transfer", 1};
WordVariable cache_order{"XPMEM_CACHE_ORDER", "fifo", "fifo|lru",
                         "which attachment goes first when there are too many"};

RegistrationCache::Limits cache_limits() noexcept {
  RegistrationCache::Limits limits;
  limits.ranges_max = std::size_t(cache_ranges.get());
  limits.order = cache_order.index() == 1 ? RegistrationCache::Order::lru : RegistrationCache::Order::fifo;
  return limits;
}

using ull = unsigned long long;  // as %llu wants it

class XpmemPeer final : public PeerMemory, private Registrar {
 public:
  XpmemPeer(XpmemDevice& device, std::int64_t permission) noexcept
      : device_(device), permission_(permission), cache_(*this, cache_limits()) {}
  ~XpmemPeer() override {
    const RegistrationCache::Counters seen = cache_.counters();
    log::note("xpmem: one peer's ranges found %llu times, attached %llu times, evicted %llu times",
              ull{seen.hits}, ull{seen.misses}, ull{seen.evictions});
    device_.release(permission_);  // after this the kernel ends what is still attached
  }

  const char* name() const noexcept override { return "xpmem"; }
  bool can_map() const noexcept override { return true; }
  bool can_copy_anywhere() const noexcept override { return true; }

  Mapping map(std::uint64_t at, std::size_t bytes) noexcept override {
    Registration* range = cache_.acquire(at, bytes);
    if (!range) return {};
    const Mapping mapping{reinterpret_cast<std::byte*>(range->handle) + (at - range->begin), 0};
    cache_.release(range);  // it lingers long enough for the transfer
    return mapping;
  }
  bool is_still_valid(const Mapping&) const noexcept override { return true; }
  bool try_read(std::span<const Piece> to, std::span<const RemotePiece> from,
                std::uint64_t) noexcept override {
    return try_copy_mapped(*this, to, from, Direction::from_peer);
  }
  bool try_write(std::span<const RemotePiece> to, std::span<const Piece> from,
                 std::uint64_t) noexcept override {
    return try_copy_mapped(*this, from, to, Direction::to_peer);
  }

 private:
  bool try_register(std::uint64_t begin, std::uint64_t end, std::uint64_t& handle) noexcept override {
    void* attached = device_.attach(permission_, begin, end - begin);
    handle = reinterpret_cast<std::uint64_t>(attached);
    return attached != nullptr;
  }
  void unregister(std::uint64_t begin, std::uint64_t end, std::uint64_t handle) noexcept override {
    device_.detach(reinterpret_cast<void*>(handle), end - begin);
  }

  XpmemDevice& device_;
  std::int64_t permission_;
  RegistrationCache cache_;
};

XpmemDevice* other_device = nullptr;

class XpmemProvider final : public Provider {
 public:
  const char* name() const noexcept override { return "xpmem"; }
  void publish(PublishedAddress& address) noexcept override {
    device_ = other_device ? other_device : open_xpmem_device(&why_not_);
    if (!device_) return;
    address.xpmem_segment = device_->make();
    why_not_ = address.xpmem_segment < 0 ? "xpmem_make fails in this process" : "";
  }
  std::unique_ptr<PeerMemory> connect(const PublishedAddress& peer,
                                      const std::shared_ptr<PeerControl>&) noexcept override {
    if (!device_) return nullptr;
    why_not_ = "the peer does not offer xpmem";
    if (peer.xpmem_segment < 0) return nullptr;
    why_not_ = "xpmem_get or xpmem_attach is refused";
    const std::int64_t permission = device_->get(peer.xpmem_segment);
    if (permission < 0) return nullptr;
    auto made = std::make_unique<XpmemPeer>(*device_, permission);
    const Mapping probe = made->map(peer.nonce_at, sizeof peer.nonce);
    if (!probe || *reinterpret_cast<const volatile std::uint64_t*>(probe.at) != peer.nonce) return nullptr;
    why_not_ = "";
    return made;
  }
  const char* why_not() const noexcept override { return why_not_; }

 private:
  XpmemDevice* device_ = nullptr;
  const char* why_not_ = "";
};

}  // namespace

void use_xpmem_device(XpmemDevice* device) noexcept { other_device = device; }

Provider& xpmem_provider() noexcept {
  static XpmemProvider provider;
  return provider;
}

}  // namespace dunlin::memory
