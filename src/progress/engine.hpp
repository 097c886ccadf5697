// Who waits: one engine per process (many in a simulation) polls transports and resumes parked work.
//
// `Engine` polls the transports into `protocol::Messaging`, which lies beside it (docs/decisions/0015). Every
// wait of the library goes through `wait` or `wait_until`: poll while that pays, then give the CPU away,
// then sleep until a peer's message wakes it (ARCHITECTURE.md, idea 3; docs/decisions/0008-waiting.md).  Work
// to resume (collectives, one-sided) is a `Pollable`.
//
// Thread safety: all calls under base/big_lock.hpp.  Where several threads may call, a wait gives the lock up
// between polls; one waiting thread polls for all, the others sleep.
// Invariants:
//  1. Whoever ends a thread's wait (by a poll, or by any other call) wakes it before giving up the lock.
//  2. Who stops polling wakes one of those that still wait, which polls from then on.
//  3. Whoever begins what goes on only by polls wakes the poller that sleeps, and that one has the patience
//     of a new wait: it may take many polls (a provider that connects).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.hpp"
#include "progress/long_wait.hpp"
#include "protocol/messaging.hpp"
#include "transport/transport.hpp"

namespace dunlin::progress {

/// Parked work.  Polled by every round of the engine until it answers `finished`.
class Pollable {
 public:
  enum class Outcome : std::uint8_t { idle, advanced, finished };
  /// Must not block and must not call Engine::poll; may send, receive and add pollables.
  virtual Outcome poll() noexcept = 0;
  /// From now on nobody polls until the program's next call (see Engine::is_attended).
  virtual void left_alone() noexcept {}

 protected:
  ~Pollable() = default;

 private:
  friend class Engine;
  Pollable* next_ = nullptr;
  bool is_parked_ = false;  // in the engine's list
};

class Engine {
 public:
  using Done = bool (*)(const void* argument) noexcept;

  /// `messaging` takes what arrives, and is advanced by every round; must outlive this.
  explicit Engine(protocol::Messaging& messaging) noexcept : messaging_(messaging) {}

  /// The engine of this process, for calls that name no communicator; runtime sets it, simulations do not.
  static Engine* of_process() noexcept { return of_process_; }
  static void set_of_process(Engine* engine) noexcept { of_process_ = engine; }

  /// From now on polled.  The one added first is asked first for a message that is awaited.  Not owned.
  void add(transport::Transport& transport) noexcept { transports_.push_back(&transport); }

  /// From now on polled until finished.  The engine does not own it; a finished one is forgotten before poll
  /// returns.
  void add(Pollable& work) noexcept {
    DUNLIN_ASSERT(!work.is_parked_);
    work.is_parked_ = true;
    work.next_ = parked_;
    parked_ = &work;
  }

  /// One round: messages, pending sends, parked work.  Answers whether anything moved.
  bool poll() noexcept;

  /// A round for a call that does not wait (MPI_Test, MPI_Iprobe) and has not found what it looks for, which
  /// `explain(argument, ...)` tells.  Programs make loops of such calls: where ranks share CPUs, some in a
  /// row that move nothing give the CPU away.
  void poll_for_test(const void* argument, LongWait::Explain explain) noexcept;
  void poll_for_test(const Request& request) noexcept;

  /// hot path.  Polls until `request.is_complete`.  `from` is the peer index whose message is awaited, or -1.
  void wait(const Request& request, int from = -1) noexcept;

  /// How often a wait for flags in shared memory looks at them alone before it polls everything; and to be
  /// called when one of these looks has ended it.
  int polls_direct() const noexcept;
  void end_direct() noexcept { end_named_receive(); }
  /// Gives the CPU away to who else is ready.
  void give_way() noexcept;
  /// The same for parked work that waits for such flags only.
  void poll_alone(Pollable& work) noexcept;

