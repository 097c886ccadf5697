// What the ranks of a window or a file tell each other while it is made: a few words each.
#pragma once

#include <cstddef>
#include <vector>

#include "base/err.hpp"
#include "base/log.hpp"
#include "coll/functions.hpp"
#include "object/comm.hpp"

namespace dunlin::coll {

/// Collective: what each rank gives, by rank.  `T` is plain data.  Ends the job where another rank does
/// something else on this communicator, of which the program knows nothing: it belongs to the window or file.
template <class T>
std::vector<T> gather_all(Comm& comm, const T& mine) noexcept {
  std::vector<T> all(std::size_t(comm.size));
  const Datatype& byte = *from_handle<Datatype>(MPI_BYTE);
  const Err error = allgather(&mine, sizeof mine, &byte, all.data(), sizeof mine, byte, comm);
  if (error != Err::ok)
    log::die("the ranks of a window or file call different functions of it: %s", error_detail(error));
  return all;
}

/// Collective: the first error that any rank found, for all of them.  `doing` is "making the window".
inline Err agree(Comm& comm, Err mine, const char* doing) noexcept {
  const std::vector<Err> all = gather_all(comm, mine);
  if (mine != Err::ok) return mine;
  for (int rank = 0; rank < comm.size; ++rank)
    if (const Err error = all[std::size_t(rank)]; error != Err::ok)
      return fail(error, "rank %d could not take part in %s", rank, doing);
  return Err::ok;
}

}  // namespace dunlin::coll
