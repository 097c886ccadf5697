// Keeps what is costly to make for a range of addresses (an attachment of a peer's memory, a registration
// with a network card) so that the next transfer from the same buffer finds it.  One cache per peer or card.
//
// Used by xpmem.cpp and transport/ofi/registrations.cpp.  docs/memory.md, "Registration cache".  Sources: the
// designs of RDMA registration caches in MPI libraries; the tree is the C++ library's red-black tree over
// disjoint intervals.
//
// Overlaps: a request that overlaps kept ranges without lying in one is answered by a new registration of the
// union, which replaces them; so ranges stay disjoint, and a buffer that is used in growing parts ends as one
// range.
//
// Too many ranges: the one unused longest goes first (docs/decisions/0010-lru.md).
//
// Release is lazy: a range that is evicted, replaced or invalidated is not found any more, but is given back
// only when nobody holds it and `linger` more ranges have followed it, because a transfer may be using a
// pointer from it.
//
// Thread safety: all members may be called by any thread; one lock, held during registration.
// Invariants: 1. Found ranges are disjoint.  2. A range is in the order of eviction exactly once while it can
// be found.
//             3. `unregister` is called exactly once per successful `try_register`, and never while the range
//             is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>

namespace dunlin::peer {

/// Makes and ends registrations; implemented by the owner of a cache.
class Registrar {
 public:
  /// Registers [begin, end); false when that is refused.
  virtual bool try_register(std::uint64_t begin, std::uint64_t end, std::uint64_t& handle) noexcept = 0;
  virtual void unregister(std::uint64_t begin, std::uint64_t end, std::uint64_t handle) noexcept = 0;

 protected:
  ~Registrar() = default;
};

struct Registration {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t handle;  // the registrar's
  std::uint32_t holders;
  bool can_be_found;
  std::list<Registration*>::iterator position;  // in `order_`, while it can be found
};

class RegistrationCache {
 public:
  struct Limits {
    std::size_t ranges_max = 1024;
    std::uint64_t bytes_max = std::uint64_t{64} << 30;
    std::size_t linger = 16;
    std::uint64_t granule = 4096;  // ranges begin and end at multiples of it
  };
  struct Counters {
    std::uint64_t hits, misses, evictions, merges, invalidations, refusals;
  };

  RegistrationCache(Registrar& registrar, const Limits& limits) noexcept;
  ~RegistrationCache();
  RegistrationCache(const RegistrationCache&) = delete;

  /// A range that contains these bytes, held for the caller until `release`; nullptr when registration is
  /// refused. Cost: O(log n) for a hit; a miss adds the registrar's.
  Registration* acquire(std::uint64_t at, std::size_t bytes) noexcept;
  void release(Registration* registration) noexcept;

  /// The memory behind these addresses changed (unmapped, mapped anew): no range that touches it is found any
  /// more.  For registrations that hold pages, as a network's do; xpmem follows its owner's page tables.
  void invalidate(std::uint64_t at, std::size_t bytes) noexcept;
  /// Forgets every range.
  void clear() noexcept;

  std::size_t ranges() const noexcept;
  std::uint64_t bytes() const noexcept;
  Counters counters() const noexcept;

 private:
  using Tree = std::map<std::uint64_t, std::unique_ptr<Registration>>;  // by first address

  Tree::iterator first_overlap(std::uint64_t begin) noexcept;
  void forget(Tree::iterator each) noexcept;
  void shrink_to_limits(const Registration* keep) noexcept;
  void give_back(std::size_t linger) noexcept;

  Registrar& registrar_;
  const Limits limits_;
  mutable std::mutex lock_;
  Tree tree_;
  std::list<Registration*> order_;                     // the one unused longest first
  std::deque<std::unique_ptr<Registration>> leaving_;  // not found any more, not yet given back; oldest first
  std::uint64_t bytes_ = 0;
  Counters counters_ = {};
};

}  // namespace dunlin::peer
