// Settings as control variables (MPI 5.0, 15.3.6).  The index is the place in the list sorted by name; a
// handle is the variable's address.  Numbers are one MPI_COUNT, words an MPI_CHAR string.
//
// Values may be set until MPI_Init, because the library reads many of them once, when it starts.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/variable.hpp"
#include "object/life.hpp"
#include "tools/functions.hpp"

namespace dunlin::tools {
namespace {

constexpr int kWordBytesMax = 256;  // with the NUL

Variable* at_index(int index) noexcept {
  Variable* each = index >= 0 ? Variable::first() : nullptr;
  for (int i = 0; each && i < index; ++i) each = each->next();
  return each;
}

Variable* of_handle(MPI_T_cvar_handle handle) noexcept {
  for (Variable* each = Variable::first(); each; each = each->next())
    if (reinterpret_cast<MPI_T_cvar_handle>(each) == handle) return each;
  return nullptr;
}

/// Fills `text` up to `*bytes`, and says in `*bytes` how many it takes with the NUL (MPI 5.0, 15.3.3).
void give_text(const char* from, char* text, int* bytes) noexcept {
  if (!bytes) return;
  if (text && *bytes > 0) std::snprintf(text, std::size_t(*bytes), "%s", from);
  *bytes = int(std::strlen(from)) + 1;
}

void give(int value, int* to) noexcept {
  if (to) *to = value;
}

}  // namespace

Err t_cvar_get_num(int* num_cvar) noexcept {
  if (const Err error = check_open(); error != Err::ok) return error;
  int count = 0;
  for (const Variable* each = Variable::first(); each; each = each->next()) ++count;
  give(count, num_cvar);
  return Err::ok;
}

Err t_cvar_get_index(const char* name, int* cvar_index) noexcept {
  if (const Err error = check_open(); error != Err::ok) return error;
  if (!name || !cvar_index) return Err(MPI_T_ERR_INVALID);
  constexpr char kPrefix[] = "DUNLIN_";
  const std::size_t skipped = std::strncmp(name, kPrefix, sizeof kPrefix - 1) == 0 ? sizeof kPrefix - 1 : 0;
  int index = 0;
  for (const Variable* each = Variable::first(); each; each = each->next(), ++index)
    if (skipped > 0 && std::strcmp(each->name(), name + skipped) == 0) return *cvar_index = index, Err::ok;
  return Err(MPI_T_ERR_INVALID_NAME);
}

Err t_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype,
                    MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* scope) noexcept {
  if (const Err error = check_open(); error != Err::ok) return error;
  const Variable* variable = at_index(cvar_index);
  if (!variable) return Err(MPI_T_ERR_INVALID_INDEX);
  char text[512];
  std::snprintf(text, sizeof text, "DUNLIN_%s", variable->name());
  give_text(text, name, name_len);
  const char* unit = variable->unit();
  const bool has_unit = *unit != '\0';
  std::snprintf(text, sizeof text, "%s%s%s%s", variable->meaning(), has_unit ? " (" : "", unit,
                has_unit ? ")" : "");
  give_text(text, desc, desc_len);
  give(MPI_T_VERBOSITY_TUNER_BASIC, verbosity);
  if (datatype) *datatype = variable->is_number() ? MPI_COUNT : MPI_CHAR;
  if (enumtype) *enumtype = MPI_T_ENUM_NULL;
  give(MPI_T_BIND_NO_OBJECT, bind);
  give(MPI_T_SCOPE_ALL, scope);
  return Err::ok;
}

Err t_cvar_handle_alloc(int cvar_index, void*, MPI_T_cvar_handle* handle, int* count) noexcept {
  if (const Err error = check_open(); error != Err::ok) return error;
  Variable* variable = at_index(cvar_index);
  if (!variable) return Err(MPI_T_ERR_INVALID_INDEX);
  if (!handle) return Err(MPI_T_ERR_INVALID);
  *handle = reinterpret_cast<MPI_T_cvar_handle>(variable);
  give(variable->is_number() ? 1 : kWordBytesMax, count);
  return Err::ok;
}

Err t_cvar_handle_free(MPI_T_cvar_handle* handle) noexcept {
  if (const Err error = check_open(); error != Err::ok) return error;
  if (!handle || !of_handle(*handle)) return Err(MPI_T_ERR_INVALID_HANDLE);
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return Err::ok;
}

Err t_cvar_read(MPI_T_cvar_handle handle, void* buf) noexcept {
  if (const Err error = check_open(); error != Err::ok) return error;
  const Variable* variable = of_handle(handle);
  if (!variable) return Err(MPI_T_ERR_INVALID_HANDLE);
  if (!buf) return Err(MPI_T_ERR_INVALID);
  char text[kWordBytesMax];
  variable->print_value(text, kWordBytesMax);
  if (variable->is_number()) {
    const MPI_Count value = std::strtoll(text, nullptr, 10);
    std::memcpy(buf, &value, sizeof value);
  } else {
    std::memcpy(buf, text, std::strlen(text) + 1);
  }
  return Err::ok;
}

Err t_cvar_write(MPI_T_cvar_handle handle, const void* buf) noexcept {
  if (const Err error = check_open(); error != Err::ok) return error;
  Variable* variable = of_handle(handle);
  if (!variable) return Err(MPI_T_ERR_INVALID_HANDLE);
  if (!buf) return Err(MPI_T_ERR_INVALID);
  if (Life::is_usable() || Life::is_finalized) return Err(MPI_T_ERR_CVAR_SET_NOT_NOW);
  char text[kWordBytesMax];
  if (variable->is_number()) {
    MPI_Count value = 0;
    std::memcpy(&value, buf, sizeof value);
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value));
  } else {
    std::snprintf(text, sizeof text, "%s", static_cast<const char*>(buf));
  }
  return variable->try_set(text) ? Err::ok : Err(MPI_T_ERR_INVALID);
}

}  // namespace dunlin::tools
