// One-sided operations that the target carries out: where its memory cannot be reached otherwise, as
// accumulates in memory that does not map.
//
// The origin sends a control message (protocol/wire.hpp), which any wait of the target hears, and behind it
// the request as an ordinary message of the window's communicator: a head, the runs at the target, the data.
// The target applies it and answers with an error class and what was asked for.  Requests of one origin are
// done in order.  A target that computes and calls no MPI lets them wait.
//
// Cost: two messages and one copy of the data on each side.
// Used by operation.cpp (send) and through the control handler (Incoming).  Thread safety: base/big_lock.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/err.hpp"
#include "object/request.hpp"
#include "progress/engine.hpp"

namespace dunlin::rma {

class Window;
struct Operation;

/// Sends it off.  The buffers of the program may be used again, but for those that are to be filled.
Err send(Window& window, const Operation& operation, Request** request) noexcept;

/// From the first window on: control messages of this process's engine find their window.
void hear_requests(protocol::Messaging& messaging) noexcept;

/// Operations of others on this window, from the announcement to the answer.
class Incoming final : public progress::Pollable {
 public:
  explicit Incoming(Window& window) noexcept : window_(window) {}
  void announced(int rank, std::size_t bytes) noexcept;
  Outcome poll() noexcept override;
  /// Waits until all that was announced is answered, and the answers have left.
  void finish() noexcept;

 private:
  struct One {
    int rank;
    std::vector<std::byte> request;
    std::vector<std::byte> answer;
    Request* under_way = nullptr;  // of the request, then of the answer
    bool is_answered = false;
  };
  bool try_advance(One& one) noexcept;

  Window& window_;
  std::deque<One> each_;  // in the order of announcement
  bool is_parked_ = false;
};

}  // namespace dunlin::rma
