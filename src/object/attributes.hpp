// Attributes: values that programs cache on communicators, datatypes and windows, by key (MPI 5.0, 7.7).
//
// `Keyval` is the key with its callbacks; `AttributeList` hangs on the object.  The chapter's functions are in
// object/attributes.cpp; copying happens in MPI_Comm_dup and MPI_Type_dup, deleting when the object is freed.
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
  // Callbacks with the object's handle as uintptr_t; NULL_COPY_FN, NULL_DELETE_FN and DUP_FN are the ABI's constants.
  Keyval(On on, void* copy, void* erase, void* extra_state) noexcept
      : Object(Kind::keyval), on(on), copy(copy), erase(erase), extra_state(extra_state) {}
  const On on;
  void* const copy;         // MPI_Comm_copy_attr_function* or the like
  void* const erase;        // MPI_Comm_delete_attr_function* or the like
  void* const extra_state;
};

class AttributeList {
 public:
  /// Sets or replaces; runs the delete callback of a replaced value.
  Err set(Object& owner, Keyval& key, void* value) noexcept;
  /// The value; `found` says whether there is one.
  void* get(const Keyval& key, bool* found) const noexcept;
  Err erase(Object& owner, Keyval& key) noexcept;
  /// Runs the copy callbacks of `from`; stops at the first error.
  Err copy_from(Object& old_owner, const AttributeList& from) noexcept;
  /// Runs all delete callbacks, last set first.
  Err erase_all(Object& owner) noexcept;
  bool is_empty() const noexcept { return values_.empty(); }

 private:
  std::vector<std::pair<Ref<Keyval>, void*>> values_;  // in the order of setting; few per object
};

}  // namespace dunlin
