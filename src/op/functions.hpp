// The functions about operators in the standard's chapter "Collective Communication" (MPI 5.0, 6.9).
//
// Called by the generated C bindings, which have checked handles, null pointers and negative counts.
#pragma once

#include <cstdint>

#include "base/err.hpp"
#include "datatype/datatype.hpp"
#include "op/op.hpp"

namespace dunlin::op {

/// MPI_Op_create and MPI_Op_create_c (cast the program's MPI_User_function).
Err op_create(UserFunction function, bool is_commutative, Op** op) noexcept;
Err op_create(UserFunctionLarge function, bool is_commutative, Op** op) noexcept;
/// Gives up the program's reference; predefined operators are refused.
Err op_free(Op& op) noexcept;
Err op_commutative(const Op& op, int* is_commutative) noexcept;
/// inout = in op inout.
Err reduce_local(const void* in, void* inout, std::int64_t count, const Datatype& type,
                 const Op& op) noexcept;

}  // namespace dunlin::op
