// How one argument of a Fortran call becomes the argument of the C call: one class or function for each kind.
// Used by the generated files of this folder, whose bodies are one C call each (docs/fortran.md).
//
// The classes are temporaries of that call: they convert where they are made and write back where they end,
// and only what the C call has set.  An INTEGER is an int, and a LOGICAL is an int of 0 or 1, as gfortran and
// flang have them; so both are passed on as they are.
//
// hot path: MPI_SEND takes at most 25 instructions more than MPI_Send, from mpi_f08 some more
// (test/fortran/overhead.py).
#pragma once

// What mpi.h and this folder declare is what the library shows.
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bindings/fortran/memory.hpp"

namespace dunlin::fortran {

static_assert(sizeof(MPI_Fint) == sizeof(int));
static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint));

inline void answer(MPI_Fint* ierror, int error) noexcept {
  if (ierror) *ierror = error;  // optional in mpi_f08
}

// --- addresses that stand for something
// ----------------------------------------------------------------------------

/// The COMMON block of mpif.h and of both modules.
struct SpecialAddresses {
  MPI_Fint bottom, in_place, buffer_automatic, unweighted, weights_empty, errcodes_ignore;
  MPI_Fint status_ignore[MPI_F_STATUS_SIZE], statuses_ignore[MPI_F_STATUS_SIZE];
  char argv_null, argvs_null;
};
extern "C" [[gnu::visibility("default")]] SpecialAddresses mpi_fortran_special_;

inline bool is_special(const void* address) noexcept {
  const auto start = reinterpret_cast<std::uintptr_t>(&mpi_fortran_special_);
  return reinterpret_cast<std::uintptr_t>(address) - start < sizeof(SpecialAddresses);
}
/// What C calls the same: MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE ...
void* meaning_of(const void* special_address) noexcept;

template <class T>
inline T* address(T* given) noexcept {
  if (is_special(given)) [[unlikely]]
    return static_cast<T*>(meaning_of(given));
  return given;
}

/// A status, or an array of them: the same bytes in C, in both modules and in mpif.h.
inline MPI_Status* status(MPI_Fint* given) noexcept { return reinterpret_cast<MPI_Status*>(address(given)); }
inline const MPI_Status* status(const MPI_Fint* given) noexcept {
  return reinterpret_cast<const MPI_Status*>(address(given));
}

/// An integer that C keeps in a pointer: extra states, values of attributes.
inline void* pointer(const MPI_Aint* value) noexcept { return reinterpret_cast<void*>(*value); }

// --- handles
// -------------------------------------------------------------------------------------------------------

inline constexpr unsigned kPredefinedHandles = 4096;  // MPI 5.0, chapter 20: the integer is the handle

inline MPI_Comm from_int(int value, MPI_Comm) noexcept { return PMPI_Comm_fromint(value); }
inline MPI_Datatype from_int(int value, MPI_Datatype) noexcept { return PMPI_Type_fromint(value); }
inline MPI_Errhandler from_int(int value, MPI_Errhandler) noexcept { return PMPI_Errhandler_fromint(value); }
inline MPI_File from_int(int value, MPI_File) noexcept { return PMPI_File_fromint(value); }
inline MPI_Group from_int(int value, MPI_Group) noexcept { return PMPI_Group_fromint(value); }
inline MPI_Info from_int(int value, MPI_Info) noexcept { return PMPI_Info_fromint(value); }
inline MPI_Message from_int(int value, MPI_Message) noexcept { return PMPI_Message_fromint(value); }
inline MPI_Op from_int(int value, MPI_Op) noexcept { return PMPI_Op_fromint(value); }
inline MPI_Request from_int(int value, MPI_Request) noexcept { return PMPI_Request_fromint(value); }
inline MPI_Session from_int(int value, MPI_Session) noexcept { return PMPI_Session_fromint(value); }
inline MPI_Win from_int(int value, MPI_Win) noexcept { return PMPI_Win_fromint(value); }

