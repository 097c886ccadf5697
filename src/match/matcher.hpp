// Who gets it: posted receives and unexpected messages of one process (MPI 5.0, 3.5: order and wildcards).
//
// Posted receives sit in one `Queue` under their own key, wildcards included; an arriving message looks under
// the at most four keys that could have been posted for it, skipping the kinds of wildcard nobody uses now,
// and takes the oldest. Unexpected messages sit in a `Queue` under their full key and in a list by arrival,
// which wildcard receives walk.
//
// Cost: O(1) expected at any depth for receives without wildcards.  A wildcard receive walks past unexpected
// messages of other keys.  Memory of an unexpected message: see `Unexpected`.
#pragma once

#include <cstdint>
#include <span>

#include "match/queue.hpp"
#include "transport/transport.hpp"

namespace dunlin::match {

/// An unexpected message, stored in its own size: 64 bytes, then the payload.
struct Unexpected : Entry {
  Unexpected* next_arrived = nullptr;
  Unexpected* previous_arrived = nullptr;
  std::int32_t peer = 0;    // peer index of the sender
  std::uint32_t bytes = 0;  // of payload stored here
  transport::MessageKind kind = transport::MessageKind::eager;
  bool is_extracted = false;  // taken out of matching by MPI_Mprobe

  std::span<std::byte> payload() noexcept { return {reinterpret_cast<std::byte*>(this + 1), bytes}; }
};

/// Base of a posted receive.
struct Posted : Entry {
  std::uint64_t sequence = 0;  // order of posting; where the network matches, what Offload calls it
};

class Matcher {
 public:
  /// Nothing is matched here, as the network does it: from now on shortcuts find a message that nobody wants,
  /// and decline.
  void close() noexcept {
    ++busy_;
    unexpected_.push(closed_);
  }

  // --- posted receives
  void post(Posted& receive) noexcept {
    receive.sequence = ++sequence_;
    ++busy_;
    ++count_[wildcards(receive.key)];
    posted_.push(receive);
  }
  /// hot path: whether a receive of this key without wildcards can be posted by `post_to_run`: nothing
  /// unexpected could be for it, and no key has to be hashed.
  bool can_post_to_run(const Key& key) const noexcept {
    return unexpected_.is_empty() && posted_.is_run_of(key);
  }
  void post_to_run(Posted& receive) noexcept {
    receive.sequence = ++sequence_;
    ++busy_;
    ++count_[0];
    posted_.push_to_run(receive);
  }
  void withdraw(Posted& receive) noexcept {
    --busy_;
    --count_[wildcards(receive.key)];
    posted_.remove(receive);
  }
  /// The one receive that is waited for right now need not be queued: it is compared first (row N8).  At most
  /// one.
  bool try_await(Posted& receive) noexcept {
    if (awaited_) return false;
    receive.sequence = ++sequence_;
    ++busy_;
    awaited_ = &receive;
    return true;
  }
  /// Takes a receive back that is queued or awaited.
  void withdraw_any(Posted& receive) noexcept {
    if (awaited_ == &receive)
      stop_awaiting();
    else
      withdraw(receive);
  }

  /// hot path: takes out the oldest receive that wants this message, or answers nullptr.
  Posted* take(const Key& message) noexcept {
    Posted* oldest = nullptr;
    if (awaited_ && accepts(awaited_->key, message)) [[likely]]
      oldest = awaited_;
    if (posted_.is_empty()) [[likely]] {
      if (oldest) stop_awaiting();
      return oldest;
    }
    return take_posted(message, oldest);
  }

  /// hot path: what `take` would answer where that needs no search, because all posted receives have one key
  /// without wildcards; nullptr says nothing.
  Posted* first_of_run(const Key& message) const noexcept {
    if (awaited_ || count_[0] != posted_.size()) [[unlikely]]
      return nullptr;
    return static_cast<Posted*>(posted_.first_of_run(message));
  }
  /// Takes out what first_of_run has just answered.
  void take_first_of_run() noexcept {
    --busy_;
    --count_[0];
    posted_.take_first_of_run();
  }

  /// Whether any receive waits for a message.
  bool has_receives() const noexcept { return awaited_ || !posted_.is_empty(); }

  /// Nothing is posted, awaited or unexpected: the next message of a sender is the next one to be matched.
  bool is_quiet() const noexcept { return busy_ == 0; }

  /// Whether the next message of this key would go to a receive posted now: none posted before wants it, none
  /// like it waits.  About 40 instructions at any depth; with wildcards about the answer is no.
  bool is_free(const Key& key) const noexcept {
    if (busy_ == 0) [[likely]]
      return true;
    if (awaited_ || count_[0] != posted_.size()) return false;
    return !unexpected_.find(key) && !posted_.find(key);
  }

  static bool accepts(const Key& wanted, const Key& message) noexcept {
    return wanted.context == message.context && (wanted.source == message.source || wanted.source == kAny) &&
           (wanted.tag == message.tag || wanted.tag == kAny);
  }

  // --- unexpected messages
  bool has_unexpected() const noexcept { return !unexpected_.is_empty(); }
  std::size_t unexpected_count() const noexcept { return unexpected_.size(); }
  /// Room for one with `bytes` of payload; nullptr when memory is out.  `destroy` gives it back.
  static Unexpected* create(const Key& key, std::uint32_t bytes) noexcept;
  static void destroy(Unexpected* message) noexcept;
  void add(Unexpected& message) noexcept;
  /// The oldest message that `wanted` (wildcards allowed) accepts, or nullptr.
  Unexpected* find(const Key& wanted) noexcept;
  void remove(Unexpected& message) noexcept;
  Unexpected* first_arrived() const noexcept { return first_arrived_; }
  const Queue& posted() const noexcept { return posted_; }

 private:
  static unsigned wildcards(const Key& key) noexcept {
    return (key.source == kAny ? 1u : 0u) | (key.tag == kAny ? 2u : 0u);
  }
  Posted* take_posted(const Key& message, Posted* awaited) noexcept;
  void stop_awaiting() noexcept {
    --busy_;
    awaited_ = nullptr;
  }

  std::size_t busy_ = 0;  // receives and messages that wait here, of every sort
  Posted* awaited_ = nullptr;
  Queue posted_;
  std::uint32_t count_[4] = {};  // posted receives by kind of wildcard (bit 0 source, bit 1 tag)
  std::uint64_t sequence_ = 0;
  Queue unexpected_;
  Unexpected* first_arrived_ = nullptr;
  Unexpected* last_arrived_ = nullptr;
  Entry closed_{.key = {.context = ~std::uint64_t(0)}};  // of no communicator
};

}  // namespace dunlin::match
