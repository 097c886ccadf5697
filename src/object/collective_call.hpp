// Which collectives a rank has called on a communicator lately: what tells ranks apart that call different
// ones, or the same ones in another order (MPI 5.0, 6.13).  Noted by coll/plan.hpp, compared there and by
// launcher/wait_table.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>

namespace dunlin {

/// The v- and w-forms count as the plain one.
enum class Collective : std::uint8_t {
  none,  // not noted
  barrier,
  bcast,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce,
  allreduce,
  reduce_scatter,
  scan,
  exscan,
  neighbor
};

/// In 16 bits, so that communicators can remember some.
struct CollectiveCall {
  std::uint16_t which : 4 = 0;           // Collective
  std::uint16_t is_nonblocking : 1 = 0;  // or persistent
  std::uint16_t root_and_one : 11 = 0;   // 0: there is none, or it is too large a number

  bool operator==(const CollectiveCall& other) const noexcept {
    return which == other.which && is_nonblocking == other.is_nonblocking &&
           root_and_one == other.root_and_one;
  }
  static CollectiveCall of(Collective which, bool is_nonblocking, int root) noexcept {
    CollectiveCall call;
    call.which = std::uint16_t(std::uint16_t(which) & 15);
    call.is_nonblocking = is_nonblocking;
    call.root_and_one = std::uint16_t(unsigned(root) < 2047u ? unsigned(root + 1) & 2047u : 0u);
    return call;
  }
};
static_assert(sizeof(CollectiveCall) == 2);

/// "MPI_Ibcast(root 1)".
inline void print(CollectiveCall call, char* text, std::size_t bytes_max) noexcept {
  static constexpr const char* kNames[] = {
      "unknown", "barrier",   "bcast",          "gather", "scatter", "allgather",        "alltoall",
      "reduce",  "allreduce", "reduce_scatter", "scan",   "exscan",  "neighbor_alltoall"};
  const char* const name = kNames[call.which < std::size(kNames) ? call.which : 0];
  const char first = call.is_nonblocking ? 'I' : char(name[0] - 'a' + 'A');
  const int used = std::snprintf(text, bytes_max, "MPI_%c%s", first, name + (call.is_nonblocking ? 0 : 1));
  if (call.root_and_one > 0)
    std::snprintf(text + used, bytes_max - std::size_t(used), "(root %d)", call.root_and_one - 1);
}

inline constexpr int kCallsRemembered = 16;

}  // namespace dunlin
