// How one argument of a Fortran call becomes the argument of the C call: one class or function for each kind.
// Used by the generated files of this folder, whose bodies are one C call each (docs/fortran.md).
//
// The classes are temporaries of that call: they convert where they are made and write back where they end,
// and only what the C call has set.  Integers are in integers.hpp.
//
// hot path: MPI_SEND takes at most 25 instructions more than MPI_Send (test/fortran/overhead.py).
#pragma once

// What mpi.h and this folder declare is what the library shows.
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "bindings/fortran/integers.hpp"
#include "bindings/fortran/memory.hpp"
#include "bindings/fortran/special_addresses.hpp"

namespace dunlin::fortran {

inline void answer(Fint* ierror, int error) noexcept {
  if (ierror) *ierror = error;  // optional in mpi_f08
}

/// The same on the hot path: without `ierror` the call may be the last instruction.
template <class Call>
[[gnu::always_inline]] inline void answer_with(Fint* ierror, Call&& call) noexcept {
  if (ierror)
    *ierror = call();
  else
    call();
}

/// An integer that C keeps in a pointer: extra states, values of attributes.
inline void* pointer(const MPI_Aint* value) noexcept { return reinterpret_cast<void*>(*value); }

// --- handles
// -------------------------------------------------------------------------------------------------------

inline constexpr unsigned kPredefinedHandles = 4096;  // MPI 5.0, chapter 20: the integer is the handle

/// What the integer of a freed file, info or request becomes, and any other that is none: a value that C
/// refuses. The null handle, which MPI_Request_fromint gives, would mean something: complete, no hints, files
/// to come.
template <class Handle>
inline Handle no_handle() noexcept {
  return reinterpret_cast<Handle>(std::uintptr_t(kPredefinedHandles - 1));
}
template <class Handle>
inline Handle if_not(Handle null_handle, Handle found) noexcept {
  return found == null_handle ? no_handle<Handle>() : found;
}

inline MPI_Comm from_int(int value, MPI_Comm) noexcept { return PMPI_Comm_fromint(value); }
inline MPI_Datatype from_int(int value, MPI_Datatype) noexcept { return PMPI_Type_fromint(value); }
inline MPI_Errhandler from_int(int value, MPI_Errhandler) noexcept { return PMPI_Errhandler_fromint(value); }
inline MPI_File from_int(int value, MPI_File) noexcept {
  return if_not(MPI_FILE_NULL, PMPI_File_fromint(value));
}
inline MPI_Group from_int(int value, MPI_Group) noexcept { return PMPI_Group_fromint(value); }
inline MPI_Info from_int(int value, MPI_Info) noexcept {
  return if_not(MPI_INFO_NULL, PMPI_Info_fromint(value));
}
inline MPI_Message from_int(int value, MPI_Message) noexcept { return PMPI_Message_fromint(value); }
inline MPI_Op from_int(int value, MPI_Op) noexcept { return PMPI_Op_fromint(value); }
inline MPI_Request from_int(int value, MPI_Request) noexcept {
  return if_not(MPI_REQUEST_NULL, PMPI_Request_fromint(value));
}
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

/// The integer of a handle.  One that is no error has no sign, which saves instructions.
inline unsigned value_of(const Fint* handle) noexcept {
  if constexpr (kIsWide)
    if (*handle != int(*handle)) return unsigned(INT_MIN);  // no handle, either
  return unsigned(*handle);
}

inline bool are_predefined(unsigned one, unsigned other) noexcept {
  return (one | other) < kPredefinedHandles;  // a power of 2
}
template <class Handle>
inline Handle predefined(unsigned handle) noexcept {
  return reinterpret_cast<Handle>(std::uintptr_t(handle));
}
template <class Handle>
inline Handle to_c(unsigned handle) noexcept {
  if (handle < kPredefinedHandles) [[likely]]
    return predefined<Handle>(handle);
  return from_int(int(handle), Handle{});
}
template <class Handle>
inline Handle to_c(const Fint* handle) noexcept {
  return to_c<Handle>(value_of(handle));
}
template <class Handle>
inline Fint to_fortran(Handle handle) noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  return value < kPredefinedHandles ? Fint(value) : to_int(handle);
}