inline int to_int(MPI_Comm handle) noexcept { return PMPI_Comm_toint(handle); }
inline int to_int(MPI_Datatype handle) noexcept { return PMPI_Type_toint(handle); }
inline int to_int(MPI_Errhandler handle) noexcept { return PMPI_Errhandler_toint(handle); }
inline int to_int(MPI_File handle) noexcept { return PMPI_File_toint(handle); }
inline int to_int(MPI_Group handle) noexcept { return PMPI_Group_toint(handle); }
inline int to_int(MPI_Info handle) noexcept { return PMPI_Info_toint(handle); }
inline int to_int(MPI_Message handle) noexcept { return PMPI_Message_toint(handle); }
inline int to_int(MPI_Op handle) noexcept { return PMPI_Op_toint(handle); }
inline int to_int(MPI_Request handle) noexcept { return PMPI_Request_toint(handle); }
inline int to_int(MPI_Session handle) noexcept { return PMPI_Session_toint(handle); }
inline int to_int(MPI_Win handle) noexcept { return PMPI_Win_toint(handle); }

/// An integer that is no error has no sign, which saves instructions.
inline unsigned value_of(const MPI_Fint* handle) noexcept {
  return *reinterpret_cast<const unsigned*>(handle);
}
inline bool is_predefined(const MPI_Fint* handle) noexcept { return value_of(handle) < kPredefinedHandles; }
inline bool are_predefined(const MPI_Fint* one, const MPI_Fint* other) noexcept {
  return (value_of(one) | value_of(other)) < kPredefinedHandles;  // a power of 2
}

template <class Handle>
inline Handle predefined(const MPI_Fint* handle) noexcept {
  return reinterpret_cast<Handle>(std::uintptr_t(value_of(handle)));
}
template <class Handle>
inline Handle to_c(const MPI_Fint* handle) noexcept {
  if (is_predefined(handle)) [[likely]]
    return predefined<Handle>(handle);
  return from_int(*handle, Handle{});
}
template <class Handle>
inline MPI_Fint to_fortran(Handle handle) noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  return value < kPredefinedHandles ? MPI_Fint(value) : to_int(handle);
}

/// A handle that the call makes.
template <class Handle>
class Made {
 public:
  explicit Made(MPI_Fint* place) noexcept : place_(place) {}
  Made(const Made&) = delete;
  ~Made() {
    if (handle_) *place_ = to_fortran(handle_);
  }
  operator Handle*() noexcept { return &handle_; }

 private:
  MPI_Fint* const place_;
  Handle handle_ = nullptr;  // no handle of the ABI is 0
};

/// A handle that the call may replace: MPI_COMM_FREE, MPI_WAIT.
template <class Handle>
class Changed {
 public:
  explicit Changed(MPI_Fint* place) noexcept : place_(place), before_(to_c<Handle>(place)), now_(before_) {}
  Changed(const Changed&) = delete;
  ~Changed() {
    if (now_ != before_) *place_ = to_fortran(now_);
  }
  operator Handle*() noexcept { return &now_; }

 private:
  MPI_Fint* const place_;
  const Handle before_;
  Handle now_;
};

/// An array of handles that the call reads.
template <class Handle>
class Handles {
 public:
  Handles(const MPI_Fint* given, std::int64_t count) noexcept : handles_(count) {
    for (std::int64_t i = 0; i < count; ++i) handles_[i] = to_c<Handle>(&given[i]);
  }
  operator const Handle*() const noexcept { return handles_.data(); }

 private:
  Few<Handle> handles_;
};

/// An array of handles that the call reads; those that end become null handles.
template <class Handle>
class ChangedHandles {
 public:
  ChangedHandles(MPI_Fint* place, std::int64_t count) noexcept
      : place_(place), count_(count), handles_(count) {
    for (std::int64_t i = 0; i < count; ++i) handles_[i] = to_c<Handle>(&place[i]);
  }
  ChangedHandles(const ChangedHandles&) = delete;
  ~ChangedHandles() {
    for (std::int64_t i = 0; i < count_; ++i)
      if (const auto now = reinterpret_cast<std::uintptr_t>(handles_[i]); now < kPredefinedHandles)
        place_[i] = MPI_Fint(now);
  }
  operator Handle*() noexcept { return handles_.data(); }

 private:
  MPI_Fint* const place_;
  const std::int64_t count_;
  Few<Handle> handles_;
};

