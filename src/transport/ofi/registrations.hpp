// Registrations of the program's buffers for transfers, kept from one transfer to the next where that is
// safe.
//
// Used by transfers.cpp.  Safe is the shared heap (heap/), which counts when the pages behind its addresses
// change: given back to the system, made huge pages, frozen by a fork.  Then all that is kept is forgotten;
// what a transfer under way holds stays registered until it ends.  Other memory may be unmapped by anybody at
// any time: it is registered for each transfer, and where a provider watches the process's mappings it keeps
// that itself (FI_MR_CACHE_MONITOR). Document: RDMA channel, registration cache (row R5 of docs/sources.md).
// Thread safety: base/big_lock.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "peer/registration_cache.hpp"
#include "transport/ofi/fabric.hpp"

namespace dunlin::transport::ofi {

class Registrations final : private peer::Registrar {
 public:
  /// A buffer while it is in use: a range that is kept, or one of its own, or none where none is needed.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept { *this = std::move(other); }
    Hold& operator=(Hold&& other) noexcept;
    ~Hold();
    explicit operator bool() const noexcept { return is_usable_; }
    const Region& region() const noexcept { return kept_ ? region_of(*kept_) : own_; }

   private:
    friend class Registrations;
    Registrations* owner_ = nullptr;
    peer::Registration* kept_ = nullptr;
    Region own_;
    bool is_usable_ = false;
  };

  explicit Registrations(Fabric& fabric) noexcept;
  ~Registrations();

  /// False Hold: refused.
  Hold try_hold(const void* at, std::size_t bytes, bool by_peers) noexcept;

 private:
  static const Region& region_of(const peer::Registration& kept) noexcept {
    return *reinterpret_cast<const Region*>(kept.handle);
  }
  bool may_keep(const void* at, std::size_t bytes) noexcept;
  bool try_register(std::uint64_t begin, std::uint64_t end, std::uint64_t& handle) noexcept override;
  void unregister(std::uint64_t begin, std::uint64_t end, std::uint64_t handle) noexcept override;

  Fabric& fabric_;
  std::uint64_t changes_ = 0;  // of the heap's pages, when the oldest range was registered
  std::size_t held_ = 0;       // ranges in use
  std::unique_ptr<peer::RegistrationCache> cache_;
};

}  // namespace dunlin::transport::ofi
