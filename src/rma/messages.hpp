// One-sided operations that take their time: those that the target carries out, where its memory cannot be
// reached otherwise, as accumulates in memory that does not map, and those that the network does without it.
//
// The origin sends a control message (protocol/wire.hpp), which any wait of the target hears, and behind it
// the request as an ordinary message of the window's communicator: a head, the runs at the target, the data.
// The target applies it and answers with an error class and what was asked for.  Requests of one origin are
// done in order, those of different origins do not wait for each other.  The lock of a target on another node
// is such a request, too: the target draws a ticket for the origin, whose further requests wait behind it,
// and steps aside with it while nobody looks, so that the target's node need not wait for a target that
// computes. While the target computes and calls no MPI, its helper thread does them (progress/helper.hpp).
//
// Cost: two messages and one copy of the data on each side; a poll looks at the oldest of each rank only.
// What is under way takes 16 MiB at most, or is one operation: an origin that is further ahead waits.
// Used by operation.cpp (Outgoing) and through the control handler (Incoming).  Thread safety:
// base/big_lock.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/err.hpp"
#include "datatype/data.hpp"
#include "object/object.hpp"
#include "object/request.hpp"
#include "progress/engine.hpp"

namespace dunlin::rma {

class Window;
struct Operation;
enum class OperationKind : std::uint32_t;

/// From the first window on: control messages of this process's engine find their window.
void hear_requests(protocol::Messaging& messaging) noexcept;

/// Operations of this process on a window, from the request to the answer.
class Outgoing final : public progress::Pollable {
 public:
  explicit Outgoing(Window& window) noexcept : window_(window) {}
  /// Sends it off, when there is room.  The buffers of the program may be used again, but for those that are
  /// to be filled.
  void send(const Operation& operation, Request** request) noexcept;
  /// Has the network do it.  False: it cannot.  The buffers of the program are in use until it has.
  bool try_move(const Operation& operation, Request** request) noexcept;
  Outcome poll() noexcept override;

  /// The lock of a target on another node.  Nobody waits for the answer alone: operations queue behind it.
  void ask_for_lock(int target, bool is_shared) noexcept;
  void give_lock_back(int target) noexcept;
  /// Whether a lock of this target was asked for that has not been answered.
  bool awaits_lock(int target) const noexcept;
  /// Whether this process has asked for any such lock.
  static bool any_lock_is_awaited() noexcept { return locks_awaited_ > 0; }
  /// A target whose lock the calling thread has asked for, and has not got; -1: there is none.
  int lock_awaited_here() const noexcept;

 private:
  struct AskedLock {
    int target;
    const void* thread;  // that has asked
  };
  struct One {
    std::vector<std::byte> request, answer;
    bool is_wanted = false;
    Target wanted;
    Ref<Datatype> type;          // of `wanted`
    Request* waiting = nullptr;  // what the program waits for, where it asked
    Request* out = nullptr;      // of the request, or what the network does
    Request* in = nullptr;       // of the answer; nullptr: there is none, the network does it
    bool must_ring = false;      // when all has left: the target was not rung behind it
    std::size_t bytes = 0;       // of memory that it takes
  };
  void await_room(int rank, std::size_t bytes) noexcept;
  One& begin(int rank, std::size_t bytes, Request** request) noexcept;
  Err take_answer(int rank, const One& one) noexcept;
  void park() noexcept;
  void send_alone(int target, OperationKind kind) noexcept;
  void end(int rank, One& one) noexcept;
  bool try_ring(int rank) noexcept;

  Window& window_;
  std::map<int, std::deque<One>> each_;  // by target; in order
  std::size_t bytes_ = 0;                // of memory that all of them take
  std::vector<AskedLock> locks_;         // in the order in which they were asked for
  bool is_parked_ = false;
  static inline int locks_awaited_ = 0;  // in all windows
};

/// Operations of others on a window, from the announcement to the answer.
class Incoming final : public progress::Pollable {
 public:
  explicit Incoming(Window& window) noexcept : window_(window) {}
  void announced(int rank, std::size_t bytes) noexcept;
  Outcome poll() noexcept override;
  void left_alone() noexcept override;
  /// Waits until all that was announced is answered, and the answers have left.
  void finish() noexcept;

 private:
  struct One {
    std::vector<std::byte> request;
    Request* in = nullptr;  // of the request, from its turn on
    bool has_come = false;  // the request, completely
  };
  /// An origin on another node at our lock.
  struct Guest {
    bool is_shared = false;
    bool is_waiting = false;
  };
  struct Answer {
    std::vector<std::byte> bytes;
    Request* out = nullptr;
  };
  bool try_carry_out(int rank, One& one) noexcept;
  bool try_let_in(int rank, bool is_shared) noexcept;
  void let_out(int rank) noexcept;
  void step_aside() noexcept;
  void step_back() noexcept;
  bool try_forget_answers(std::deque<Answer>& answers) noexcept;

  Window& window_;
  std::map<int, std::deque<One>> each_;        // by origin; in order
  std::map<int, std::deque<Answer>> answers_;  // by origin; in order; that have not left
  std::map<int, Guest> guests_;                // by origin
  std::deque<int> waiting_;                    // of them, in order of arrival
  std::optional<std::uint32_t> ticket_;        // of the first that waits, or will
  bool is_aside_ = false;                      // it has stepped aside
  bool is_parked_ = false;
};

}  // namespace dunlin::rma
