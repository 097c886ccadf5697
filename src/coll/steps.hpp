// What a collective algorithm is written in: a group of ranks that exchange messages, step by step.
//
// `Cx` is handed to every task by value.  `post_*` start messages, `co_await cx.all()` goes on when all are
// through; `send`, `recv` and `sendrecv` are the two in one.  Data is described by `Block` (coll/block.hpp)
// or Source/Target.
#pragma once

#include <cstdint>

#include "base/assert.hpp"
#include "coll/block.hpp"
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
  std::int32_t tag = 0;      // keeps this collective apart from the others of `comm`
  int rank = 0;              // mine in the group
  int size = 0;              // of the group (inter-communicator: of the local group)
  Region* region = nullptr;  // where the group works in shared memory; nullptr: nowhere
  int track = 0;             // of the region

  /// A rank of the group from one that is at most a group's size off; a division would take longer.
  int wrapped(int member) const noexcept {
    DUNLIN_ASSERT(member >= -size && member < 2 * size);
    return member < 0 ? member + size : member < size ? member : member - size;
  }
  int remote_size() const noexcept { return comm->target_size; }  // inter-communicator only
  /// The collective's context inside the local group of an inter-communicator.  The tag is the same:
  /// `local_comm` serves nothing else.
  Cx local() const noexcept {
    Cx inside = *this;
    inside.comm = comm->local_comm.get();
    inside.region = nullptr;
    return inside;
  }

  /// The same ranks, without their shared memory.
  Cx apart() const noexcept {
    Cx apart = *this;
    apart.region = nullptr;
    return apart;
  }

  void post_send(const Source& data, int to) const noexcept {
    run->post_send(*comm, plane, data, target(to), tag);
  }
  void post_recv(const Target& data, int from) const noexcept {
    run->post_receive(*comm, plane, data, target(from), tag);
  }
  Step all() const noexcept { return {run}; }
  /// The next turn in the region, which there must be.
  Turn turn() const noexcept { return {*region, track}; }
  Step until(const Flags& flags) const noexcept {
    run->await(flags, *comm, tag);
    return {run};
  }

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

  /// Whether a member that is there has brought as many bytes as this rank expects; else the run ends.
  bool agrees(const Turn& turn, int member, std::size_t bytes) const noexcept {
    const bool is_so = turn.bytes_of(member) == bytes;
    if (!is_so) [[unlikely]] {
      Completion message;
      message.source = member;
      message.tag = tag;
      run->set_error(
          protocol::wrong_length(*comm, comm->context_of(plane), message, turn.bytes_of(member), bytes));
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