/// An array of handles that the call makes, some or all of them.
template <class Handle>
class MadeHandles {
 public:
  MadeHandles(MPI_Fint* place, std::int64_t count) noexcept : place_(place), count_(count), handles_(count) {
    for (std::int64_t i = 0; i < count; ++i) handles_[i] = nullptr;
  }
  MadeHandles(const MadeHandles&) = delete;
  ~MadeHandles() {
    for (std::int64_t i = 0; i < count_; ++i)
      if (handles_[i]) place_[i] = to_fortran(handles_[i]);
  }
  operator Handle*() noexcept { return handles_.data(); }

 private:
  MPI_Fint* const place_;
  const std::int64_t count_;
  Few<Handle> handles_;
};

/// The number of blocks on either side of MPI_ALLTOALLW and of its neighborhood form; none that are sent with
/// MPI_IN_PLACE, whose arrays mean nothing.
int blocks_received(const MPI_Fint* comm) noexcept;
int blocks_sent(const MPI_Fint* comm, const void* sendbuf) noexcept;
int neighbor_blocks_received(const MPI_Fint* comm) noexcept;
int neighbor_blocks_sent(const MPI_Fint* comm) noexcept;

// --- indices of completed requests: from 1 up
// ----------------------------------------------------------------------

class Index {
 public:
  explicit Index(MPI_Fint* place) noexcept : place_(place) {}
  Index(const Index&) = delete;
  ~Index() {
    if (index_ != kNotSet) *place_ = index_ >= 0 ? index_ + 1 : index_;  // MPI_UNDEFINED is negative
  }
  operator int*() noexcept { return &index_; }

 private:
  static constexpr int kNotSet = INT_MIN;
  MPI_Fint* const place_;
  int index_ = kNotSet;
};

class Indices {
 public:
  Indices(MPI_Fint* place, MPI_Fint* count) noexcept : place_(place), count_(count) { *count = 0; }
  Indices(const Indices&) = delete;
  ~Indices() {
    for (MPI_Fint i = 0; i < *count_; ++i) ++place_[i];  // none when the count is MPI_UNDEFINED
  }
  operator int*() noexcept { return place_; }

 private:
  MPI_Fint* const place_;
  const MPI_Fint* const count_;
};

// --- texts
// -----------------------------------------------------------------------------------------------------------

/// A text that the call reads: without the blanks at its end.
class Text {
 public:
  Text(const char* given, std::size_t length) noexcept;
  operator const char*() const noexcept { return text_.data(); }

 private:
  Few<char, 256> text_;
};

/// A key or a value of MPI_INFO_SET and the like: without the blanks at both ends (MPI 5.0, chapter 10).
class Stripped : public Text {
 public:
  Stripped(const char* given, std::size_t length) noexcept;
};

/// Writes a C text into a Fortran one: cut where it is too long, blanks where it is too short.
void fill(char* place, std::size_t length, const char* text) noexcept;

/// A text that the call writes, of at most `capacity` letters with the zero at the end.
template <std::size_t capacity>
class WrittenText {
 public:
  WrittenText(char* place, std::size_t length) noexcept : place_(place), length_(length) {
    text_[0] = kNotSet;
  }
  WrittenText(const WrittenText&) = delete;
  ~WrittenText() {
    if (text_[0] != kNotSet) fill(place_, length_, text_);
  }
  operator char*() noexcept { return text_; }

 private:
  static constexpr char kNotSet = 1;
  char* const place_;
  const std::size_t length_;
  char text_[capacity];
};

// --- others
// ----------------------------------------------------------------------------------------------------------

/// The address that MPI_BUFFER_DETACH gives to C and which mpif.h and the mpi module cannot take.
class Discarded {
 public:
  operator void*() noexcept { return &address_; }

 private:
  void* address_;
};

/// The value of an attribute: an integer, where C gets the address of a predefined one's (MPI 5.0, 19.3.7).
class AttributeValue {
 public:
  AttributeValue(const MPI_Fint* keyval, MPI_Aint* place, MPI_Fint* flag) noexcept
      : keyval_(*keyval), place_(place), flag_(flag) {
    *flag = 0;
  }
  AttributeValue(const AttributeValue&) = delete;
  ~AttributeValue();
  operator void*() noexcept { return &value_; }

 private:
  const int keyval_;
  MPI_Aint* const place_;
  const MPI_Fint* const flag_;
  void* value_ = nullptr;
};

}  // namespace dunlin::fortran
