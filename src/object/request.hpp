// MPI_Request: something that will be complete one day (MPI 5.0, 3.7; 3.9 persistent; 6.12 collectives; 13.2
// generalized).
//
// One class for what all share; the virtual functions are for the slow calls only.  `is_complete` and the
// result fields are written by whoever finishes the operation (protocol, coll), in this process, under
// base/big_lock.hpp where threads are.
#pragma once

#include <cstdint>

#include "base/err.hpp"
#include "object/object.hpp"
#include "object/wait_reason.hpp"

namespace dunlin {

class Comm;

/// What MPI_Status shows of a finished receive.
struct Completion {
  int source = -1;  // rank in the communicator
  int tag = -1;
  Err error = Err::ok;
  bool is_cancelled = false;
  std::uint64_t bytes = 0;  // received, packed
};

class Request : public Object {
 public:
  static constexpr Kind kKind = Kind::request;
  Request() noexcept : Object(Kind::request) {}

  // A persistent request is inactive between its completion and the next start; others are active until they
  // are freed.
  bool is_complete = false;  // written by whoever finishes the operation, read by waits
  bool is_active = true;
  bool is_persistent = false;
  bool is_let_go =
      false;  // MPI_Request_free while under way: the object goes when the operation has finished
  bool has_own_status = false;  // generalized: `fill_status` and `reported` do something of their own
  bool is_static = false;       // shared by all operations of its sort that are complete at once: never freed
  bool has_empty_status =
      false;             // sends: the status of MPI_Wait is the empty one but for error and cancelled
  Comm* comm = nullptr;  // whose error handler hears of `completion.error`; kept alive by `hold`
  Completion completion;

  /// Keeps the communicator until the request goes: the program may free its handle before.  (In comm.hpp.)
  void hold(Comm& communicator) noexcept;

  /// MPI_Start: begins a new round of a persistent request that is not under way; others are refused.
  Err start() noexcept;
  /// Whether it is under way and would gain from steps while the program computes (progress/helper.hpp).
  virtual bool wants_help() const noexcept { return false; }
  /// Before a wait for it alone: looks for a moment at what only it waits for, where that is in shared
  /// memory.
  virtual void look_first() noexcept {}
  /// MPI_Cancel: tries to take the operation back; completion.is_cancelled tells after the wait.
  virtual Err cancel() noexcept { return Err::ok; }
  /// MPI_Request_free: the program's reference goes; an operation under way still runs to its end.
  void let_go() noexcept {
    if (is_complete || !is_active) return release();
    mark_let_go();
  }
  /// Operations of this process that are under way although the program has freed their requests.
  static inline std::int64_t all_let_go = 0;
  /// The operation has come to its end; nothing may touch the request afterwards.
  void finish() noexcept {
    is_complete = true;
    if (is_let_go) [[unlikely]]
      release();
  }
  /// Generalized requests only: the program's query function, once a wait or test found them complete.
  virtual Err query(void* status) noexcept;
  /// Generalized requests only: the program's free function, after completion was reported.
  virtual Err reported() noexcept { return Err::ok; }
  /// MPI_Pready of one partition, and whether it would be an error: of partitioned sends only.
  virtual Err ready(int partition) noexcept;
  virtual Err check_ready(int partition) const noexcept;
  /// MPI_Parrived: of partitioned receives only.
  virtual Err arrived(int partition, int* flag) noexcept;
  /// What a wait for it waits for.
  virtual void explain(WaitReason& reason) const noexcept;

 protected:
  ~Request() override {
    if (is_comm_held_) release_comm();
  }
  virtual Err begin_round() noexcept { return Err::ok; }

 private:
  void release_comm() noexcept;
  void mark_let_go() noexcept;
  bool is_comm_held_ = false;
};

/// The request of every operation of a sort that is complete at once: never freed, never changed.
class CompletedRequest final : public Request {
 public:
  CompletedRequest(bool has_empty, const Completion& result) noexcept {
    is_complete = true;
    is_static = true;
    has_empty_status = has_empty;
    completion = result;
  }
  /// Of sends, and of collectives, that were complete when the call returned.
  static CompletedRequest& of_sends() noexcept { return reinterpret_cast<CompletedRequest&>(of_sends_); }

 private:
  alignas(64) static unsigned char of_sends_[];  // never destroyed: programs hold its handle to the very end
};

}  // namespace dunlin
