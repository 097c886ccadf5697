// The shortest way of MPI_Reduce_local: a kernel of a predefined operator, and nothing unusual about the
// arguments.
//
// Called by the C bindings before anything else.  It has no opinion on errors, copies, a program's functions
// or threads: whatever it does not recognise at once it declines, and the call goes the general way, which
// checks everything and finds the words for what is wrong.
//
// hot path: 38 instructions around the kernel, callgrind, and as few loads as can be.  A load waits for an
// earlier store that agrees with it in the lowest 12 bits of the address; among 4 KiB of stores one always
// does, so that each link of a chain of loads delays the next reduction: through the objects behind the
// handles MPI_SUM of 4 KiB took 27 ns, by the handles themselves 20, the kernel alone 17 (one VCPU of an AMD
// EPYC 9005). Thread safety: only where base/big_lock.hpp is not needed.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "object/life.hpp"
#include "op/kernels.hpp"

namespace dunlin::op {

/// inout = in op inout.  True: it is done.
[[gnu::always_inline]] inline bool try_reduce_local(const void* in, void* inout, std::int64_t count,
                                                    MPI_Datatype type_handle, MPI_Op op_handle) noexcept {
  const auto number = [](auto handle) noexcept { return reinterpret_cast<std::uintptr_t>(handle); };
  const std::uintptr_t type = number(type_handle) - number(MPI_DATATYPE_NULL);
  const std::uintptr_t op = number(op_handle) - number(MPI_OP_NULL);
  if (type >= kTypeHandles || op >= kOperators || count < 0 || !Life::is_usable()) return false;
  if (number(in) <= number(MPI_IN_PLACE) || number(inout) <= number(MPI_IN_PLACE)) return false;  // or null
  const CombineTwo combine = kernels.at(static_cast<Operator>(op), kind_of_handle[type]).two;
  if (!combine) return false;
  combine(in, inout, inout, count);
  return true;
}

}  // namespace dunlin::op
