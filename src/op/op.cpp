// Operators (op.hpp): the choice of a kernel, calls of a program's function, and the predefined handles.
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
  Operator operation;
  const char* name;
};

const Predefined kPredefined[] = {
    {MPI_SUM, Operator::sum, "MPI_SUM"},          {MPI_MIN, Operator::min, "MPI_MIN"},
    {MPI_MAX, Operator::max, "MPI_MAX"},          {MPI_PROD, Operator::prod, "MPI_PROD"},
    {MPI_BAND, Operator::band, "MPI_BAND"},       {MPI_BOR, Operator::bor, "MPI_BOR"},
    {MPI_BXOR, Operator::bxor, "MPI_BXOR"},       {MPI_LAND, Operator::land, "MPI_LAND"},
    {MPI_LOR, Operator::lor, "MPI_LOR"},          {MPI_LXOR, Operator::lxor, "MPI_LXOR"},
    {MPI_MINLOC, Operator::minloc, "MPI_MINLOC"}, {MPI_MAXLOC, Operator::maxloc, "MPI_MAXLOC"},
    {MPI_REPLACE, Operator::replace, "MPI_REPLACE"}, {MPI_NO_OP, Operator::no_op, "MPI_NO_OP"},
};
constexpr std::size_t kPredefinedOps = sizeof kPredefined / sizeof kPredefined[0];

alignas(Op) std::byte storage[kPredefinedOps][sizeof(Op)];

const char* name_of(Operator operation) noexcept {
  for (const Predefined& entry : kPredefined)
    if (entry.operation == operation) return entry.name;
  return "a program's operator";
}

bool is_copy(Operator operation) noexcept {
  return operation == Operator::replace || operation == Operator::no_op;
}

void copy_elements(const void* from, void* to, std::int64_t count, const Datatype& type) noexcept {
  if (from != to) copy(source_of(type, from, count), target_of(type, to, count));
}

const Kernel& kernel_of(Operator operation, const Datatype& type) noexcept {
  const Kernel& kernel = op::kernels().at(operation, type.basic());
  DUNLIN_ASSERT(kernel.two != nullptr);  // the caller has asked `check`
  return kernel;
}

}  // namespace

void init_predefined_ops() noexcept {
  static bool is_done = false;
  if (is_done) return;
  is_done = true;
  for (std::size_t i = 0; i < kPredefinedOps; ++i)
    make_predefined(*new (storage[i]) Op(kPredefined[i].operation),
                    reinterpret_cast<std::uintptr_t>(kPredefined[i].handle));
}

Err Op::check(const Datatype& type) const noexcept {
  if (operation_ == Operator::user || is_copy(operation_)) return Err::ok;
  if (op::kernels().at(operation_, type.basic()).two) return Err::ok;
  const char* name = type.name()[0] ? type.name() : "a derived datatype";
  return fail(Err::op, "%s is not defined for %s", name_of(operation_), name);
}

void Op::combine(const void* in, void* inout, std::int64_t count, const Datatype& type) const noexcept {
  combine3(in, inout, inout, count, type);
}

void Op::combine3(const void* a, const void* b, void* out, std::int64_t count,
                  const Datatype& type) const noexcept {
  DUNLIN_ASSERT(count >= 0);
  if (count == 0) return;
  if (is_copy(operation_)) {
    copy_elements(operation_ == Operator::replace ? a : b, out, count, type);
  } else if (operation_ == Operator::user) {
    copy_elements(b, out, count, type);
    call_user(a, out, count, type);
  } else {
    const Kernel& kernel = kernel_of(operation_, type);
    kernel.two(a, b, out, count * kernel.parts);
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
    const Kernel& kernel = kernel_of(operation_, type);
    kernel.many(operands.data(), static_cast<std::int64_t>(operands.size()), out, count * kernel.parts);
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

const KernelTable& kernels() noexcept {
  static const KernelTable table = [] {
    KernelTable made{};
    fill_scalar_kernels(&made);
    fill_best_kernels(&made);
    return made;
  }();
  return table;
}

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
  *is_commutative = op.is_commutative();
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
