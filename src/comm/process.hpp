// What creating communicators must know about this process.  Filled by runtime/ once, before `create_world`;
// lives as long as any communicator.  A simulation has one per simulated rank.
//
// Contexts: `next_contexts` hands out numbers that no other process hands out: 8 bits of job, 22 bits of
// world rank, 29 bits of a counter, 3 bits that name
// the new group's shared memory among those that the leader gives away (transport/shm/commons.hpp), 2 bits of
// plane.  The leader of a new group (or the lower of two leaders)
// takes one and the messages that agree on membership carry it; nobody has to agree on what is free, and
// nothing is used twice. Scale: 4 M ranks per job, 500 M communicators led by one process; `node_peers` is
// O(ranks of this node). Thread safety: under base/big_lock.hpp.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "boot/node_map.hpp"
#include "object/comm.hpp"
#include "os/topology.hpp"

namespace dunlin::comm {

struct Process {
  protocol::Messaging* messaging = nullptr;
  progress::Engine* engine = nullptr;
  int job = 0;  // which job of those that met by spawn or connect; 0 for the first
  int me = 0;   // world rank, which is also the peer index
  int world_size = 1;
  boot::NodeMap node_map;                 // of world ranks; the same in all processes
  os::NearRanks near_ranks;               // on every node; the same in all processes
  std::vector<int> node_peers = {0};      // world ranks of this node, ascending, this process included
  std::uint32_t contexts_taken = 2;       // of the counter; 0: world (of rank 0), 1: self
  std::uint32_t contexts_max = 1u << 29;  // fewer where a network matches (protocol/match_bits.hpp)

  Ref<Comm> world;  // set by create_world
  Ref<Comm> self;

  /// That of this process, for calls that name no communicator; set by `publish_world`.
  static Process* of_process() noexcept { return of_process_; }
  static void set_of_process(Process* process) noexcept { of_process_ = process; }

  static constexpr std::uint64_t kNoCommons = 7;
  std::uint64_t context(std::uint32_t number, std::uint64_t commons) const noexcept {
    DUNLIN_ASSERT(job >= 0 && job < 1 << 7);  // the top bit is that of named contexts, see create.cpp
    DUNLIN_ASSERT(me >= 0 && me < 1 << 22);
    return std::uint64_t(job) << 56 | std::uint64_t(me) << 34 | std::uint64_t(number) << 5 | commons << 2;
  }
  /// For a new communicator that this process leads: with shared memory, where some is left.
  std::uint64_t next_context() noexcept;
  /// No communicator came of it.
  void give_back(std::uint64_t context) noexcept;
  /// For an inter-communicator: `count` contexts in a row without; the next is `kContextStep` further.
  std::uint64_t next_contexts(std::uint32_t count) noexcept {
    return context(take_number(count), kNoCommons);
  }

 private:
  std::uint32_t take_number(std::uint32_t count) noexcept {
    if (contexts_taken + count > contexts_max)
      log::die("rank %d has led %u communicators; there are no more contexts", me, contexts_taken - 2);
    return std::exchange(contexts_taken, contexts_taken + count);
  }
  static inline Process* of_process_ = nullptr;
};

inline constexpr std::uint64_t kContextStep = 1 << 5;
/// Whether members meet there that have no communicator yet (from_group.cpp).
inline bool is_meeting_place(std::uint64_t context) noexcept { return context >> 63 != 0; }

/// Makes world and self of this process, with MPI_ERRORS_ARE_FATAL; no communication.  `process` must stay
/// where it is. Handles are given by `publish_world`, which a simulation with many processes does not call.
void create_world(Process& process) noexcept;
void publish_world(Process& process) noexcept;
/// What MPI_Finalize does first: the delete callbacks of MPI_COMM_SELF's attributes, last set first
/// (MPI 5.0, 11.2.4).
Err finish_self(Process& process) noexcept;
/// Takes the handles back and frees world and self.
void destroy_world(Process& process) noexcept;

}  // namespace dunlin::comm
