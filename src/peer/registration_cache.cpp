#include "peer/registration_cache.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace dunlin::peer {

RegistrationCache::RegistrationCache(Registrar& registrar, const Limits& limits) noexcept
    : registrar_(registrar), limits_(limits) {
  DUNLIN_ASSERT(limits.ranges_max > 0);
  DUNLIN_ASSERT(limits.granule > 0);
}

RegistrationCache::~RegistrationCache() {
  clear();
  give_back(0);
  DUNLIN_ASSERT(leaving_.empty());  // a range is still held
}

/// The first range that ends behind `begin`.
RegistrationCache::Tree::iterator RegistrationCache::first_overlap(std::uint64_t begin) noexcept {
  Tree::iterator each = tree_.upper_bound(begin);
  if (each != tree_.begin() && std::prev(each)->second->end > begin) --each;
  return each;
}

Registration* RegistrationCache::acquire(std::uint64_t at, std::size_t bytes) noexcept {
  DUNLIN_ASSERT(bytes > 0);
  if (bytes > UINT64_MAX - limits_.granule - at) return nullptr;
  std::uint64_t begin = at / limits_.granule * limits_.granule;
  std::uint64_t end = (at + bytes + limits_.granule - 1) / limits_.granule * limits_.granule;
  const std::lock_guard hold(lock_);
  const Tree::iterator first = first_overlap(begin);
  if (first != tree_.end() && first->second->begin <= begin && first->second->end >= end) {
    ++counters_.hits;
    Registration* found = first->second.get();
    order_.splice(order_.end(), order_, found->position);
    ++found->holders;
    return found;
  }
  ++counters_.misses;
  Tree::iterator last = first;
  for (; last != tree_.end() && last->second->begin < end; ++last) {
    begin = std::min(begin, last->second->begin);
    end = std::max(end, last->second->end);
  }
  std::uint64_t handle = 0;
  if (!registrar_.try_register(begin, end, handle)) {
    ++counters_.refusals;
    return nullptr;
  }
  for (Tree::iterator each = first; each != last;) {
    ++counters_.merges;
    forget(each++);
  }
  auto made = std::make_unique<Registration>(Registration{begin, end, handle, 1, true, {}});
  Registration* registration = made.get();
  registration->position = order_.insert(order_.end(), registration);
  tree_.emplace(begin, std::move(made));
  bytes_ += end - begin;
  shrink_to_limits(registration);
  give_back(limits_.linger);
  return registration;
}

void RegistrationCache::release(Registration* registration) noexcept {
  const std::lock_guard hold(lock_);
  DUNLIN_ASSERT(registration->holders > 0);
  --registration->holders;
  if (!registration->can_be_found) give_back(limits_.linger);
}

void RegistrationCache::invalidate(std::uint64_t at, std::size_t bytes) noexcept {
  const std::lock_guard hold(lock_);
  Tree::iterator each = first_overlap(at);
  while (each != tree_.end() && each->second->begin < at + bytes) {
    ++counters_.invalidations;
    forget(each++);
  }
  give_back(limits_.linger);
}

void RegistrationCache::clear() noexcept {
  const std::lock_guard hold(lock_);
  while (!tree_.empty()) forget(tree_.begin());
  give_back(limits_.linger);
}

/// Takes a range out of the tree; it waits in `leaving_` for its end.
void RegistrationCache::forget(Tree::iterator each) noexcept {
  std::unique_ptr<Registration>& range = each->second;
  DUNLIN_ASSERT(range->can_be_found);
  range->can_be_found = false;
  order_.erase(range->position);
  bytes_ -= range->end - range->begin;
  leaving_.push_back(std::move(range));
  tree_.erase(each);
}

void RegistrationCache::shrink_to_limits(const Registration* keep) noexcept {
  while ((tree_.size() > limits_.ranges_max || bytes_ > limits_.bytes_max) && order_.front() != keep) {
    ++counters_.evictions;
    forget(tree_.find(order_.front()->begin));
  }
}

/// Ends what nobody holds, but for the youngest `linger`.
void RegistrationCache::give_back(std::size_t linger) noexcept {
  const std::size_t old = leaving_.size() > linger ? leaving_.size() - linger : 0;
  const auto end = leaving_.begin() + std::ptrdiff_t(old);
  const auto is_ended = [&](std::unique_ptr<Registration>& each) {
    if (each->holders > 0) return false;
    registrar_.unregister(each->begin, each->end, each->handle);
    return true;
  };
  leaving_.erase(std::remove_if(leaving_.begin(), end, is_ended), end);
}

std::size_t RegistrationCache::ranges() const noexcept {
  const std::lock_guard hold(lock_);
  return tree_.size();
}
std::uint64_t RegistrationCache::bytes() const noexcept {
  const std::lock_guard hold(lock_);
  return bytes_;
}
RegistrationCache::Counters RegistrationCache::counters() const noexcept {
  const std::lock_guard hold(lock_);
  return counters_;
}

}  // namespace dunlin::peer
