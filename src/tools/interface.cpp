// Start and end of the tool interface, and the kinds of things it has none of yet.
#include "tools/functions.hpp"

namespace dunlin::tools {
namespace {

int open_count = 0;  // MPI_T_init_thread may be called often; the last MPI_T_finalize ends

Err none(int* number) noexcept {
  if (const Err error = check_open(); error != Err::ok) return error;
  if (!number) return Err(MPI_T_ERR_INVALID);
  *number = 0;
  return Err::ok;
}

Err no_such_name() noexcept {
  const Err error = check_open();
  return error != Err::ok ? error : Err(MPI_T_ERR_INVALID_NAME);
}

Err no_such_handle() noexcept {
  const Err error = check_open();
  return error != Err::ok ? error : Err(MPI_T_ERR_INVALID_HANDLE);
}

}  // namespace

Err check_open() noexcept { return open_count > 0 ? Err::ok : Err(MPI_T_ERR_NOT_INITIALIZED); }

Err t_init_thread(int, int* provided) noexcept {
  ++open_count;
  if (provided) *provided = MPI_THREAD_MULTIPLE;
  return Err::ok;
}

Err t_finalize() noexcept {
  if (const Err error = check_open(); error != Err::ok) return error;
  --open_count;
  return Err::ok;
}

Err t_enum_get_info(MPI_T_enum, int*, char*, int*) noexcept { return no_such_handle(); }
Err t_enum_get_item(MPI_T_enum, int, int*, char*, int*) noexcept { return no_such_handle(); }
Err t_pvar_get_num(int* num_pvar) noexcept { return none(num_pvar); }
Err t_pvar_get_index(const char*, int, int*) noexcept { return no_such_name(); }
Err t_category_get_num(int* num_cat) noexcept { return none(num_cat); }
Err t_category_get_index(const char*, int*) noexcept { return no_such_name(); }
Err t_category_changed(int* update_number) noexcept { return none(update_number); }
Err t_event_get_num(int* num_events) noexcept { return none(num_events); }
Err t_event_get_index(const char*, int*) noexcept { return no_such_name(); }
Err t_source_get_num(int* num_sources) noexcept { return none(num_sources); }

}  // namespace dunlin::tools
