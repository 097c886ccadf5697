// The calls that move data (MPI 5.0, 12.3): arguments become an Operation.
#include "rma/accumulate.hpp"
#include "rma/functions.hpp"
#include "rma/operation.hpp"

namespace dunlin::rma {
namespace {

/// Towards nobody: it is done.
bool is_to_nobody(int target_rank, Request** request) noexcept {
  if (target_rank != MPI_PROC_NULL) return false;
  if (request) *request = &CompletedRequest::of_sends();
  return true;
}

/// The predefined type behind one or a duplicate of one: other processes know no handle but that one's.
const Datatype* predefined(const Datatype& type) noexcept {
  if (type.is_predefined()) return &type;
  for (int handle = 1; handle < int(kPredefinedHandles); ++handle) {
    const Object* const object = Object::from_int(handle);
    if (!object || object->kind() != Kind::datatype) continue;
    const auto* const found = static_cast<const Datatype*>(object);
    if (found->basic() == type.basic()) return found;
  }
  return nullptr;
}

/// The type of the elements of an accumulate, where it is one predefined type and `op` is defined for it.
Result<const Datatype*> element_of(const Datatype& type, const Op& op) noexcept {
  if (op.operation() == op::Operator::user)
    return fail(Err::op, "argument op was made by MPI_Op_create; accumulates take predefined operators only");
  const Datatype* const element = type.basic() != Basic::none ? predefined(type) : type.element();
  if (!element)
    return fail(Err::type, "argument target_datatype has elements of several types; an accumulate needs one");
  if (const Err e = op.check(*element); e != Err::ok) return e;
  return element;
}

/// Whether the origin's data are elements of the same kind (MPI 5.0, 12.3.4).
bool has_elements(const Datatype& type, const Datatype& element) noexcept {
  const Datatype* const own = type.basic() != Basic::none ? &type : type.element();
  return own && own->basic() == element.basic();
}

/// Both sides in terms of bytes.
struct Sides {
  const void* origin;
  std::int64_t count;
  const Datatype& type;
  int target_rank;
  MPI_Aint target_disp;
  std::int64_t target_count;
  const Datatype& target_type;
};

/// Counts of elements that no process can hold would be few bytes by the time they are multiplied.
Err check_bytes(const Datatype& type, std::int64_t count) noexcept {
  std::int64_t bytes;
  if (!__builtin_mul_overflow(type.size(), count, &bytes)) return Err::ok;
  return fail(Err::count, "%lld elements of %lld bytes are more than a process can address", (long long)count,
              (long long)type.size());
}
Err check_bytes(const Sides& sides) noexcept {
  if (const Err e = check_bytes(sides.target_type, sides.target_count); e != Err::ok) return e;
  return check_bytes(sides.type, sides.count);
}

Operation begin(OperationKind kind, const Sides& sides) noexcept {
  Operation made{.kind = kind, .target = sides.target_rank};
  made.type = &sides.target_type;
  made.count = sides.target_count;
  return made;
}

Err do_put(const Sides& sides, Win& win, Request** request) noexcept {
  if (is_to_nobody(sides.target_rank, request)) return Err::ok;
  if (const Err e = check_bytes(sides); e != Err::ok) return e;
  Operation operation = begin(OperationKind::put, sides);
  operation.given = source_of(sides.type, sides.origin, sides.count);
  operation.is_given = true;
  operation.bytes = operation.given.bytes;
  return perform(window_of(win), operation, sides.target_disp, request);
}

Err do_get(const Sides& sides, Win& win, Request** request) noexcept {
  if (is_to_nobody(sides.target_rank, request)) return Err::ok;
  if (const Err e = check_bytes(sides); e != Err::ok) return e;
  Operation operation = begin(OperationKind::get, sides);
  operation.wanted = target_of(sides.type, const_cast<void*>(sides.origin), sides.count);
  operation.is_wanted = true;
  operation.bytes = operation.wanted.bytes;
  return perform(window_of(win), operation, sides.target_disp, request);
}

/// `result` is null where nobody asks what was there.
Err do_accumulate(const Sides& sides, const Target* result, const Op& op, Win& win,
                  Request** request) noexcept {
  if (is_to_nobody(sides.target_rank, request)) return Err::ok;
  const bool is_given = op.operation() != op::Operator::no_op;
  if (!is_given && !result)
    return fail(Err::op, "argument op is MPI_NO_OP, which is for MPI_Get_accumulate and MPI_Fetch_and_op");
  if (const Err e = check_bytes(sides.target_type, sides.target_count); e != Err::ok) return e;
  if (const Err e = is_given ? check_bytes(sides.type, sides.count) : Err::ok; e != Err::ok) return e;
  const bool is_empty = sides.target_type.size() * sides.target_count == 0;
  const Result<const Datatype*> element = is_empty ? &sides.target_type : element_of(sides.target_type, op);
  if (!element) return element.error();
  if (is_given && !is_empty && !has_elements(sides.type, *element.value()))
    return fail(Err::type, "argument origin_datatype has other elements than target_datatype, which has %s",
                element.value()->name());
  Operation operation = begin(OperationKind::accumulate, sides);
  operation.op = &op;
  operation.element = element.value();
  operation.is_wanted = result != nullptr;
  operation.is_given = is_given;
  if (result) operation.wanted = *result;
  operation.bytes = operation.wanted.bytes;
  if (operation.is_given) {
    operation.given = source_of(sides.type, sides.origin, sides.count);
    if (!result) operation.bytes = operation.given.bytes;
    if (operation.given.bytes != operation.bytes)
      return fail(Err::count,
                  "the origin gives %zu bytes, but the result has room for %zu; these must be equal",
                  operation.given.bytes, operation.bytes);
  }
  const auto size = std::size_t(operation.element->size());
  if (!is_empty && operation.bytes % size != 0)
    return fail(Err::type,
                "%zu bytes are no whole number of the elements of the target, which have %zu bytes each",
                operation.bytes, size);
  return perform(window_of(win), operation, sides.target_disp, request);
}

}  // namespace

Err put(const void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype, int target_rank,
        MPI_Aint target_disp, std::int64_t target_count, const Datatype& target_datatype, Win& win) noexcept {
  return do_put(
      {origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype},
      win, nullptr);
}
Err rput(const void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype, int target_rank,
         MPI_Aint target_disp, std::int64_t target_count, const Datatype& target_datatype, Win& win,
         Request** request) noexcept {
  return do_put(
      {origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype},
      win, request);
}
Err get(void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype, int target_rank,
        MPI_Aint target_disp, std::int64_t target_count, const Datatype& target_datatype, Win& win) noexcept {
  return do_get(
      {origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype},
      win, nullptr);
}
Err rget(void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype, int target_rank,
         MPI_Aint target_disp, std::int64_t target_count, const Datatype& target_datatype, Win& win,
         Request** request) noexcept {
  return do_get(
      {origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype},
      win, request);
}

Err accumulate(const void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype,
               int target_rank, MPI_Aint target_disp, std::int64_t target_count,
               const Datatype& target_datatype, Op& op, Win& win) noexcept {
  return do_accumulate(
      {origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype},
      nullptr, op, win, nullptr);
}
Err raccumulate(const void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype,
                int target_rank, MPI_Aint target_disp, std::int64_t target_count,
                const Datatype& target_datatype, Op& op, Win& win, Request** request) noexcept {
  return do_accumulate(
      {origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype},
      nullptr, op, win, request);
}
Err get_accumulate(const void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype,
                   void* result_addr, std::int64_t result_count, const Datatype& result_datatype,
                   int target_rank, MPI_Aint target_disp, std::int64_t target_count,
                   const Datatype& target_datatype, Op& op, Win& win) noexcept {
  if (const Err e = check_bytes(result_datatype, result_count); e != Err::ok) return e;
  const Target result = target_of(result_datatype, result_addr, result_count);
  return do_accumulate(
      {origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype},
      &result, op, win, nullptr);
}
Err rget_accumulate(const void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype,
                    void* result_addr, std::int64_t result_count, const Datatype& result_datatype,
                    int target_rank, MPI_Aint target_disp, std::int64_t target_count,
                    const Datatype& target_datatype, Op& op, Win& win, Request** request) noexcept {
  if (const Err e = check_bytes(result_datatype, result_count); e != Err::ok) return e;
  const Target result = target_of(result_datatype, result_addr, result_count);
  return do_accumulate(
      {origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype},
      &result, op, win, request);
}
Err fetch_and_op(const void* origin_addr, void* result_addr, const Datatype& datatype, int target_rank,
                 MPI_Aint target_disp, Op& op, Win& win) noexcept {
  if (datatype.basic() == Basic::none) return fail(Err::type, "argument datatype is no predefined type");
  const Target result = target_of(datatype, result_addr, 1);
  return do_accumulate({origin_addr, 1, datatype, target_rank, target_disp, 1, datatype}, &result, op, win,
                       nullptr);
}

Err compare_and_swap(const void* origin_addr, const void* compare_addr, void* result_addr,
                     const Datatype& datatype, int target_rank, MPI_Aint target_disp, Win& win) noexcept {
  if (is_to_nobody(target_rank, nullptr)) return Err::ok;
  if (!can_compare_and_swap(datatype.basic()))
    return fail(Err::type, "argument datatype is %s; it must be a predefined integer, logical or byte type",
                datatype.basic() == Basic::none ? "a derived type" : datatype.name());
  Operation operation{.kind = OperationKind::compare_and_swap, .target = target_rank};
  operation.given = source_of(datatype, origin_addr, 1);
  operation.wanted = target_of(datatype, result_addr, 1);
  operation.is_given = operation.is_wanted = true;
  operation.expected = static_cast<const std::byte*>(compare_addr);
  operation.element = predefined(datatype);
  operation.type = &datatype;
  operation.count = 1;
  operation.bytes = operation.given.bytes;
  return perform(window_of(win), operation, target_disp, nullptr);
}

}  // namespace dunlin::rma
