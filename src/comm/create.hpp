// What all ways of making a communicator share: how the members agree, and how the object is filled in.
//
// Agreement is one short collective over the parent (coll/plan.hpp) that carries, besides what the call
// needs, the context that the new group's leader took from its own counter (comm/process.hpp).  Messages
// travel on planes of their own, so that they never meet those of the program: `internal` with a tag that
// counts the creations of the parent, `named` with the program's tag where only some members take part.
//
// Used by dup.cpp, split.cpp, create.cpp, intercomm.cpp.  Threads may make communicators of different parents
// at once: a wait inside gives base/big_lock.hpp up, and nothing here is shared but the counter of contexts.
#pragma once

#include <cstdint>

#include "coll/algorithms/algorithms.hpp"
#include "coll/plan.hpp"
#include "comm/process.hpp"

namespace dunlin::comm {

/// The contexts of a new communicator.
struct Contexts {
  std::uint64_t context = 0;
  std::uint64_t local = 0;  // inter-communicator: of the communicator inside the local group
};

/// How many contexts the leader of an inter-communicator's group takes: one for both groups, one for its own.
inline constexpr std::uint32_t kContextsPerInter = 2;
/// Both sides must name the same one, so the lower number of the two leaders' wins.
inline Contexts agreed(std::uint64_t mine, std::uint64_t theirs) noexcept {
  return {mine < theirs ? mine : theirs, mine + kContextStep};
}

/// All ranks of `comm` (inter-communicator: of both groups), under the number of this creation.
coll::Cx next_creation(Comm& comm) noexcept;
/// Of the ranks of `comm` only `members`, which must outlive the run; this process is `members[rank]`.
coll::Cx creation_among(Comm& comm, const std::vector<int>& members, int rank, Plane plane, int tag) noexcept;

/// All members of a communicator that is being made, in a run that is under way.
inline coll::Cx all_of(coll::Cx running, Comm& made) noexcept {
  coll::Cx cx = next_creation(made);
  cx.run = running.run;
  return cx;
}

/// The context of a new group reaches all of `cx`; its rank 0 is the leader, which takes it.
coll::Task share_context(coll::Cx cx, std::uint64_t* context);
/// The same for both groups of an inter-communicator `cx`.
coll::Task share_contexts_inter(coll::Cx cx, Contexts* contexts);

/// Runs a task of this process to its end: `run_blocking(cx, [&](coll::Cx cx) { return task(cx, ...); })`.
template <class Begin>
Err run_blocking(const coll::Cx& cx, const Begin& begin) noexcept {
  struct Arguments {
    const Begin& begin;
    coll::Task start(coll::Cx cx) const noexcept { return begin(cx); }
    coll::Held held() const noexcept { return {}; }  // MPI's objects: kept by the bindings
  };
  return coll::run(cx, Arguments{begin});
}

/// An empty communicator with the messaging, the engine, the process and the error handler of `parent`.
Ref<Comm> make_unfinished(const Comm& parent) noexcept;
void set_group(Comm& made, Ref<Group> group) noexcept;
/// Makes it an inter-communicator, with its inner communicator.
void set_remote_group(Comm& made, Ref<Group> remote_group) noexcept;
void set_contexts(Comm& made, const Contexts& contexts) noexcept;

/// Hints that the library knows (MPI 5.0, 7.4.4); the others are ignored.
void set_hints(Comm& made, const Info& info) noexcept;

}  // namespace dunlin::comm
