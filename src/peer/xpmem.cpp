// XPMEM as a way to a peer's memory: attachments are made at first use and kept in a registration cache per
// peer.
//
// The kernel module follows the owner's page tables, so that an attachment stays right when the owner unmaps,
// maps anew or forks; a load from what the owner does not map any more is a SIGBUS, which a correct program
// never does.
#include "peer/xpmem.hpp"

#include <unistd.h>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/variable.hpp"
#include "peer/copy_mapped.hpp"
#include "peer/count.hpp"
#include "peer/provider.hpp"
#include "peer/registration_cache.hpp"

namespace dunlin::peer {
namespace {

IntVariable cache_ranges{"XPMEM_CACHE_RANGES", 1024, "",
                         "attachments of one peer that are kept for the next transfer", 1};

RegistrationCache::Limits cache_limits() noexcept {
  RegistrationCache::Limits limits;
  limits.ranges_max = std::size_t(cache_ranges.get());
  return limits;
}

/// What the caches of all peers did, told when the process ends (DUNLIN_VERBOSE=1): peers live until then.
struct Told {
  Count mapped, attached, detached;
  ~Told() {
    if (mapped.get())
      log::note("xpmem: %llu ranges of peers mapped, %llu of them attached for it, %llu given back",
                mapped.get(), attached.get(), detached.get());
  }
};
Told told;

class XpmemPeer final : public PeerMemory, private Registrar {
 public:
  XpmemPeer(XpmemDevice& device, std::int64_t permission) noexcept
      : permission_{device, permission}, cache_(*this, cache_limits()) {}

  const char* name() const noexcept override { return "xpmem"; }
  bool can_map() const noexcept override { return true; }
  bool can_copy_anywhere() const noexcept override { return true; }

  Mapping map(std::uint64_t at, std::size_t bytes) noexcept override {
    Registration* range = cache_.acquire(at, bytes);
    if (!range) return {};
    ++told.mapped;
    const Mapping mapping{reinterpret_cast<std::byte*>(range->handle) + (at - range->begin), 0};
    cache_.release(range);  // it lingers long enough for the transfer
    return mapping;
  }
  Held hold(std::uint64_t at, std::size_t bytes) noexcept override {
    Registration* range = cache_.acquire(at, bytes);
    if (!range) return {};
    ++told.mapped;
    Held held;
    held.mapping = {reinterpret_cast<std::byte*>(range->handle) + (at - range->begin), 0};
    held.kept = range;
    return held;
  }
  void let_go(const Held& held) noexcept override {
    if (held.kept) cache_.release(static_cast<Registration*>(held.kept));
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
    void* attached = permission_.device.attach(permission_.id, begin, end - begin);
    handle = reinterpret_cast<std::uint64_t>(attached);
    if (!attached) return false;
    ++told.attached;
    return true;
  }
  void unregister(std::uint64_t begin, std::uint64_t end, std::uint64_t handle) noexcept override {
    ++told.detached;
    permission_.device.detach(reinterpret_cast<void*>(handle), end - begin);
  }

  struct Permission {
    XpmemDevice& device;
    std::int64_t id;
    ~Permission() { device.release(id); }
  };
  Permission permission_;  // before the cache: it is given back last
  RegistrationCache cache_;
};

XpmemDevice* tried_device = nullptr;

class XpmemProvider final : public Provider {
 public:
  const char* name() const noexcept override { return "xpmem"; }
  void publish(PublishedAddress& address) noexcept override {
    device_ = tried_device ? tried_device : open_xpmem_device(&why_not_);
    if (!device_) return;
    opened_by_ = getpid();
    address.xpmem_segment = device_->make();
    why_not_ = address.xpmem_segment < 0 ? "xpmem_make fails in this process" : "";
  }
  std::unique_ptr<PeerMemory> connect(const PublishedAddress& peer,
                                      const std::shared_ptr<PeerControl>&) noexcept override {
    if (!device_) return nullptr;
    if (opened_by_ != getpid() && !device_->open_again()) return nullptr;
    opened_by_ = getpid();
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
  pid_t opened_by_ = -1;  // a forked child is unknown to the module (dunlin-info tries mechanisms in one)
  const char* why_not_ = "";
};

}  // namespace

void use_xpmem_device(XpmemDevice* device) noexcept { tried_device = device; }

Provider& xpmem_provider() noexcept {
  static XpmemProvider provider;
  return provider;
}

}  // namespace dunlin::peer
