// KNEM as a way to a peer's memory: it copies only what the peer exposed, by the cookie that travels with a
// message.
#include "peer/knem.hpp"

#include "base/assert.hpp"
#include "peer/provider.hpp"

namespace dunlin::peer {
namespace {

std::size_t total_of(std::span<const RemotePiece> pieces) noexcept {
  std::size_t total = 0;
  for (const RemotePiece& each : pieces) total += each.bytes;
  return total;
}

class KnemPeer final : public PeerMemory {
 public:
  explicit KnemPeer(KnemDevice& device) noexcept : device_(device) {}

  const char* name() const noexcept override { return "knem"; }
  bool can_map() const noexcept override { return false; }
  bool can_copy_anywhere() const noexcept override { return true; }
  bool needs_cookie() const noexcept override { return true; }
  Mapping map(std::uint64_t, std::size_t) noexcept override { return {}; }
  bool is_still_valid(const Mapping&) const noexcept override { return false; }
  bool try_read(std::span<const Piece> to, std::span<const RemotePiece> from,
                std::uint64_t cookie) noexcept override {
    return try_copy(to, from, cookie, false);
  }
  bool try_write(std::span<const RemotePiece> to, std::span<const Piece> from,
                 std::uint64_t cookie) noexcept override {
    return try_copy(from, to, cookie, true);
  }

 private:
  bool try_copy(std::span<const Piece> local, std::span<const RemotePiece> remote, std::uint64_t cookie,
                bool to_region) noexcept {
    if (total_of(remote) == 0) return true;
    return cookie != 0 && device_.copy(local, cookie, 0, to_region);
  }
  KnemDevice& device_;
};

KnemDevice* other_device = nullptr;

class KnemProvider final : public Provider {
 public:
  const char* name() const noexcept override { return "knem"; }
  void publish(PublishedAddress& address) noexcept override {
    device_ = other_device ? other_device : open_knem_device(&why_not_);
    if (!device_) return;
    const Piece nonce{reinterpret_cast<std::byte*>(address.nonce_at), sizeof address.nonce};
    address.knem_probe = device_->create_region({&nonce, 1}, false);  // lives as long as the process
    why_not_ = address.knem_probe ? "" : "knem refuses to declare memory of this process";
  }
  std::unique_ptr<PeerMemory> connect(const PublishedAddress& peer,
                                      const std::shared_ptr<PeerControl>&) noexcept override {
    if (!device_) return nullptr;
    why_not_ = "the peer does not offer knem";
    if (!peer.knem_probe) return nullptr;
    std::uint64_t read = 0;
    const Piece to{reinterpret_cast<std::byte*>(&read), sizeof read};
    why_not_ = "knem does not copy from the peer";
    if (!device_->copy({&to, 1}, peer.knem_probe, 0, false) || read != peer.nonce) return nullptr;
    why_not_ = "";
    return std::make_unique<KnemPeer>(*device_);
  }
  const char* why_not() const noexcept override { return why_not_; }
  std::uint64_t expose(std::span<const Piece> pieces, bool writable) noexcept override {
    return device_ ? device_->create_region(pieces, writable) : 0;
  }
  void unexpose(std::uint64_t cookie) noexcept override {
    DUNLIN_ASSERT(device_ != nullptr);
    device_->destroy_region(cookie);
  }

 private:
  KnemDevice* device_ = nullptr;
  const char* why_not_ = "";
};

}  // namespace

void use_knem_device(KnemDevice* device) noexcept { other_device = device; }

Provider& knem_provider() noexcept {
  static KnemProvider provider;
  return provider;
}

}  // namespace dunlin::peer
