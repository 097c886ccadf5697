// What waits for room in a peer's channel: messages of the program and control messages, in one queue
// (docs/decisions/0009-one-queue-to-a-peer.md).  Used by peers.cpp.
#pragma once

#include "transport/transport.hpp"

namespace dunlin::protocol {

/// One that can wait.
class Outgoing {
 public:
  /// Tries to leave.  Not linked meanwhile: it may be gone when this answers anything but `full`.
  virtual transport::Sent try_go() noexcept = 0;
  /// The peer cannot be reached any more.
  virtual void go_nowhere() noexcept = 0;

 protected:
  ~Outgoing() = default;

 private:
  friend class OutgoingQueue;
  Outgoing* next_ = nullptr;
};

/// First in, first out.
class OutgoingQueue {
 public:
  bool is_empty() const noexcept { return !first_; }
  bool has_several() const noexcept { return first_ != last_; }
  void push(Outgoing& message) noexcept {
    message.next_ = nullptr;
    (last_ ? last_->next_ : first_) = &message;
    last_ = &message;
  }
  Outgoing* pop() noexcept {
    Outgoing* const first = first_;
    if (first && !(first_ = first->next_)) last_ = nullptr;
    return first;
  }
  void put_back(Outgoing& message) noexcept {
    message.next_ = first_;
    first_ = &message;
    if (!last_) last_ = &message;
  }
  void remove(Outgoing& message) noexcept {
    Outgoing* before = nullptr;
    for (Outgoing* each = first_; each != &message; each = each->next_) before = each;
    (before ? before->next_ : first_) = message.next_;
    if (last_ == &message) last_ = before;
  }

 private:
  Outgoing* first_ = nullptr;
  Outgoing* last_ = nullptr;
};

}  // namespace dunlin::protocol
