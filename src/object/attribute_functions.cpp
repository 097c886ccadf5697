#include "object/functions.hpp"

namespace dunlin::object {
namespace {

const char* name_of(Keyval::On on) noexcept {
  switch (on) {
    case Keyval::On::comm: return "communicators";
    case Keyval::On::datatype: return "datatypes";
    case Keyval::On::win: return "windows";
  }
  return "";
}

/// The key of that number, or nullptr with the error recorded.  A freed key is found while an object has it:
/// programs remove such values with the number that they kept (MPI 5.0, 7.7.2).
Keyval* find_key(int number, Keyval::On on, Err* error) noexcept {
  *error = Err::ok;
  if (number > 0 && std::uintptr_t(number) < kPredefinedHandles) {
    *error =
        fail(Err::keyval,
             "keyval is %d, which no MPI_..._create_keyval returned; predefined attributes cannot be changed",
             number);
    return nullptr;
  }
  Object* object = number == MPI_KEYVAL_INVALID ? nullptr : Object::from_int(number);
  auto* key = object && object->kind() == Kind::keyval ? static_cast<Keyval*>(object) : nullptr;
  if (!key)
    *error =
        fail(Err::keyval, "keyval is %d, which no MPI_%s_create_keyval returned or which was freed", number,
             on == Keyval::On::comm       ? "Comm"
             : on == Keyval::On::datatype ? "Type"
                                          : "Win");
  else if (key->on != on)
    *error = fail(Err::keyval, "keyval is %d, which was made for %s, not for %s", number, name_of(key->on),
                  name_of(on));
  return *error == Err::ok ? key : nullptr;
}

template <class Copy, class Erase>
Err create(Keyval::On on, Copy* copy, Erase* erase, int* keyval, void* extra_state) noexcept {
  auto* key = new Keyval(on, reinterpret_cast<void*>(copy), reinterpret_cast<void*>(erase), extra_state);
  *keyval = key->to_int();
  return Err::ok;
}

Err free(Keyval::On on, int* keyval) noexcept {
  Err error;
  Keyval* key = find_key(*keyval, on, &error);
  if (!key) return error;
  if (!key->is_freed) {
    key->is_freed = true;
    key->release();
  }
  *keyval = MPI_KEYVAL_INVALID;
  return Err::ok;
}

/// The place of a predefined attribute's value, or nullptr when it is not set; `known` tells whether there is
/// such a key.
int* predefined_value(int keyval, bool* known) noexcept {
  PredefinedAttributes& values = predefined_attributes;
  *known = true;
  switch (keyval) {
    case MPI_TAG_UB: return &values.tag_max;
    case MPI_IO: return &values.io;
    case MPI_HOST: return &values.host;
    case MPI_WTIME_IS_GLOBAL: return &values.is_wtime_global;
    case MPI_LASTUSEDCODE: return &values.last_used_code;
    case MPI_APPNUM: return values.app_number >= 0 ? &values.app_number : nullptr;
    case MPI_UNIVERSE_SIZE: return values.universe_size >= 0 ? &values.universe_size : nullptr;
    default: *known = false; return nullptr;
  }
}

}  // namespace

Err comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* erase, int* keyval,
                       void* extra_state) noexcept {
  return create(Keyval::On::comm, copy, erase, keyval, extra_state);
}
Err type_create_keyval(MPI_Type_copy_attr_function* copy, MPI_Type_delete_attr_function* erase, int* keyval,
                       void* extra_state) noexcept {
  return create(Keyval::On::datatype, copy, erase, keyval, extra_state);
}
Err win_create_keyval(MPI_Win_copy_attr_function* copy, MPI_Win_delete_attr_function* erase, int* keyval,
                      void* extra_state) noexcept {
  return create(Keyval::On::win, copy, erase, keyval, extra_state);
}

Err comm_free_keyval(int* keyval) noexcept { return free(Keyval::On::comm, keyval); }
Err type_free_keyval(int* keyval) noexcept { return free(Keyval::On::datatype, keyval); }
Err win_free_keyval(int* keyval) noexcept { return free(Keyval::On::win, keyval); }

Err set_attribute(Object& owner, AttributeList& list, Keyval::On on, int keyval, void* value) noexcept {
  Err error;
  Keyval* key = find_key(keyval, on, &error);
  if (!key) return error;
  if (key->is_freed)
    return fail(Err::keyval, "keyval is %d, which was freed; no new value can be set", keyval);
  return list.set(owner, *key, value);
}

Err get_attribute(const AttributeList& list, Keyval::On on, int keyval, void* value, int* flag) noexcept {
  Err error;
  const Keyval* key = find_key(keyval, on, &error);
  if (!key) return error;
  bool found = false;
  void* stored = list.get(*key, &found);
  *flag = found;
  if (found) *static_cast<void**>(value) = stored;
  return Err::ok;
}

Err delete_attribute(Object& owner, AttributeList& list, Keyval::On on, int keyval) noexcept {
  Err error;
  Keyval* key = find_key(keyval, on, &error);
  return key ? list.erase(owner, *key) : error;
}

Err comm_set_attr(Comm& comm, int keyval, void* value) noexcept {
  return set_attribute(comm, comm.attributes, Keyval::On::comm, keyval, value);
}

Err comm_get_attr(Comm& comm, int keyval, void* value, int* flag) noexcept {
  bool known = false;
  if (int* predefined = predefined_value(keyval, &known); known) {
    // Communicators of a session know the largest tag only (MPI 5.0, 9.1.2).
    const bool is_hidden = keyval != MPI_TAG_UB && comm.group && comm.group->session;
    *flag = predefined && !is_hidden;
    if (*flag) *static_cast<void**>(value) = predefined;
    return Err::ok;
  }
  return get_attribute(comm.attributes, Keyval::On::comm, keyval, value, flag);
}

Err comm_delete_attr(Comm& comm, int keyval) noexcept {
  return delete_attribute(comm, comm.attributes, Keyval::On::comm, keyval);
}

Err win_set_attr(Win& win, int keyval, void* value) noexcept {
  return set_attribute(win, win.attributes, Keyval::On::win, keyval, value);
}

/// Of the predefined ones only the base is a value itself; the others are places (MPI 5.0, 12.2.6).
Err win_get_attr(Win& win, int keyval, void* value, int* flag) noexcept {
  void* place = nullptr;
  switch (keyval) {
    case MPI_WIN_BASE: place = win.base; break;
    case MPI_WIN_SIZE: place = &win.bytes; break;
    case MPI_WIN_DISP_UNIT: place = &win.displacement_unit; break;
    case MPI_WIN_CREATE_FLAVOR: place = &win.flavor; break;
    case MPI_WIN_MODEL: place = &win.model; break;
    default: return get_attribute(win.attributes, Keyval::On::win, keyval, value, flag);
  }
  *static_cast<void**>(value) = place;
  *flag = 1;
  return Err::ok;
}

Err win_delete_attr(Win& win, int keyval) noexcept {
  return delete_attribute(win, win.attributes, Keyval::On::win, keyval);
}

}  // namespace dunlin::object
