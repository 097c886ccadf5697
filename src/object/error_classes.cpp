// Classes and codes that programs add (MPI 5.0, 9.5).  Numbers are given out upwards from MPI_ERR_LASTCODE
// and never twice, so that a removed code is not taken for a later one.  Usable before MPI_Init.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "object/functions.hpp"

namespace dunlin::object {
namespace {

struct Added {
  int class_number;  // its own number for a class
  bool is_removed = false;
  int codes = 0;  // of a class: how many codes of it exist
  std::string text{};
};

constexpr int kFirstAdded = MPI_ERR_LASTCODE + 1;

std::vector<Added>& all_added() {
  static std::vector<Added> added;  // index: number - kFirstAdded
  return added;
}

Added* find(int number) noexcept {
  auto& added = all_added();
  if (number < kFirstAdded || number - kFirstAdded >= int(added.size())) return nullptr;
  Added* found = &added[std::size_t(number - kFirstAdded)];
  return found->is_removed ? nullptr : found;
}

bool is_class(int number, const Added& added) noexcept { return added.class_number == number; }

int add(int class_number) noexcept {
  const int number = kFirstAdded + int(all_added().size());
  all_added().push_back({class_number ? class_number : number});
  predefined_attributes.last_used_code = number;
  return number;
}

/// The added class or code of that number, or nullptr with the error recorded.
Added* find_for_change(int number, const char* argument, Err* error) noexcept {
  Added* found = find(number);
  *error =
      found
          ? Err::ok
          : fail(Err::arg,
                 "%s is %d, which no MPI_Add_error_class or MPI_Add_error_code returned or which was removed",
                 argument, number);
  return found;
}

}  // namespace

Err add_error_class(int* error_class) noexcept {
  *error_class = add(0);
  return Err::ok;
}

Err add_error_code(int error_class, int* error_code) noexcept {
  Added* of = find(error_class);
  if (of ? !is_class(error_class, *of) : !text_of_class(error_class))
    return fail(Err::arg, "errorclass is %d, which is no error class", error_class);
  if (of) ++of->codes;
  *error_code = add(error_class);
  return Err::ok;
}

Err add_error_string(int error_code, const char* string) noexcept {
  Err error;
  Added* found = find_for_change(error_code, "errorcode", &error);
  if (!found) return error;
  found->text.assign(string, strnlen(string, MPI_MAX_ERROR_STRING - 1));
  return Err::ok;
}

Err remove_error_class(int error_class) noexcept {
  Err error;
  Added* found = find_for_change(error_class, "errorclass", &error);
  if (!found) return error;
  if (!is_class(error_class, *found))
    return fail(Err::arg, "errorclass is %d, which is an error code; use MPI_Remove_error_code", error_class);
  if (found->codes > 0)
    return fail(Err::arg, "errorclass is %d, which %d error codes belong to; remove them first", error_class,
                found->codes);
  if (!found->text.empty())
    return fail(Err::arg, "errorclass is %d, which has a string; call MPI_Remove_error_string first",
                error_class);
  found->is_removed = true;
  return Err::ok;
}

Err remove_error_code(int error_code) noexcept {
  Err error;
  Added* found = find_for_change(error_code, "errorcode", &error);
  if (!found) return error;
  if (is_class(error_code, *found))
    return fail(Err::arg, "errorcode is %d, which is an error class; use MPI_Remove_error_class", error_code);
  if (!found->text.empty())
    return fail(Err::arg, "errorcode is %d, which has a string; call MPI_Remove_error_string first",
                error_code);
  found->is_removed = true;
  if (Added* of = find(found->class_number)) --of->codes;
  return Err::ok;
}

Err remove_error_string(int error_code) noexcept {
  Err error;
  Added* found = find_for_change(error_code, "errorcode", &error);
  if (!found) return error;
  if (found->text.empty()) return fail(Err::arg, "errorcode is %d, which has no string", error_code);
  found->text.clear();
  return Err::ok;
}

Err error_class(int error_code, int* error_class) noexcept {
  if (const Added* found = find(error_code)) {
    *error_class = found->class_number;
    return Err::ok;
  }
  if (!text_of_class(error_code))
    return fail(Err::arg, "errorcode is %d, which is no error code", error_code);
  *error_class = error_code;
  return Err::ok;
}

Err error_string(int error_code, char* string, int* length) noexcept {
  const Added* added = find(error_code);
  const char* text = added ? added->text.c_str() : text_of_class(error_code);
  if (!text) return fail(Err::arg, "errorcode is %d, which is no error code", error_code);
  const bool is_ours = !added && error_code != MPI_SUCCESS;
  const char* const detail = is_ours ? error_detail(Err(error_code)) : "";
  const int bytes =
      std::snprintf(string, MPI_MAX_ERROR_STRING, "%s%s%s", text, *detail ? ": " : "", detail);
  *length = std::min(bytes, MPI_MAX_ERROR_STRING - 1);
  return Err::ok;
}

}  // namespace dunlin::object
