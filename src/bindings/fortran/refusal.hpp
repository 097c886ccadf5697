// Numbers of 8 bytes that no int of C holds: the library for -fdefault-integer-8 refuses them before it calls
// C. Used by the generated files of this folder (docs/fortran.md).
//
// Each procedure lists the INTEGER arguments that become an int in C.  The first one that does not fit is an
// error with a sentence of its own, raised by the error handler of the object that the call is about.  In the
// library for an INTEGER of 4 bytes all this is nothing.
#pragma once

#include <cstdint>
#include <type_traits>

#include "bindings/fortran/arguments.hpp"

namespace dunlin::fortran {

inline bool fits(std::int64_t value) noexcept { return value == int(value); }

/// An argument: one number, or an array whose length `length` finds, if all numbers before it fit.  A length
/// of 0 says that the argument means nothing in this call.
template <class Length>
class Number {
 public:
  Number(const char* name, int error_class, const Fint* given, Length length) noexcept
      : name_(name), error_class_(error_class), given_(given), length_(length) {}
  const char* name() const noexcept { return name_; }
  int error_class() const noexcept { return error_class_; }
  const Fint* given() const noexcept { return given_; }
  std::int64_t length() const noexcept { return length_(); }

 private:
  const char* const name_;
  const int error_class_;
  const Fint* const given_;
  const Length length_;
};

inline std::int64_t one() noexcept { return 1; }
inline auto number(const char* name, int error_class, const Fint* given) noexcept {
  return Number(name, error_class, given, one);
}

/// Whether a count means something that stands beside a buffer of a collective, at a root or where there is
/// none.
inline bool is_given(const void* buffer) noexcept { return address(buffer) != MPI_IN_PLACE; }
/// The same for what all send to the root, or receive from it.
inline bool is_given(const void* buffer, const Fint* root) noexcept { return *root >= 0 && is_given(buffer); }

/// Raises the error of a number and returns its code.
int refuse(MPI_Comm, const char* call, const char* name, std::int64_t index, std::int64_t value,
           int error_class) noexcept;
int refuse(MPI_File, const char* call, const char* name, std::int64_t index, std::int64_t value,
           int error_class) noexcept;
int refuse(MPI_Session, const char* call, const char* name, std::int64_t index, std::int64_t value,
           int error_class) noexcept;
int refuse(MPI_Win, const char* call, const char* name, std::int64_t index, std::int64_t value,
           int error_class) noexcept;

/// Calls that are about no communicator, window, file or session have MPI_COMM_SELF in its place
/// (MPI 5.0, 9.3).
template <class Owner>
Owner owner_of(const Fint* handle) noexcept {
  if constexpr (std::is_same_v<Owner, MPI_Comm>)
    if (!handle) return MPI_COMM_SELF;
  return to_c<Owner>(handle);
}

/// Whether MPI may be called, as far as Fortran knows: C programs begin sessions, too.
bool is_usable(bool has_object) noexcept;

/// Whether an error handler can hear of an error of that object.  Otherwise C itself says what is wrong with
/// the handle, or that it is too early or too late.
template <class Owner>
bool can_hear(Owner object) noexcept {
  const bool is_made = reinterpret_cast<std::uintptr_t>(object) >= kPredefinedHandles;
  if constexpr (std::is_same_v<Owner, MPI_Comm>)
    if (object == MPI_COMM_WORLD || object == MPI_COMM_SELF) return is_usable(false);
  return is_made && is_usable(true);
}

template <class Owner, class Length>
bool is_refused(const char* call, const Fint* owner, Fint* ierror, const Number<Length>& number) noexcept {
  if (is_mark(number.given())) return false;
  const std::int64_t length = number.length();
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t value = number.given()[i];
    if (fits(value)) continue;
    const Owner object = owner_of<Owner>(owner);
    if (!can_hear(object)) return false;
    answer(ierror, refuse(object, call, number.name(), length > 1 ? i + 1 : 0, value, number.error_class()));
    return true;
  }
  return false;
}

/// Whether a call ends here, because a number does not fit.
template <class Owner, class... Lengths>
[[gnu::always_inline]] inline bool are_refused(const char* call, const Fint* owner, Fint* ierror,
                                               const Number<Lengths>&... numbers) noexcept {
  if constexpr (kIsWide) return (... || is_refused<Owner>(call, owner, ierror, numbers));
  return false;
}

}  // namespace dunlin::fortran
