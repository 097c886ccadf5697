// Operators (op.hpp): what has no kernel, calls of a program's function, and the predefined handles.
#include "op/op.hpp"

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>

#include "base/assert.hpp"
#include "datatype/cursor.hpp"
#include "op/functions.hpp"
#include "op/kernels.hpp"

namespace dunlin {

namespace {

using op::Kernel;
using op::Operator;

struct Predefined {
  MPI_Op handle;
  const char* name;
};

const Predefined kPredefined[] = {
    {MPI_SUM, "MPI_SUM"},         {MPI_MIN, "MPI_MIN"},       {MPI_MAX, "MPI_MAX"},
    {MPI_PROD, "MPI_PROD"},       {MPI_BAND, "MPI_BAND"},     {MPI_BOR, "MPI_BOR"},
    {MPI_BXOR, "MPI_BXOR"},       {MPI_LAND, "MPI_LAND"},     {MPI_LOR, "MPI_LOR"},
    {MPI_LXOR, "MPI_LXOR"},       {MPI_MINLOC, "MPI_MINLOC"}, {MPI_MAXLOC, "MPI_MAXLOC"},
    {MPI_REPLACE, "MPI_REPLACE"}, {MPI_NO_OP, "MPI_NO_OP"},
};
constexpr std::size_t kPredefinedOps = sizeof kPredefined / sizeof kPredefined[0];

std::uintptr_t number_of(MPI_Op handle) noexcept { return reinterpret_cast<std::uintptr_t>(handle); }

Operator operator_of(MPI_Op handle) noexcept {
  return static_cast<Operator>(number_of(handle) - number_of(MPI_OP_NULL));
}

alignas(Op) std::byte storage[kPredefinedOps][sizeof(Op)];

const char* name_of(Operator operation) noexcept {
  for (const Predefined& entry : kPredefined)
    if (operator_of(entry.handle) == operation) return entry.name;
  return "a program's operator";
}

bool is_copy(Operator operation) noexcept {
  return operation == Operator::replace || operation == Operator::no_op;
}

void copy_elements(const void* from, void* to, std::int64_t count, const Datatype& type) noexcept {
  if (from != to) copy_data(source_of(type, from, count), target_of(type, to, count));
}

}  // namespace

void init_predefined_ops() noexcept {
  static bool is_done = false;
  if (is_done) return;
  is_done = true;
  op::fill_scalar_kernels(&op::kernels);
  op::fill_best_kernels(&op::kernels);
  for (std::size_t i = 0; i < kPredefinedOps; ++i)
    make_predefined(*new (storage[i]) Op(operator_of(kPredefined[i].handle)),
                    number_of(kPredefined[i].handle));
  const auto first_type = reinterpret_cast<std::uintptr_t>(MPI_DATATYPE_NULL);
  for (std::uintptr_t i = 0; i < op::kTypeHandles; ++i)
    if (const auto* type = from_handle<Datatype>(first_type + i)) op::kind_of_handle[i] = type->basic();
}

Err Op::check_without_kernel(const Datatype& type) const noexcept {
  if (operation_ == Operator::user || is_copy(operation_)) return Err::ok;
  const char* name = type.name()[0] ? type.name() : "a derived datatype";
  return fail(Err::op, "%s is not defined for %s", name_of(operation_), name);
}

void Op::combine3_without_kernel(const void* a, const void* b, void* out, std::int64_t count,
                                 const Datatype& type) const noexcept {
  DUNLIN_ASSERT(operation_ == Operator::user || is_copy(operation_));  // the caller has asked `check`
  DUNLIN_ASSERT(count >= 0);
  if (count == 0) return;
  if (is_copy(operation_)) {
    copy_elements(operation_ == Operator::replace ? a : b, out, count, type);
  } else {
    copy_elements(b, out, count, type);
    call_user(a, out, count, type);
  }
}

void Op::combine_k(std::span<const void* const> operands, void* out, std::int64_t count,
                   const Datatype& type) const noexcept {
  DUNLIN_ASSERT(!operands.empty());
  DUNLIN_ASSERT(count >= 0);
  if (count == 0) return;
  if (is_copy(operation_)) {
    copy_elements(operation_ == Operator::replace ? operands.front() : operands.back(), out, count, type);
  } else if (operation_ == Operator::user) {
    copy_elements(operands.back(), out, count, type);
    for (std::size_t i = operands.size() - 1; i > 0; --i) call_user(operands[i - 1], out, count, type);
  } else {
    const Kernel& known = kernel(type);
    DUNLIN_ASSERT(known.many != nullptr);  // the caller has asked `check`
    known.many(operands.data(), static_cast<std::int64_t>(operands.size()), out, count);
  }
}

void Op::call_user(const void* in, void* inout, std::int64_t count, const Datatype& type) const noexcept {
  auto handle = to_handle<void*>(type);
  auto* left = static_cast<std::byte*>(const_cast<void*>(in));  // the standard's signature is not const
  auto* right = static_cast<std::byte*>(inout);
  if (function_large_) {
    function_large_(left, right, &count, &handle);
    return;
  }
  while (count > 0) {
    int now = static_cast<int>(std::min<std::int64_t>(count, INT_MAX));
    const std::int64_t bytes = now * type.extent();
    count -= now;
    function_(left, right, &now, &handle);
    left += bytes;
    right += bytes;
  }
}

namespace op {

KernelTable kernels{};
Basic kind_of_handle[kTypeHandles]{};

Err op_create(UserFunction function, bool is_commutative, Op** op) noexcept {
  *op = new Op(function, is_commutative);
  return Err::ok;
}

Err op_create(UserFunctionLarge function, bool is_commutative, Op** op) noexcept {
  *op = new Op(function, is_commutative);
  return Err::ok;
}

Err op_free(Op& op) noexcept {
  const char* name = name_of(op.operation());
  if (op.is_predefined()) return fail(Err::op, "%s is predefined and cannot be freed", name);
  op.release();
  return Err::ok;
}

Err op_commutative(const Op& op, int* is_commutative) noexcept {
  *is_commutative = op.is_commutative() && !is_copy(op.operation());
  return Err::ok;
}

Err reduce_local(const void* in, void* inout, std::int64_t count, const Datatype& type,
                 const Op& op) noexcept {
  if (Err e = op.check(type); e != Err::ok) return e;
  op.combine(in, inout, count, type);
  return Err::ok;
}

}  // namespace op

}  // namespace dunlin
