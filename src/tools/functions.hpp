// The tool information interface (MPI 5.0, 15.3): the settings of base/variable.hpp as control variables.
//
// Called by the generated C bindings under the lock, without checks and without error handlers: every call
// answers an error code (MPI_T_ERR_...), and null pointers leave an output out.  There are no performance
// variables, events, sources and categories yet; the calls that enumerate them say so.
#pragma once

#include <mpi.h>

#include "base/err.hpp"

namespace dunlin::tools {

// interface.cpp
Err t_init_thread(int required, int* provided) noexcept;
Err t_finalize() noexcept;
Err t_enum_get_info(MPI_T_enum enumtype, int* num, char* name, int* name_len) noexcept;
Err t_enum_get_item(MPI_T_enum enumtype, int index, int* value, char* name, int* name_len) noexcept;
Err t_pvar_get_num(int* num_pvar) noexcept;
Err t_pvar_get_index(const char* name, int var_class, int* pvar_index) noexcept;
Err t_category_get_num(int* num_cat) noexcept;
Err t_category_get_index(const char* name, int* cat_index) noexcept;
Err t_category_changed(int* update_number) noexcept;
Err t_event_get_num(int* num_events) noexcept;
Err t_event_get_index(const char* name, int* event_index) noexcept;
Err t_source_get_num(int* num_sources) noexcept;

// control_variables.cpp
Err t_cvar_get_num(int* num_cvar) noexcept;
Err t_cvar_get_index(const char* name, int* cvar_index) noexcept;
Err t_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype,
                    MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* scope) noexcept;
Err t_cvar_handle_alloc(int cvar_index, void* obj_handle, MPI_T_cvar_handle* handle, int* count) noexcept;
Err t_cvar_handle_free(MPI_T_cvar_handle* handle) noexcept;
Err t_cvar_read(MPI_T_cvar_handle handle, void* buf) noexcept;
Err t_cvar_write(MPI_T_cvar_handle handle, const void* buf) noexcept;

/// MPI_T_ERR_NOT_INITIALIZED outside MPI_T_init_thread and MPI_T_finalize.
Err check_open() noexcept;

}  // namespace dunlin::tools
