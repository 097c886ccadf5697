// What MPI_Op points to: a reduction operator, predefined or a program's own function.
//
// hot path: an operator holds its row of the table of kernels (op/kernels.hpp, chosen at start), so that a
// reduction is three loads and a jump.  Who calls: coll/, rma/ (accumulate), MPI_Reduce_local.  Buffers
// may be unaligned.
//
// Thread safety: immutable after construction, so any thread may read; a program's function may run on any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/err.hpp"
#include "datatype/datatype.hpp"
#include "object/object.hpp"
#include "op/kernels.hpp"

namespace dunlin {

namespace op {

/// The functions a program passes to MPI_Op_create and MPI_Op_create_c; a datatype argument points to a
/// handle.
using UserFunction = void (*)(void* in, void* inout, int* count, void* datatype);
using UserFunctionLarge = void (*)(void* in, void* inout, std::int64_t* count, void* datatype);

}  // namespace op

class Op final : public Object {
 public:
  static constexpr Kind kKind = Kind::op;

  bool is_commutative() const noexcept { return is_commutative_; }
  op::Operator operation() const noexcept { return operation_; }

  /// What computes it on elements of this type; `two` and `many` are nullptr where the operator is not
  /// defined for the type, is a program's function, or only copies.
  const op::Kernel& kernel(const Datatype& type) const noexcept {
    return kernels_[static_cast<int>(type.basic())];
  }
  /// Whether the standard allows this operator on this type (MPI 5.0, 6.9.2); always for a program's
  /// function.
  Err check(const Datatype& type) const noexcept {
    return kernel(type).two ? Err::ok : check_without_kernel(type);
  }

  /// inout = in op inout.
  void combine(const void* in, void* inout, std::int64_t count, const Datatype& type) const noexcept {
    combine3(in, inout, inout, count, type);
  }
  /// out = a op b; `out` may be `a` or `b` for a predefined operator.
  void combine3(const void* a, const void* b, void* out, std::int64_t count,
                const Datatype& type) const noexcept {
    const op::Kernel& known = kernel(type);
    if (!known.two) [[unlikely]]
      return combine3_without_kernel(a, b, out, count, type);
    known.two(a, b, out, count);
  }
  /// out = operands[0] op operands[1] op ...; predefined operators evaluate from left to right, a program's
  /// function (which writes its right operand) from right to left.  `out` may be one of the operands only
  /// where predefined.
  void combine_k(std::span<const void* const> operands, void* out, std::int64_t count,
                 const Datatype& type) const noexcept;

  /// A predefined operator.
  explicit Op(op::Operator operation) noexcept
      : Object(kKind), operation_(operation), kernels_(op::kernels.row(operation)) {}
  Op(op::UserFunction function, bool is_commutative) noexcept
      : Object(kKind), is_commutative_(is_commutative), function_(function) {}
  Op(op::UserFunctionLarge function, bool is_commutative) noexcept
      : Object(kKind), is_commutative_(is_commutative), function_large_(function) {}

 private:
  Err check_without_kernel(const Datatype& type) const noexcept;
  void combine3_without_kernel(const void* a, const void* b, void* out, std::int64_t count,
                               const Datatype& type) const noexcept;
  void call_user(const void* in, void* inout, std::int64_t count, const Datatype& type) const noexcept;

  op::Operator operation_ = op::Operator::user;
  bool is_commutative_ = true;
  const op::Kernel* kernels_ = op::kernels.row(op::Operator::user);  // by element kind
  op::UserFunction function_ = nullptr;             // the program's; exactly one of the two when `user`
  op::UserFunctionLarge function_large_ = nullptr;  // the program's
};

/// Registers every predefined operator of the standard ABI under its handle; once, before any other use.
void init_predefined_ops() noexcept;

}  // namespace dunlin
