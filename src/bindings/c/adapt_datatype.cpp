// The calls of bindings/functions.hpp about datatypes: with statuses, with attributes, in their old forms.
#include "bindings/functions.hpp"
#include "datatype/functions.hpp"
#include "object/functions.hpp"
#include "object/status.hpp"

namespace dunlin::bindings {

namespace {

Err check(const MPI_Status& status) noexcept {
  if (std::int64_t(status_bytes(status)) >= 0) return Err::ok;
  return fail(Err::arg,
              "argument status was never set; give the status of a receive or probe that has ended");
}

}  // namespace

Err get_count(const MPI_Status* status, const Datatype& datatype, std::int64_t* count) noexcept {
  if (const Err error = check(*status); error != Err::ok) return error;
  return datatype::get_count(std::int64_t(status_bytes(*status)), datatype, count);
}

Err get_elements(const MPI_Status* status, const Datatype& datatype, std::int64_t* count) noexcept {
  if (const Err error = check(*status); error != Err::ok) return error;
  return datatype::get_elements(std::int64_t(status_bytes(*status)), datatype, count);
}

Err status_set_elements(MPI_Status* status, const Datatype& datatype, std::int64_t count) noexcept {
  std::int64_t bytes = 0;
  const Err error = datatype::status_set_elements(datatype, count, &bytes);
  if (error != Err::ok) return error;
  set_status_bytes(*status, std::uint64_t(bytes));
  return Err::ok;
}

Err type_extent(const Datatype& datatype, MPI_Aint* extent) noexcept {
  std::int64_t lower_bound = 0;
  return datatype::type_get_extent(datatype, &lower_bound, extent);
}

Err type_lb(const Datatype& datatype, MPI_Aint* displacement) noexcept {
  std::int64_t extent = 0;
  return datatype::type_get_extent(datatype, displacement, &extent);
}

Err type_ub(const Datatype& datatype, MPI_Aint* displacement) noexcept {
  std::int64_t lower_bound = 0, extent = 0;
  const Err error = datatype::type_get_extent(datatype, &lower_bound, &extent);
  if (error != Err::ok) return error;
  *displacement = lower_bound + extent;
  return Err::ok;
}

Err type_free(Datatype& datatype) noexcept {
  if (!datatype.is_predefined())
    if (const Err error = datatype.attributes().erase_all(datatype); error != Err::ok) return error;
  return datatype::type_free(datatype);
}

Err type_set_attr(Datatype& datatype, int keyval, void* value) noexcept {
  return object::set_attribute(datatype, datatype.attributes(), Keyval::On::datatype, keyval, value);
}

Err type_get_attr(const Datatype& datatype, int keyval, void* value, int* flag) noexcept {
  return object::get_attribute(datatype.attributes(), Keyval::On::datatype, keyval, value, flag);
}

Err type_delete_attr(Datatype& datatype, int keyval) noexcept {
  return object::delete_attribute(datatype, datatype.attributes(), Keyval::On::datatype, keyval);
}

}  // namespace dunlin::bindings
