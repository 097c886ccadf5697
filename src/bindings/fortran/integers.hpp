// A Fortran INTEGER or LOGICAL and the int of C: equal, but for the library that serves -fdefault-integer-8.
// Used by arguments.hpp and by the generated files.
//
// CMake compiles the procedures twice, with an INTEGER of 4 bytes and with one of 8.  Each conversion is a
// template over `is_wide`; the narrow one hands addresses on and costs nothing.  A LOGICAL is an integer of
// 0 or 1, as gfortran and flang have it.
#pragma once

#include <climits>
#include <cstdint>
#include <type_traits>

#include "bindings/fortran/memory.hpp"
#include "bindings/fortran/special_addresses.hpp"

namespace dunlin::fortran {

inline constexpr bool kIsWide = sizeof(Fint) > sizeof(int);

/// A number for C.  One that no int can hold means nothing in this call, or refusal.hpp has refused it.
inline int narrow(std::int64_t value) noexcept { return value == int(value) ? int(value) : INT_MIN; }
inline int narrow(int value) noexcept { return value; }

/// The length of an array: a number, or what finds it, where that takes a while and is seldom needed.
template <class Length>
inline std::int64_t number_of(const Length& length) noexcept {
  if constexpr (std::is_invocable_v<Length>)
    return length();
  else
    return length;
}

/// Whether an address is none, but a value of mpi.h: nullptr, MPI_UNWEIGHTED ...
inline bool is_mark(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address) < 4096; }

/// An array that the call reads.
template <bool is_wide = kIsWide>
class Integers {
 public:
  template <class Length>
  Integers(const Fint* given, const Length&) noexcept : given_(reinterpret_cast<const int*>(given)) {}
  operator const int*() const noexcept { return given_; }

 private:
  const int* const given_;
};
template <>
class Integers<true> {
 public:
  template <class Length>
  Integers(const Fint* given, const Length& length) noexcept
      : given_(given), values_(is_mark(given) ? 0 : number_of(length)) {
    for (std::int64_t i = 0; i < values_.size(); ++i) values_[i] = narrow(given[i]);
  }
  operator const int*() const noexcept {
    return is_mark(given_) ? reinterpret_cast<const int*>(given_) : values_.data();
  }

 private:
  const Fint* const given_;
  Few<int> values_;
};

/// An integer or an array of them that the call writes, or reads and writes.
template <bool is_wide = kIsWide>
class Written {
 public:
  template <class Length = int>
  explicit Written(Fint* place, const Length& = 1) noexcept : place_(reinterpret_cast<int*>(place)) {}
  operator int*() const noexcept { return place_; }

 private:
  int* const place_;
};
template <>
class Written<true> {
 public:
  template <class Length = int>
  explicit Written(Fint* place, const Length& length = 1) noexcept
      : place_(place), values_(is_mark(place) ? 0 : number_of(length)) {
    for (std::int64_t i = 0; i < values_.size(); ++i) values_[i] = narrow(place[i]);
  }
  Written(const Written&) = delete;
  ~Written() {
    for (std::int64_t i = 0; i < values_.size(); ++i)
      if (values_[i] != narrow(place_[i])) place_[i] = values_[i];
  }
  operator int*() noexcept { return is_mark(place_) ? reinterpret_cast<int*>(place_) : values_.data(); }

 private:
  Fint* const place_;
  Few<int> values_;
};

/// Triplets, of MPI_GROUP_RANGE_INCL.
class Ranges {
 public:
  Ranges(const Fint (*given)[3], std::int64_t count) noexcept : integers_(*given, 3 * count) {}
  using Triplets = int (*)[3];
  operator Triplets() const noexcept {
    return reinterpret_cast<Triplets>(const_cast<int*>(static_cast<const int*>(integers_)));
  }

 private:
  const Integers<> integers_;
};

/// A status or an array of them, after `address`: in C, in both modules and in mpif.h eight integers.
template <bool is_wide = kIsWide>
class ReadStatus {
 public:
  explicit ReadStatus(const Fint* given) noexcept : given_(given) {}
  operator const MPI_Status*() const noexcept { return reinterpret_cast<const MPI_Status*>(given_); }

 private:
  const Fint* const given_;
};
template <bool is_wide = kIsWide>
class Status {
 public:
  template <class Length = int>
  explicit Status(Fint* place, const Length& = 1) noexcept : place_(place) {}
  operator MPI_Status*() const noexcept { return reinterpret_cast<MPI_Status*>(place_); }

 private:
  Fint* const place_;
};
template <>
class ReadStatus<true> {
 public:
  explicit ReadStatus(const Fint* given) noexcept : integers_(given, MPI_F_STATUS_SIZE) {}
  operator const MPI_Status*() const noexcept {
    return reinterpret_cast<const MPI_Status*>(static_cast<const int*>(integers_));
  }

 private:
  const Integers<true> integers_;
};
template <>
class Status<true> {
 public:
  template <class Length = int>
  explicit Status(Fint* place, const Length& length = 1) noexcept
      : integers_(place, MPI_F_STATUS_SIZE * number_of(length)) {}
  operator MPI_Status*() noexcept { return reinterpret_cast<MPI_Status*>(static_cast<int*>(integers_)); }

 private:
  Written<true> integers_;
};
static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(int));

}  // namespace dunlin::fortran
