// Who waits: one engine per process (many in a simulation) polls transports and resumes parked work.
//
// `Engine` owns the protocol state (matching, peers, rendezvous) and knows the transports.  Every wait of the library goes
// through `wait_until`: poll while that pays, then give the core away, then sleep until a peer's message wakes it
// (architecture.md, idea 3; findings: docs/decisions/).  Work to resume (collectives, one-sided, files) is a `Pollable`.
//
// Thread safety: all calls under base/big_lock.hpp; a wait gives the lock up between polls where several threads may call.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "protocol/protocol.hpp"
#include "transport/transport.hpp"

namespace dunlin::progress {

/// Parked work.  Polled by every round of the engine until it answers `finished`.
class Pollable {
 public:
  enum class Outcome : std::uint8_t { idle, advanced, finished };
  /// Must not block and must not call Engine::poll; may send, receive and add pollables.
  virtual Outcome poll() noexcept = 0;

 protected:
  ~Pollable() = default;

 private:
  friend class Engine;
  Pollable* next_ = nullptr;
};

class Engine {
 public:
  /// `me` is this process's peer index, `world_size` how many peers the job starts with.
  Engine(int me, int world_size) noexcept : protocol(*this, me, world_size) {}

  protocol::Protocol protocol;

  /// In order of preference; the first that can reach a peer carries its messages.  Not owned.
  void add(transport::Transport& transport) noexcept;
  std::span<transport::Transport* const> transports() const noexcept { return transports_; }

  /// From now on polled until finished.  The engine does not own it; a finished one is forgotten before poll returns.
  void add(Pollable& work) noexcept;

  /// One round: messages, pending sends, parked work.  Answers whether anything moved.
  bool poll() noexcept;

  /// Polls until `request.is_complete`.  `from` is the peer index whose message is awaited, or -1.
  void wait(const Request& request, int from = -1) noexcept {
    for (int i = 0; i < kQuickPolls; ++i) {
      if (request.is_complete) return;
      if (from >= 0) poll_peer(from); else poll();
    }
    if (!request.is_complete) wait_slow(&request, [](const void* r) noexcept {
      return static_cast<const Request*>(r)->is_complete; }, &request);
  }

  /// Polls until `done(argument)`.  `reason` is what a report of a hang shows; may be null.
  void wait_until(bool (*done)(const void* argument) noexcept, const void* argument, const Request* reason) noexcept {
    if (!done(argument)) wait_slow(reason, done, argument);
  }

  /// Whether more ranks run on this node than it has CPUs: then waits give the core away at once.
  void set_oversubscribed(bool oversubscribed) noexcept { is_oversubscribed_ = oversubscribed; }

 private:
  static constexpr int kQuickPolls = 4;
  void poll_peer(int peer) noexcept;
  void wait_slow(const Request* reason, bool (*done)(const void*) noexcept, const void* argument) noexcept;
  bool poll_parked() noexcept;

  std::vector<transport::Transport*> transports_;
  Pollable* parked_ = nullptr;
  bool is_polling_parked_ = false;
  bool is_oversubscribed_ = false;
};

}  // namespace dunlin::progress