// Copies of buffers that belong to requests (subarrays.cpp); seldom are there any.
extern std::atomic<int> requests_with_copies;
void forget_copies_of(Fint request) noexcept;
/// The copies of some requests while a call may complete these: then another thread's new request may get the
/// same integer before the call has returned.
struct TakenCopies;
TakenCopies* take_copies_of(const Fint* requests, std::int64_t count) noexcept;
void look_after_copies_of(TakenCopies& taken, Fint request, MPI_Request now) noexcept;
void end_taken(TakenCopies* taken) noexcept;
/// A new request cannot have any.
inline void forget_copies(Fint request) noexcept {
  if (requests_with_copies.load(std::memory_order_relaxed) > 0) [[unlikely]]
    forget_copies_of(request);
}
/// Around a call that may complete requests.  Nothing for other handles.
template <class Handle>
class CopiesOf {
 public:
  CopiesOf(const Fint*, std::int64_t) noexcept {}
  void look_after(Fint, Handle) noexcept {}
};
template <>
class CopiesOf<MPI_Request> {
 public:
  CopiesOf(const Fint* requests, std::int64_t count) noexcept {
    if (requests_with_copies.load(std::memory_order_relaxed) > 0) [[unlikely]]
      taken_ = take_copies_of(requests, count);
  }
  CopiesOf(const CopiesOf&) = delete;
  ~CopiesOf() {
    if (taken_) [[unlikely]]
      end_taken(taken_);
  }
  /// Behind the call: the request, whose handle was this integer and is `now`, may be complete.
  void look_after(Fint request, MPI_Request now) noexcept {
    if (taken_) [[unlikely]]
      look_after_copies_of(*taken_, request, now);
  }

 private:
  TakenCopies* taken_ = nullptr;
};

/// Behind a call that tells whether a request is complete and leaves it.
inline void look_after_copies(Fint request, MPI_Request now) noexcept {
  CopiesOf<MPI_Request>(&request, 1).look_after(request, now);
}

/// Sessions that Fortran has begun and not ended: with one of them MPI may be called without MPI_INIT.
extern std::atomic<int> open_sessions;

/// A handle that the call makes.
template <class Handle>
class Made {
 public:
  explicit Made(Fint* place) noexcept : place_(place) {}
  Made(const Made&) = delete;
  ~Made() {
    if (!handle_) return;
    *place_ = to_fortran(handle_);
    if constexpr (std::is_same_v<Handle, MPI_Request>) forget_copies(*place_);
    if constexpr (std::is_same_v<Handle, MPI_Session>)
      if (handle_ != MPI_SESSION_NULL) ++open_sessions;
  }
  operator Handle*() noexcept { return &handle_; }

 private:
  Fint* const place_;
  Handle handle_ = nullptr;  // no handle of the ABI is 0
};

/// A handle that the call may replace: MPI_COMM_FREE, MPI_WAIT.
template <class Handle>
class Changed {
 public:
  explicit Changed(Fint* place) noexcept
      : place_(place), before_(to_c<Handle>(place)), now_(before_), copies_(place, 1) {}
  Changed(const Changed&) = delete;
  ~Changed() {
    copies_.look_after(*place_, now_);
    if (now_ == before_) return;
    *place_ = to_fortran(now_);
    if constexpr (std::is_same_v<Handle, MPI_Session>) --open_sessions;
  }
  operator Handle*() noexcept { return &now_; }

 private:
  Fint* const place_;
  const Handle before_;
  Handle now_;
  [[no_unique_address]] CopiesOf<Handle> copies_;
};

/// An array of handles that the call reads.
template <class Handle>
class Handles {
 public:
  Handles(const Fint* given, std::int64_t count) noexcept
      : given_(given), handles_(count), copies_(given, count) {
    for (std::int64_t i = 0; i < count; ++i) handles_[i] = to_c<Handle>(&given[i]);
  }
  Handles(const Handles&) = delete;
  ~Handles() {
    for (std::int64_t i = 0; i < handles_.size(); ++i) copies_.look_after(given_[i], handles_[i]);
  }
  operator const Handle*() const noexcept { return handles_.data(); }

 private:
  const Fint* const given_;
  Few<Handle> handles_;
  [[no_unique_address]] CopiesOf<Handle> copies_;
};

/// An array of handles that the call reads; those that end become null handles.
template <class Handle>
class ChangedHandles {
 public:
  ChangedHandles(Fint* place, std::int64_t count) noexcept
      : place_(place), count_(count), handles_(count), copies_(place, count) {
    for (std::int64_t i = 0; i < count; ++i) handles_[i] = to_c<Handle>(&place[i]);
  }
  ChangedHandles(const ChangedHandles&) = delete;
  ~ChangedHandles() {
    for (std::int64_t i = 0; i < count_; ++i) copies_.look_after(place_[i], handles_[i]);
    for (std::int64_t i = 0; i < count_; ++i)
      if (const auto now = reinterpret_cast<std::uintptr_t>(handles_[i]); now < kPredefinedHandles)
        if (handles_[i] != no_handle<Handle>()) place_[i] = Fint(now);
  }
  operator Handle*() noexcept { return handles_.data(); }

