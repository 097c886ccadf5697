#include "object/attributes.hpp"

#include <mpi.h>

#include "base/callback.hpp"

namespace dunlin {

PredefinedAttributes predefined_attributes{
    .io = MPI_ANY_SOURCE, .host = MPI_PROC_NULL, .last_used_code = MPI_ERR_LASTCODE};

namespace {

// One shape for the three kinds of object, whose callbacks differ only in the type of the handle.
template <class Handle>
Err call_copy(const Keyval& key, int number, Object& owner, void* in, void** out, int* flag) noexcept {
  using Function = int (*)(Handle, int, void*, void*, void*, int*);
  auto* function = reinterpret_cast<Function>(key.copy);
  const Callback callback;
  const int code = function(to_handle<Handle>(owner), number, key.extra_state, in, out, flag);
  return code == MPI_SUCCESS ? Err::ok
                             : fail(Err(code), "the copy function of keyval %d answered %d", number, code);
}

template <class Handle>
Err call_erase(const Keyval& key, int number, Object& owner, void* value) noexcept {
  using Function = int (*)(Handle, int, void*, void*);
  auto* function = reinterpret_cast<Function>(key.erase);
  const Callback callback;
  const int code = function(to_handle<Handle>(owner), number, value, key.extra_state);
  return code == MPI_SUCCESS ? Err::ok
                             : fail(Err(code), "the delete function of keyval %d answered %d", number, code);
}

Err run_copy(Keyval& key, Object& owner, void* in, void** out, int* flag) noexcept {
  *flag = 0;
  if (key.copy == reinterpret_cast<void*>(MPI_COMM_NULL_COPY_FN)) return Err::ok;
  if (key.copy == reinterpret_cast<void*>(MPI_COMM_DUP_FN)) {
    *out = in;
    *flag = 1;
    return Err::ok;
  }
  switch (key.on) {
    case Keyval::On::comm:
      return call_copy<MPI_Comm>(key, key.to_int(), owner, in, out, flag);
    case Keyval::On::datatype:
      return call_copy<MPI_Datatype>(key, key.to_int(), owner, in, out, flag);
    case Keyval::On::win:
      return call_copy<MPI_Win>(key, key.to_int(), owner, in, out, flag);
  }
  return Err::intern;
}

Err run_erase(Keyval& key, Object& owner, void* value) noexcept {
  if (key.erase == reinterpret_cast<void*>(MPI_COMM_NULL_DELETE_FN)) return Err::ok;
  switch (key.on) {
    case Keyval::On::comm:
      return call_erase<MPI_Comm>(key, key.to_int(), owner, value);
    case Keyval::On::datatype:
      return call_erase<MPI_Datatype>(key, key.to_int(), owner, value);
    case Keyval::On::win:
      return call_erase<MPI_Win>(key, key.to_int(), owner, value);
  }
  return Err::intern;
}

}  // namespace

Keyval::~Keyval() = default;

std::size_t AttributeList::place_of(const Keyval& key) const noexcept {
  std::size_t i = 0;
  while (i < values_.size() && values_[i].first.get() != &key) ++i;
  return i;
}

Err AttributeList::set(Object& owner, Keyval& key, void* value) noexcept {
  DUNLIN_ASSERT(!key.is_freed);
  const std::size_t old = place_of(key);
  if (old < values_.size())
    if (Err e = run_erase(key, owner, values_[old].second); e != Err::ok) return e;
  const std::size_t now = place_of(key);  // again: the callback may have changed the list
  if (now < values_.size())
    values_[now].second = value;
  else
    values_.emplace_back(Ref<Keyval>(&key), value);
  return Err::ok;
}

void* AttributeList::get(const Keyval& key, bool* found) const noexcept {
  const std::size_t i = place_of(key);
  *found = i < values_.size();
  return *found ? values_[i].second : nullptr;
}

Err AttributeList::erase(Object& owner, Keyval& key) noexcept {
  const Ref<Keyval> hold(&key);  // the list may hold the last reference
  const std::size_t i = place_of(key);
  if (i == values_.size()) return Err::ok;
  if (Err e = run_erase(key, owner, values_[i].second); e != Err::ok) return e;
  const std::size_t now = place_of(key);
  if (now < values_.size()) values_.erase(values_.begin() + std::ptrdiff_t(now));
  return Err::ok;
}

Err AttributeList::copy_from(Object& old_owner, const AttributeList& from) noexcept {
  DUNLIN_ASSERT(&from != this);
  const auto values = from.values_;  // callbacks may change the old object's list
  for (const auto& [key, value] : values) {
    void* copied = nullptr;
    int flag = 0;
    if (Err e = run_copy(*key, old_owner, value, &copied, &flag); e != Err::ok) return e;
    if (flag) values_.emplace_back(key, copied);
  }
  return Err::ok;
}

Err AttributeList::erase_all(Object& owner) noexcept {
  while (!values_.empty()) {
    const Ref<Keyval> key = values_.back().first;
    if (Err e = erase(owner, *key); e != Err::ok) return e;
  }
  return Err::ok;
}

}  // namespace dunlin
