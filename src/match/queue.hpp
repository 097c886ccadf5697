// A queue that finds the oldest entry with a given (context, source, tag) without walking past the others.
//
// As long as all entries have one key they hang in one list, the *run*, and no key is hashed: a window of
// receives from one source with one tag never leaves it.  The first entry with another key spreads them over
// hash buckets, oldest first; the table doubles when it holds more entries than buckets.  An empty queue
// starts anew with a run.  Used for posted receives, whose keys may contain wildcards, and for unexpected
// messages, whose keys may not (match/matcher.hpp).
//
// Cost: insert, find and take touch one list: O(1) expected at any depth, about 8 instructions in a run, 20
// in buckets; an entry is spread at most once.  Scale: 16 bytes per bucket, at most two buckets an entry (64
// buckets at least); entries belong to the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "base/assert.hpp"
#include "base/log.hpp"

namespace dunlin::match {

inline constexpr std::int32_t kAny =
    -1;  // wildcard in a key, for source and tag alike; real ones are never negative

struct Key {
  std::uint64_t context = 0;
  std::int32_t source = 0;
  std::int32_t tag = 0;
  bool operator==(const Key&) const = default;
};

inline std::uint64_t hash(const Key& key) noexcept {
  const std::uint64_t who_what = std::uint64_t(std::uint32_t(key.source)) << 32 | std::uint32_t(key.tag);
  // Two odd constants (golden ratio and a Murmur finaliser); the table uses the high bits.
  return (key.context * 0x9e3779b97f4a7c15u + who_what) * 0xff51afd7ed558ccdu;
}

/// Base of an entry.
struct Entry {
  Key key;
  Entry* next_in_bucket = nullptr;
};

class Queue {
 public:
  std::size_t size() const noexcept { return size_; }
  bool is_empty() const noexcept { return size_ == 0; }

  void push(Entry& entry) noexcept {
    if (is_run_of(entry.key)) [[likely]]
      push_to_run(entry);
    else
      push_spread(entry);
  }

  /// hot path: whether all entries have this key, or there are none.
  bool is_run_of(const Key& key) const noexcept { return run_.first ? run_.first->key == key : size_ == 0; }
  /// As `push` where is_run_of the entry's key.
  void push_to_run(Entry& entry) noexcept {
    ++size_;
    append(run_, entry);
  }

  /// The oldest entry with exactly this key, or nullptr.
  Entry* find(const Key& key) const noexcept {
    if (size_ == 0) return nullptr;
    if (!is_spread_) return first_of_run(key);
    for (Entry* each = buckets_[index(key)].first; each; each = each->next_in_bucket)
      if (each->key == key) return each;
    return nullptr;
  }

  /// As `find`, and takes it out.
  Entry* take(const Key& key) noexcept {
    if (size_ == 0) return nullptr;
    if (!is_spread_) {
      Entry* const first = first_of_run(key);
      if (first) take_first_of_run();
      return first;
    }
    Bucket& bucket = buckets_[index(key)];
    Entry* before = nullptr;
    for (Entry* each = bucket.first; each; before = each, each = each->next_in_bucket)
      if (each->key == key) {
        unlink(bucket, before, *each);
        return each;
      }
    return nullptr;
  }

  /// hot path: the oldest entry if all have this key; nullptr says nothing.
  Entry* first_of_run(const Key& key) const noexcept {
    return run_.first && run_.first->key == key ? run_.first : nullptr;
  }
  void take_first_of_run() noexcept {
    DUNLIN_DEBUG_ASSERT(run_.first != nullptr);
    run_.first = run_.first->next_in_bucket;
    if (!run_.first) run_.last = nullptr;
    --size_;
  }

  /// Takes out an entry that is in the queue.  Walks its bucket.
  void remove(Entry& entry) noexcept {
    Bucket& bucket = is_spread_ ? buckets_[index(entry.key)] : run_;
    Entry* before = nullptr;
    for (Entry* each = bucket.first; each != &entry; each = each->next_in_bucket) {
      DUNLIN_ASSERT(each != nullptr);
      before = each;
    }
    unlink(bucket, before, entry);
  }

 private:
  struct Bucket {
    Entry* first = nullptr;
    Entry* last = nullptr;
  };

  std::size_t bucket_count() const noexcept { return buckets_ ? std::size_t{1} << bits_ : 0; }
  std::size_t index(const Key& key) const noexcept { return hash(key) >> (64 - bits_); }

  void unlink(Bucket& bucket, Entry* before, Entry& entry) noexcept {
    (before ? before->next_in_bucket : bucket.first) = entry.next_in_bucket;
    if (bucket.last == &entry) bucket.last = before;
    if (--size_ == 0) is_spread_ = false;
  }

  static void append(Bucket& bucket, Entry& entry) noexcept {
    entry.next_in_bucket = nullptr;
    (bucket.last ? bucket.last->next_in_bucket : bucket.first) = &entry;
    bucket.last = &entry;
  }

  /// Moves a list into the table; entry by entry keeps the order within a key.
  void spread(const Bucket& list) noexcept {
    for (Entry* each = list.first; each;) {
      Entry* const next = each->next_in_bucket;
      append(buckets_[index(each->key)], *each);
      each = next;
    }
  }

  [[gnu::noinline]] void push_spread(Entry& entry) noexcept {
    while (size_ >= bucket_count()) grow();
    if (!is_spread_) {
      spread(run_);
      run_ = {};
      is_spread_ = true;
    }
    ++size_;
    append(buckets_[index(entry.key)], entry);
  }

  [[gnu::noinline, gnu::cold]] void grow() noexcept {
    const std::size_t old_count = bucket_count();
    std::unique_ptr<Bucket[]> old = std::move(buckets_);
    bits_ = old ? bits_ + 1 : 6;
    buckets_.reset(new (std::nothrow) Bucket[std::size_t{1} << bits_]);
    if (!buckets_) log::die("out of memory for %zu queued messages", size_);
    for (std::size_t i = 0; i < old_count; ++i) spread(old[i]);
  }

  Bucket run_;              // the entries while they all have one key
  bool is_spread_ = false;  // they lie in the buckets
  std::unique_ptr<Bucket[]> buckets_;
  unsigned bits_ = 6;
  std::size_t size_ = 0;
};

}  // namespace dunlin::match
