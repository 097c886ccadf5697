#include "transport/ofi/registrations.hpp"

#include "base/variable.hpp"
#include "heap/heap.hpp"

namespace dunlin::transport::ofi {
namespace {

IntVariable kept_bytes{
    "OFI_KEPT_BYTES", 1 << 30, "bytes",
    "how much memory of the shared heap stays registered with the network after its transfers; 0: none", 0};

/// How often the pages behind addresses of the heap may have changed.
std::uint64_t changes_of_heap() noexcept {
  const heap::ArenaCounters all = heap::face().counters();
  return all.punched_bytes + all.collapsed_bytes + all.freezes;
}

}  // namespace

Registrations::Hold& Registrations::Hold::operator=(Hold&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(kept_, other.kept_);
  std::swap(own_, other.own_);
  std::swap(is_usable_, other.is_usable_);
  return *this;
}

Registrations::Hold::~Hold() {
  if (!kept_) return;
  owner_->cache_->release(kept_);
  --owner_->held_;
}

Registrations::Registrations(Fabric& fabric) noexcept
    : fabric_(fabric),
      cache_(
          new peer::RegistrationCache(*this, {.bytes_max = std::uint64_t(kept_bytes.get()), .linger = 0})) {}

/// Transfers that nobody has ended keep what they hold.
Registrations::~Registrations() {
  if (held_ > 0) (void)cache_.release();
}

/// Frozen memory is not shared: it changes its pages when it is freed, uncounted.
bool Registrations::may_keep(const void* at, std::size_t bytes) noexcept {
  return bytes <= std::uint64_t(kept_bytes.get()) && heap::face().owns(at) &&
         heap::face().is_shared(at, bytes);
}

Registrations::Hold Registrations::try_hold(const void* at, std::size_t bytes, bool by_peers) noexcept {
  Hold hold;
  hold.is_usable_ = !by_peers && !fabric_.wants_local_memory();
  if (hold.is_usable_) return hold;
  if (may_keep(at, bytes)) {
    if (const std::uint64_t now = changes_of_heap(); std::exchange(changes_, now) != now) cache_->clear();
    hold.owner_ = this;
    hold.kept_ = cache_->acquire(reinterpret_cast<std::uint64_t>(at), bytes);
    hold.is_usable_ = hold.kept_ != nullptr;
    if (hold.is_usable_) return ++held_, std::move(hold);
    cache_->clear();  // too much may be locked
  }
  hold.own_ = fabric_.try_register(at, bytes, by_peers);
  hold.is_usable_ = bool(hold.own_);
  return hold;
}

bool Registrations::try_register(std::uint64_t begin, std::uint64_t end, std::uint64_t& handle) noexcept {
  Region region = fabric_.try_register(reinterpret_cast<const void*>(begin), end - begin, true);
  if (!region) return false;
  handle = reinterpret_cast<std::uint64_t>(new Region(std::move(region)));
  return true;
}

void Registrations::unregister(std::uint64_t, std::uint64_t, std::uint64_t handle) noexcept {
  delete reinterpret_cast<Region*>(handle);
}

}  // namespace dunlin::transport::ofi
