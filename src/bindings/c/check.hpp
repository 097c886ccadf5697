// Checks of arguments, one per kind of parameter: the only place in the library where a program's arguments
// are checked.
//
// Used by the generated bindings.  hot path: every check is one compare and one branch that is never taken;
// what happens then is cold code in raise.cpp.  Built with DUNLIN_CHECK_ARGUMENTS=0 all of them vanish.
// Include it first: it declares the functions of mpi.h as visible outside the library.
#pragma once

#pragma GCC visibility push(default)
#include "mpi.h"
#pragma GCC visibility pop

#include <climits>
#include <cstdint>
#include <type_traits>

#include "base/big_lock.hpp"
#include "bindings/c/raise.hpp"
#include "object/comm.hpp"
#include "object/life.hpp"
#include "object/object.hpp"
#include "object/win.hpp"

namespace dunlin::bindings {

inline constexpr bool kChecked = DUNLIN_CHECK_ARGUMENTS;

inline bool is_unusable() noexcept { return kChecked && !Life::is_usable(); }
inline bool is_missing(const void* object_or_pointer) noexcept { return kChecked && !object_or_pointer; }
inline bool is_in_place(const void* buffer) noexcept { return kChecked && buffer == MPI_IN_PLACE; }
inline bool is_bad_count(std::int64_t count) noexcept { return kChecked && count < 0; }

/// One compare for null pointers and MPI_IN_PLACE, which is 1.
inline bool is_buffer(const void* buffer) noexcept {
  return reinterpret_cast<std::uintptr_t>(buffer) > reinterpret_cast<std::uintptr_t>(MPI_IN_PLACE);
}

/// MPI_IN_PLACE is no buffer.  A null pointer is right with no elements, or where a derived datatype holds
/// absolute addresses.
template <class Datatype>
inline bool is_bad_buffer(const void* buffer, std::int64_t count, const Datatype& datatype) noexcept {
  return kChecked && !is_buffer(buffer) && (buffer || (count > 0 && datatype.is_predefined()));
}

/// Whether a rank sends from where it receives.  Derived datatypes may leave each other's elements alone.
template <class Datatype>
inline bool is_alias(const void* sendbuf, const void* recvbuf, std::int64_t sent, const Datatype& sendtype,
                     std::int64_t received, const Datatype& recvtype) noexcept {
  return kChecked && sendbuf == recvbuf && sendbuf && sent > 0 && received > 0 && sendtype.is_predefined() &&
         recvtype.is_predefined();
}

/// A predefined operator that is not defined for the datatype; says so (op/op.hpp).
template <class Op, class Datatype>
inline bool is_bad_op(const Op& op, const Datatype& datatype) noexcept {
  return kChecked && op.check(datatype) != Err::ok;
}

/// Optional handles: the null handle of the kind is allowed, everything else must be an object.
template <class Handle>
inline bool is_bad_optional(const void* object, Handle handle, Handle null_handle) noexcept {
  return kChecked && !object && handle != null_handle;
}

inline bool is_bad_dest(const Comm& comm, int rank) noexcept {
  return kChecked && unsigned(rank) >= unsigned(comm.target_size) && rank != MPI_PROC_NULL;
}

inline bool is_bad_source(const Comm& comm, int rank) noexcept {
  return kChecked && unsigned(rank) >= unsigned(comm.target_size) && rank != MPI_PROC_NULL &&
         rank != MPI_ANY_SOURCE;
}

inline bool is_bad_target(const Win& win, int rank) noexcept {
  return kChecked && unsigned(rank) >= unsigned(win.size) && rank != MPI_PROC_NULL;
}

inline bool is_bad_root(const Comm& comm, int root) noexcept {
  if (!kChecked || unsigned(root) < unsigned(comm.target_size)) return false;
  return !comm.is_inter() || (root != MPI_ROOT && root != MPI_PROC_NULL);
}

// MPI_TAG_UB is INT_MAX, so that a negative tag is the only wrong one.
inline bool is_bad_tag(int tag) noexcept { return kChecked && tag < 0; }
inline bool is_bad_receive_tag(int tag) noexcept { return kChecked && tag < 0 && tag != MPI_ANY_TAG; }

/// Whether this process is the root of a rooted collective, where arguments "significant only at root" are
/// read.
inline bool is_root(const Comm& comm, int root) noexcept {
  return comm.is_inter() ? root == MPI_ROOT : root == comm.rank;
}

/// Whether MPI_IN_PLACE, given for what a rank sends (scatter: receives), means "it lies in the other
/// buffer".
inline bool may_be_in_place(const Comm& comm) noexcept { return !comm.is_inter(); }
inline bool may_be_in_place(const Comm& comm, int root) noexcept {
  return !comm.is_inter() && root == comm.rank;
}

/// Whether this process only stands by in a rooted collective over an inter-communicator.
inline bool is_outside(const Comm& comm, int root) noexcept {
  return comm.is_inter() && root == MPI_PROC_NULL;
}

/// Whether what the ranks other than the root hand over or get means nothing here.
inline bool is_idle(const Comm& comm, int root) noexcept {
  return comm.is_inter() && (root == MPI_PROC_NULL || root == MPI_ROOT);
}

/// The objects of a call that waits: it gives the lock up meanwhile, and another thread may free them.  Null
/// ones are none.
template <class... Objects>
class Kept {
 public:
  explicit Kept(Objects*... objects) noexcept
      : objects_{const_cast<std::remove_const_t<Objects>*>(objects)...} {
    if (is_needed_) [[unlikely]]
      for (Object* each : objects_)
        if (each) each->retain();
  }
  ~Kept() {
    if (is_needed_) [[unlikely]]
      for (Object* each : objects_)
        if (each) each->release();
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

 private:
  const bool is_needed_ = BigLock::has_threads();
  Object* const objects_[sizeof...(Objects)];
};

/// Gives a program the handle of `object`, or the null handle where there is none.
template <class Handle>
inline void set_handle(Handle* to, Object* object, Handle null_handle) noexcept {
  *to = object ? to_handle<Handle>(*object) : null_handle;
}

/// MPI_Xxx_toint and MPI_Xxx_c2f: predefined and null handles are their own integers.  Neither this nor the
/// way back takes a lock.
template <class Handle>
inline int to_integer(Handle handle) noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  return value < kPredefinedHandles ? int(value) : reinterpret_cast<Object*>(value)->to_int();
}

/// The way back; an integer that never was one of a handle gives the null handle.
template <class Handle>
inline Handle to_object_handle(int integer, Handle null_handle) noexcept {
  if (integer >= 0 && std::uintptr_t(integer) < kPredefinedHandles)
    return reinterpret_cast<Handle>(std::uintptr_t(integer));
  Object* object = Object::from_int(integer);
  return object ? to_handle<Handle>(*object) : null_handle;
}

/// A count that goes out through `int*` or `MPI_Count*`.
struct CountOut {
  void* place = nullptr;
  bool wide = false;
};

inline std::int64_t load(CountOut from) noexcept {
  return from.wide ? *static_cast<const MPI_Count*>(from.place) : *static_cast<const int*>(from.place);
}

inline bool fits(CountOut to, std::int64_t value) noexcept {
  return to.wide || (value >= INT_MIN && value <= INT_MAX);
}

inline void store(CountOut to, std::int64_t value) noexcept {
  if (to.wide)
    *static_cast<MPI_Count*>(to.place) = value;
  else
    *static_cast<int*>(to.place) = int(value);
}

}  // namespace dunlin::bindings