  /// Polls until `done(argument)`.  `explain(argument, ...)` tells the report of a hang what for.  `peer`:
  /// who ends it, or -1.
  void wait_until(Done done, const void* argument, LongWait::Explain explain, int peer = -1) noexcept;
  /// The same for a turn that comes when others have done their work, the last of whom wakes this process:
  /// where ranks share CPUs it sleeps at once, and leaves the CPU to them.
  void wait_for_turn(Done done, const void* argument, LongWait::Explain explain) noexcept;

  /// Whether somebody goes on to poll after this round: a thread that waits, or the helper.
  bool is_attended() const noexcept;

  /// For the helper thread (helper.hpp): a round, unless a thread waits, which polls for all.  None: nothing
  /// is to be done for it, or somebody else does it.
  enum class Help : std::uint8_t { none, idle, moved };
  Help help() noexcept;
  /// So many pieces of work more that must go on while the program computes, or less.
  void expect_help(int pieces) noexcept { help_expected_ += pieces; }
  /// By which this process's helper is woken; nullptr where it is alone on its node.
  transport::shm::Bell* bell() const noexcept;

  /// Whether more ranks run on this node than it has CPUs: then waits give the CPU away at once.
  void set_oversubscribed(bool oversubscribed) noexcept;
  bool is_oversubscribed() const noexcept { return is_oversubscribed_; }
  /// Whether this node has more CPUs than ranks.
  void set_has_free_core(bool has) noexcept { has_free_core_ = has; }
  bool has_free_core() const noexcept { return has_free_core_; }
  /// Whether that is so on any node of the job: the same on all ranks (runtime/job_facts.hpp).
  void set_job_shares_cores(bool shares) noexcept { job_shares_cores_ = shares; }
  bool does_job_share_cores() const noexcept { return job_shares_cores_; }

 private:
  static inline Engine* of_process_ = nullptr;
  class Patience;
  struct Waiter;
  /// `peer`: whose message is awaited, or -1.
  [[gnu::noinline]] void wait_slow(Done done, const void* argument, LongWait::Explain explain, int peer,
                                   bool is_for_turn = false) noexcept;
  std::int64_t polls_for(int peer) const noexcept;
  /// By which peers see whether this process runs; null where that interests nobody.
  transport::shm::Presence* presence() const noexcept;
  template <class GiveWay>
  void away(GiveWay give_way) noexcept;
  void rest() noexcept;
  bool poll_parked() noexcept;
  void sleep(Waiter& me, std::int64_t timeout_ns, int lock_levels) noexcept;
  void test_shared() noexcept;
  void end_named_receive() noexcept;
  void all_polled() noexcept;
  void end_wait() noexcept;
  void slept(Waiter& me) const noexcept;

  void join(Waiter& me) noexcept;
  void leave(Waiter& me) noexcept;
  static void watch(Waiter& me) noexcept;
  void wake(Waiter& waiter) noexcept;
  void wake_finished() noexcept;
  static void before_release() noexcept;

  protocol::Messaging& messaging_;
  std::vector<transport::Transport*> transports_;
  Pollable* parked_ = nullptr;
  bool is_polling_parked_ = false;
  int waiting_ = 0;  // threads inside wait_slow
  int help_expected_ = 0;
  bool has_refused_help_ = false;  // the helper thread was turned away while a thread polled
  bool is_oversubscribed_ = false;
  bool has_free_core_ = false;
  bool job_shares_cores_ = false;
  std::int64_t fruitless_tests_ = 0;           // in a row, where ranks share CPUs
  Waiter* waiters_ = nullptr;                  // threads in a wait, where there are several
  Waiter* poller_ = nullptr;                   // the one that polls for all
  bool is_asleep_ = false;                     // it sleeps, or is about to
  transport::Transport* asleep_in_ = nullptr;  // then: where; nullptr: on its own word
  std::uint64_t begun_seen_ = 0;               // what had begun (Messaging::begun) at its last turn
};

}  // namespace dunlin::progress