 private:
  Fint* const place_;
  const std::int64_t count_;
  Few<Handle> handles_;
  [[no_unique_address]] CopiesOf<Handle> copies_;
};

/// An array of handles that the call makes, some or all of them.
template <class Handle>
class MadeHandles {
 public:
  MadeHandles(Fint* place, std::int64_t count) noexcept : place_(place), count_(count), handles_(count) {
    for (std::int64_t i = 0; i < count; ++i) handles_[i] = nullptr;
  }
  MadeHandles(const MadeHandles&) = delete;
  ~MadeHandles() {
    for (std::int64_t i = 0; i < count_; ++i)
      if (handles_[i]) place_[i] = to_fortran(handles_[i]);
  }
  operator Handle*() noexcept { return handles_.data(); }

 private:
  Fint* const place_;
  const std::int64_t count_;
  Few<Handle> handles_;
};

/// After MPI_INIT and its kin: what the C library must know of Fortran's types, if it has not been told.
void register_types_once() noexcept;

// --- numbers of elements that no argument says
// ---------------------------------------------------------------------

/// The blocks on either side of a collective; none are sent with MPI_IN_PLACE, whose arrays mean nothing.
int blocks_received(const Fint* comm) noexcept;
int blocks_sent(const Fint* comm, const void* sendbuf) noexcept;
int blocks_reduced(const Fint* comm) noexcept;
/// Of a rooted collective: none but at the root.
int blocks_at_root(const Fint* comm, const Fint* root) noexcept;
int neighbor_blocks_received(const Fint* comm) noexcept;
int neighbor_blocks_sent(const Fint* comm) noexcept;
/// Of a Cartesian grid.
int dimensions_of(const Fint* comm) noexcept;
/// Of a graph, which says for each node where the edges of the next one begin.
std::int64_t edges_of(const Fint* index, std::int64_t nodes) noexcept;
std::int64_t sum_of(const Fint* numbers, std::int64_t count) noexcept;

// --- indices of completed requests: from 1 up
// ----------------------------------------------------------------------

class Index {
 public:
  explicit Index(Fint* place) noexcept : place_(place) {}
  Index(const Index&) = delete;
  ~Index() {
    if (index_ != kNotSet) *place_ = index_ >= 0 ? index_ + 1 : index_;  // MPI_UNDEFINED is negative
  }
  operator int*() noexcept { return &index_; }

 private:
  static constexpr int kNotSet = INT_MIN;
  Fint* const place_;
  int index_ = kNotSet;
};

class Indices {
 public:
  Indices(Fint* place, std::int64_t capacity) noexcept : place_(place), indices_(capacity) {
    for (std::int64_t i = 0; i < capacity; ++i) indices_[i] = kNotSet;
  }
  Indices(const Indices&) = delete;
  ~Indices() {
    for (std::int64_t i = 0; i < indices_.size() && indices_[i] != kNotSet; ++i) place_[i] = indices_[i] + 1;
  }
  operator int*() noexcept { return indices_.data(); }

 private:
  static constexpr int kNotSet = INT_MIN;
  Fint* const place_;
  Few<int> indices_;
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

/// A text that the call writes, of at most `capacity` letters with the zero at the end, by which one knows
/// that it was written.
template <std::size_t capacity>
class WrittenText {
 public:
  WrittenText(char* place, std::size_t length) noexcept : place_(place), length_(length) {
    std::memset(text_, ~0, capacity);
  }
  WrittenText(const WrittenText&) = delete;
  ~WrittenText() {
    if (std::memchr(text_, 0, capacity)) fill(place_, length_, text_);
  }
  operator char*() noexcept { return text_; }

 private:
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

/// The same for mpi_f08, where MPI_BUFFER_AUTOMATIC is an address of its own.
class Detached {
 public:
  explicit Detached(void* place) noexcept : place_(static_cast<const void**>(place)) {}
  Detached(const Detached&) = delete;
  ~Detached() {
    if (*place_ == MPI_BUFFER_AUTOMATIC) *place_ = &mpi_fortran_special_.buffer_automatic;
  }
  operator void*() noexcept { return place_; }

 private:
  const void** const place_;
};

/// The value of an attribute, as `boxed` and `value_of_attribute` have it (attribute_values.hpp); C gets
/// the addresses of the predefined ones (MPI 5.0, 19.3.7).
class AttributeValue {
 public:
  AttributeValue(const Fint* keyval, MPI_Aint* place) noexcept : keyval_(narrow(*keyval)), place_(place) {}
  AttributeValue(const AttributeValue&) = delete;
  ~AttributeValue();
  operator void*() noexcept { return &value_; }

 private:
  const int keyval_;
  MPI_Aint* const place_;
  void* value_ = this;  // this: not set
};

}  // namespace dunlin::fortran
