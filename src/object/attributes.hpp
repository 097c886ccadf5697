// Attributes: values that programs cache on communicators, datatypes and windows, by key (MPI 5.0, 7.7).
//
// `Keyval` is the key with its callbacks; `AttributeList` hangs on the object and runs them.  The chapter's
// functions are in object/attribute_functions.cpp; copying happens in MPI_Comm_dup and MPI_Type_dup, deleting
// when the object is freed.
//
// Thread safety: under base/big_lock.hpp.  Callbacks may call MPI, also on the object whose list is being
// walked.
#pragma once

#include <utility>
#include <vector>

#include "base/err.hpp"
#include "object/object.hpp"

namespace dunlin {

class Keyval final : public Object {
 public:
  static constexpr Kind kKind = Kind::keyval;
  enum class On { comm, datatype, win };
  // Callbacks are the program's functions as addresses; NULL_COPY_FN, NULL_DELETE_FN and DUP_FN are the ABI's
  // constants.
  Keyval(On on, void* copy, void* erase, void* extra_state) noexcept
      : Object(Kind::keyval), on(on), copy(copy), erase(erase), extra_state(extra_state) {}
  const On on;
  void* const copy;   // MPI_Comm_copy_attr_function* or the like
  void* const erase;  // MPI_Comm_delete_attr_function* or the like
  void* const extra_state;
  bool is_freed = false;  // by MPI_Comm_free_keyval; values set before keep the object

 private:
  ~Keyval() override;
};

class AttributeList {
 public:
  /// Sets or replaces; runs the delete callback of a replaced value first, whose error leaves the old value.
  Err set(Object& owner, Keyval& key, void* value) noexcept;
  /// The value; `found` says whether there is one.
  void* get(const Keyval& key, bool* found) const noexcept;
  /// Runs the delete callback and forgets the value; nothing happens when there is none.
  Err erase(Object& owner, Keyval& key) noexcept;
  /// Runs the copy callbacks of `from`; stops at the first error.
  Err copy_from(Object& old_owner, const AttributeList& from) noexcept;
  /// Runs all delete callbacks, last set first; stops at the first error.
  Err erase_all(Object& owner) noexcept;
  bool is_empty() const noexcept { return values_.empty(); }

 private:
  std::size_t place_of(const Keyval& key) const noexcept;  // values_.size() when there is none

  std::vector<std::pair<Ref<Keyval>, void*>> values_;  // in the order of setting; few per object
};

/// What MPI tells programs through attributes of every communicator (MPI 5.0, 9.1.2).  Written by runtime/ at
/// init (and `last_used_code` by object/error_classes.cpp), read by MPI_Comm_get_attr, which gives out the
/// fields' addresses.
struct PredefinedAttributes {
  int tag_max = 0x7fffffff;
  int io;                   // any process can: MPI_ANY_SOURCE
  int host;                 // none is special: MPI_PROC_NULL
  int is_wtime_global = 0;  // 1 on a single node, where all processes read the same clock
  int last_used_code;
  int app_number = -1;     // negative: the launcher did not say, the attribute is not set
  int universe_size = -1;  // the same
};
extern PredefinedAttributes predefined_attributes;

}  // namespace dunlin
