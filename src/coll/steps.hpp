// What a collective algorithm is written in: a group of ranks that exchange messages, step by step.
//
// `Cx` is handed to every task by value.  `post_*` start messages, `co_await cx.all()` goes on when all are
// through; `send`, `recv` and `sendrecv` are the two in one.  Data is described by `Block` (coll/block.hpp)
// or Source/Target.
#pragma once

#include <cstdint>

#include "base/assert.hpp"
#include "coll/block.hpp"
#include "coll/hierarchy.hpp"
#include "coll/run.hpp"
#include "object/comm.hpp"
#include "protocol/messaging.hpp"

namespace dunlin::coll {

struct Cx {
  Run* run = nullptr;
  Comm* comm = nullptr;
  const int* members =
      nullptr;  // ranks in `comm` of the group that takes part; nullptr: all, by their own ranks
  Plane plane = Plane::collective;
  std::int32_t tag = 0;                  // keeps this collective apart from the others of `comm`
  int rank = 0;                          // mine in the group
  int size = 0;                          // of the group (inter-communicator: of the local group)
  const Hierarchy* hierarchy = nullptr;  // where the group has several domains
  Region* region = nullptr;              // shared memory of the group, or of this rank's domain
  int track = 0;                         // of the region
  std::uint64_t number = 0;  // of the next turn where that was reserved (of the first of two), else 0

  /// A rank of the group from one that is at most a group's size off; a division would take longer.
  int wrapped(int member) const noexcept {
    DUNLIN_ASSERT(member >= -size && member < 2 * size);
    return member < 0 ? member + size : member < size ? member : member - size;
  }
  int remote_size() const noexcept { return comm->target_size; }  // inter-communicator only
  /// The collective's context inside the local group of an inter-communicator.  The tag is the same:
  /// `local_comm` serves nothing else.
  Cx local() const noexcept {
    Cx inside = apart();
    inside.comm = comm->local_comm.get();
    return inside;
  }

  /// The same ranks, without their shared memory.
  Cx apart() const noexcept {
    Cx apart = *this;
    apart.hierarchy = nullptr;
    apart.region = nullptr;
    return apart;
  }
  /// Whether all ranks of the group share memory.
  bool share_memory() const noexcept { return region && !hierarchy; }

  /// This rank's domain, which takes the first or the second of its turns.
  Cx domain(int turn) const noexcept {
    DUNLIN_ASSERT(turn == 0 || turn == 1);
    const std::span<const int> inside = hierarchy->members(hierarchy->domain_of(rank));
    Cx domain = apart();
    domain.members = inside.data();
    domain.rank = hierarchy->place_of(rank);
    domain.size = int(inside.size());
    domain.region = region;
    domain.number = number > 0 ? number + std::uint64_t(turn) : 0;
    return domain;
  }
  static constexpr int kLast = -1;
  /// One leader of each domain, among them this rank: its member at `place`; `root`, where it is one.
  Cx leaders(int place, int root) const noexcept {
    auto* const ranks = reinterpret_cast<int*>(take(std::size_t(hierarchy->domains()) * sizeof(int)));
    for (int domain = 0; ranks && domain < hierarchy->domains(); ++domain) {
      const std::span<const int> inside = hierarchy->members(domain);
      ranks[domain] = place == kLast ? inside.back() : inside[std::size_t(place)];
    }
    if (ranks && root >= 0) ranks[hierarchy->domain_of(root)] = root;
    Cx leaders = apart();
    leaders.members = ranks;
    leaders.rank = hierarchy->domain_of(rank);
    leaders.size = hierarchy->domains();
    return leaders;
  }
  /// A later turn of this rank's domain.
  Reservation reserve() const noexcept { return {region, track}; }

  void post_send(const Source& data, int to) const noexcept {
    run->post_send(*comm, plane, data, target(to), tag);
  }
  void post_recv(const Target& data, int from) const noexcept {
    run->post_receive(*comm, plane, data, target(from), tag);
  }
  Step all() const noexcept { return {run}; }
  /// The next turn in the region, which there must be.
  Turn turn() const noexcept { return {*region, track, number}; }
  Step until(const Flags& flags) const noexcept {
    run->await(flags, *comm, members, tag);
    return {run};
  }
  /// The same where the other members have all that they need of this one in the turn.  Of a group inside a
  /// communicator others still may wait, and those that come later for a place.
  Step until_last(const Turn& turn, const Flags& flags) const noexcept {
    run->await(flags, *comm, members, tag, members != nullptr || turn.is_place_held());
    return {run};
  }
  /// The process of a member of the group.
  int peer(int member) const noexcept { return comm->target_members[target(member)]; }

  Step send(const Source& data, int to) const noexcept {
    post_send(data, to);
    return all();
  }
  Step recv(const Target& data, int from) const noexcept {
    post_recv(data, from);
    return all();
  }
  Step sendrecv(const Source& data, int to, const Target& room, int from) const noexcept {
    post_send(data, to);
    post_recv(room, from);
    return all();
  }

  /// Whether a member that is there has brought as many bytes as this rank expects; else the run ends with an
  /// error, later: nobody waits for this rank in vain.
  bool agrees(const Turn& turn, int member, std::size_t bytes) const noexcept {
    const bool is_so = agrees(member, turn.bytes_of(member), bytes);
    if (!is_so && !turn.has_arrived()) [[unlikely]]
      turn.arrive(0);
    return is_so;
  }
  bool agrees(int member, std::size_t brought, std::size_t bytes) const noexcept {
    const bool is_so = brought == bytes;
    if (!is_so) [[unlikely]] {
      Completion message;
      message.source = member;
      message.tag = tag;
      run->note_wrong_length(protocol::wrong_length(*comm, comm->context_of(plane), message, brought, bytes));
    }
    return is_so;
  }

  /// Scratch memory for the length of the run, 16-byte aligned; on nullptr the next step ends the run.
  std::byte* take(std::size_t bytes) const noexcept {
    void* memory = run->arena.take(bytes);
    if (!memory) [[unlikely]]
      run->set_error(fail_no_memory(bytes));
    return static_cast<std::byte*>(memory);
  }
  /// Room for `count` elements laid out as `type` says: element i lies at i * extent from what is returned.
  std::byte* take_elements(std::int64_t count, const Datatype& type) const noexcept {
    if (count == 0) [[unlikely]]
      return take(0);
    const std::int64_t bytes =
        type.true_extent() + (count - 1) * (type.extent() < 0 ? -type.extent() : type.extent());
    std::byte* memory = take(std::size_t(bytes));
    if (!memory) [[unlikely]]
      return nullptr;
    const std::int64_t below = type.extent() < 0 ? (count - 1) * -type.extent() : 0;
    return offset(memory, below - type.true_lower_bound());
  }

 private:
  int target(int member) const noexcept { return members ? members[member] : member; }
  static Err fail_no_memory(std::size_t bytes) noexcept {
    return fail(Err::no_mem, "no memory for %zu bytes of scratch space of a collective", bytes);
  }
};

}  // namespace dunlin::coll
