// Asking types about themselves: bounds, envelope and contents, names, counts (MPI 5.0, 5.1.5 to 5.1.13);
// commit, free.
#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "datatype/functions.hpp"
#include "datatype/recipe.hpp"
#include "datatype/signature.hpp"

namespace dunlin::datatype {

Err type_commit(Datatype& type) noexcept {
  type.set_committed();  // the normal form was made by the constructor (docs/decisions/0004)
  return Err::ok;
}

namespace {

/// Predefined by name, or by MPI_Type_create_f90_...
bool is_permanent(const Datatype& type) noexcept {
  if (!type.recipe()) return true;
  const int combiner = type.recipe()->combiner;
  return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

}  // namespace

Err type_free(Datatype& type) noexcept {
  if (is_permanent(type)) return fail(Err::type, "%s is predefined and cannot be freed", type.name());
  if (Err e = type.attributes().erase_all(type); e != Err::ok) return e;
  type.release();
  return Err::ok;
}

Err type_size(const Datatype& type, std::int64_t* size) noexcept {
  *size = type.is_available() ? type.size() : MPI_UNDEFINED;
  return Err::ok;
}

Err type_get_extent(const Datatype& type, std::int64_t* lower_bound, std::int64_t* extent) noexcept {
  *lower_bound = type.is_available() ? type.lower_bound() : MPI_UNDEFINED;
  *extent = type.is_available() ? type.extent() : MPI_UNDEFINED;
  return Err::ok;
}

Err type_get_true_extent(const Datatype& type, std::int64_t* true_lower_bound,
                         std::int64_t* true_extent) noexcept {
  *true_lower_bound = type.is_available() ? type.true_lower_bound() : MPI_UNDEFINED;
  *true_extent = type.is_available() ? type.true_extent() : MPI_UNDEFINED;
  return Err::ok;
}

namespace {

/// The classic inquiry cannot show large counts.
Err check_form(const Recipe& recipe, bool large) noexcept {
  if (large || !recipe.is_large) return Err::ok;
  return fail(Err::type, "this datatype was made with large counts: use the _c form of the call");
}

Err check_room(const char* name, std::int64_t room, std::size_t needed) noexcept {
  if (room >= static_cast<std::int64_t>(needed)) return Err::ok;
  return fail(Err::arg, "%s is %lld; it must be at least %zu", name, static_cast<long long>(room), needed);
}

}  // namespace

Err type_get_envelope(const Datatype& type, bool large, std::int64_t* integers, std::int64_t* addresses,
                      std::int64_t* large_counts, std::int64_t* types, int* combiner) noexcept {
  static const Recipe kNamed{{}, MPI_COMBINER_NAMED, false, {}, {}, {}, {}};
  const Recipe& recipe = type.recipe() ? *type.recipe() : kNamed;
  if (Err e = check_form(recipe, large); e != Err::ok) return e;
  *integers = static_cast<std::int64_t>(recipe.integers.size());
  *addresses = static_cast<std::int64_t>(recipe.addresses.size());
  if (large_counts) *large_counts = static_cast<std::int64_t>(recipe.large_counts.size());
  *types = static_cast<std::int64_t>(recipe.types.size());
  *combiner = recipe.combiner;
  return Err::ok;
}

Err type_get_contents(const Datatype& type, bool large, std::int64_t integers_max, std::int64_t addresses_max,
                      std::int64_t large_counts_max, std::int64_t types_max, int* integers,
                      MPI_Aint* addresses, MPI_Count* large_counts, MPI_Datatype* types) noexcept {
  if (!type.recipe()) return fail(Err::type, "%s is predefined and has no contents", type.name());
  const Recipe& recipe = *type.recipe();
  if (Err e = check_form(recipe, large); e != Err::ok) return e;
  if (Err e = check_room("max_integers", integers_max, recipe.integers.size()); e != Err::ok) return e;
  if (Err e = check_room("max_addresses", addresses_max, recipe.addresses.size()); e != Err::ok) return e;
  if (Err e = check_room("max_datatypes", types_max, recipe.types.size()); e != Err::ok) return e;
  const std::int64_t large_room = large ? large_counts_max : 0;  // there are none in the classic form
  if (Err e = check_room("max_large_counts", large_room, recipe.large_counts.size()); e != Err::ok) return e;
  std::copy(recipe.integers.begin(), recipe.integers.end(), integers);
  std::copy(recipe.addresses.begin(), recipe.addresses.end(), addresses);
  if (large) std::copy(recipe.large_counts.begin(), recipe.large_counts.end(), large_counts);
  for (std::size_t i = 0; i < recipe.types.size(); ++i) {
    const Ref<Datatype>& old_type = recipe.types[i];
    if (!old_type->is_predefined()) old_type->retain();
    types[i] = to_handle<MPI_Datatype>(*old_type);
  }
  return Err::ok;
}

Err type_get_name(const Datatype& type, char* name, int* length) noexcept {
  const std::size_t n = std::min(std::strlen(type.name()), std::size_t{MPI_MAX_OBJECT_NAME - 1});
  std::memcpy(name, type.name(), n);
  name[n] = '\0';
  *length = static_cast<int>(n);
  return Err::ok;
}

Err type_set_name(Datatype& type, const char* name) noexcept {
  type.set_name(name);
  return Err::ok;
}

Err get_count(std::int64_t bytes, const Datatype& type, std::int64_t* count) noexcept {
  DUNLIN_ASSERT(bytes >= 0);
  if (type.size() == 0)
    *count = bytes == 0 ? 0 : MPI_UNDEFINED;
  else
    *count = bytes % type.size() == 0 ? bytes / type.size() : MPI_UNDEFINED;
  return Err::ok;
}

Err get_elements(std::int64_t bytes, const Datatype& type, std::int64_t* count) noexcept {
  DUNLIN_ASSERT(bytes >= 0);
  const std::int64_t elements = elements_in_bytes(type.signature(), bytes);
  *count = elements < 0 ? MPI_UNDEFINED : elements;
  return Err::ok;
}

Err status_set_elements(const Datatype& type, std::int64_t count, std::int64_t* bytes) noexcept {
  if (count < 0)
    return fail(Err::count, "count is %lld; it must not be negative", static_cast<long long>(count));
  *bytes = bytes_of_elements(type.signature(), count);
  return Err::ok;
}

}  // namespace dunlin::datatype
