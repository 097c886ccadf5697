// The functions about objects that need no communication: info, attributes, error handlers, error classes and
// codes, statuses, names, versions and clocks (MPI 5.0, 3.2.5, 7.7, 7.8, 9.1 to 9.6, 10, 20).
//
// Called by the generated C bindings, which have checked handles, null pointers and negative counts.
// Conventions: a handle that goes in is a reference, an optional one a pointer; one that comes out is a `T**`
// and a reference of the caller's;
// `_free` gives up the program's reference.  Outputs are set only on success.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/err.hpp"
#include "object/attributes.hpp"
#include "object/comm.hpp"
#include "object/errhandler.hpp"
#include "object/file.hpp"
#include "object/info.hpp"
#include "object/session.hpp"
#include "object/win.hpp"

namespace dunlin::object {

// --- info (chapter 10); all before MPI_Init and after MPI_Finalize too.  info_functions.cpp
Err info_create(Info** info) noexcept;
/// What the process knows about its start; the arguments may be absent, the result is the same.
Err info_create_env(int argc, char** argv, Info** info) noexcept;
Err info_set(Info& info, const char* key, const char* value) noexcept;
Err info_delete(Info& info, const char* key) noexcept;
Err info_get(const Info& info, const char* key, int value_length, char* value, int* flag) noexcept;
Err info_get_valuelen(const Info& info, const char* key, int* value_length, int* flag) noexcept;
Err info_get_string(const Info& info, const char* key, int* buffer_length, char* value, int* flag) noexcept;
Err info_get_nkeys(const Info& info, int* keys) noexcept;
Err info_get_nthkey(const Info& info, int n, char* key) noexcept;
Err info_dup(const Info& info, Info** new_info) noexcept;
Err info_free(Info& info) noexcept;
/// Gives MPI_INFO_ENV its handle and its contents; once at start.
void init_predefined_info() noexcept;

// --- attributes (7.7).  attribute_functions.cpp
Err comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* erase, int* keyval,
                       void* extra_state) noexcept;
Err type_create_keyval(MPI_Type_copy_attr_function* copy, MPI_Type_delete_attr_function* erase, int* keyval,
                       void* extra_state) noexcept;
Err win_create_keyval(MPI_Win_copy_attr_function* copy, MPI_Win_delete_attr_function* erase, int* keyval,
                      void* extra_state) noexcept;
/// `*keyval` becomes MPI_KEYVAL_INVALID.
Err comm_free_keyval(int* keyval) noexcept;
Err type_free_keyval(int* keyval) noexcept;
Err win_free_keyval(int* keyval) noexcept;
Err comm_set_attr(Comm& comm, int keyval, void* value) noexcept;
/// `value` points to a void*.
Err comm_get_attr(Comm& comm, int keyval, void* value, int* flag) noexcept;
Err comm_delete_attr(Comm& comm, int keyval) noexcept;
Err win_set_attr(Win& win, int keyval, void* value) noexcept;
Err win_get_attr(Win& win, int keyval, void* value, int* flag) noexcept;
Err win_delete_attr(Win& win, int keyval) noexcept;
/// The same for any object that has a list (datatypes, windows).
Err set_attribute(Object& owner, AttributeList& list, Keyval::On on, int keyval, void* value) noexcept;
Err get_attribute(const AttributeList& list, Keyval::On on, int keyval, void* value, int* flag) noexcept;
Err delete_attribute(Object& owner, AttributeList& list, Keyval::On on, int keyval) noexcept;

// --- error handlers (9.3).  errhandler_functions.cpp
Err comm_create_errhandler(MPI_Comm_errhandler_function* function, Errhandler** errhandler) noexcept;
Err win_create_errhandler(MPI_Win_errhandler_function* function, Errhandler** errhandler) noexcept;
Err file_create_errhandler(MPI_File_errhandler_function* function, Errhandler** errhandler) noexcept;
Err session_create_errhandler(MPI_Session_errhandler_function* function, Errhandler** errhandler) noexcept;
Err errhandler_free(Errhandler& errhandler) noexcept;
Err comm_set_errhandler(Comm& comm, Errhandler& errhandler) noexcept;
Err comm_get_errhandler(Comm& comm, Errhandler** errhandler) noexcept;
Err session_set_errhandler(Session& session, Errhandler& errhandler) noexcept;
Err session_get_errhandler(Session& session, Errhandler** errhandler) noexcept;
Err win_set_errhandler(Win& win, Errhandler& errhandler) noexcept;
Err win_get_errhandler(Win& win, Errhandler** errhandler) noexcept;
/// `file` null: MPI_FILE_NULL, what files opened later begin with.
Err file_set_errhandler(File* file, Errhandler& errhandler) noexcept;
Err file_get_errhandler(File* file, Errhandler** errhandler) noexcept;
/// Puts `errhandler` into the place an object keeps its handler in; refuses one made for another kind of
/// object.
Err set_errhandler(Ref<Errhandler>& place, Errhandler::Type kind, Errhandler& errhandler) noexcept;

// --- error classes, codes and strings (9.4, 9.5).  error_classes.cpp, error_texts.cpp
Err add_error_class(int* error_class) noexcept;
Err add_error_code(int error_class, int* error_code) noexcept;
Err add_error_string(int error_code, const char* string) noexcept;
Err remove_error_class(int error_class) noexcept;
Err remove_error_code(int error_code) noexcept;
Err remove_error_string(int error_code) noexcept;
Err error_class(int error_code, int* error_class) noexcept;
/// The text of the class, and behind a colon the sentence recorded last by this thread for it.
Err error_string(int error_code, char* string, int* length) noexcept;
/// What an error class of the standard means, in a few words; nullptr when it is none.
const char* text_of_class(int error_class) noexcept;

// --- names (7.8).  names.cpp
Err comm_set_name(Comm& comm, const char* name) noexcept;
Err comm_get_name(Comm& comm, char* name, int* length) noexcept;
Err win_set_name(Win& win, const char* name) noexcept;
Err win_get_name(Win& win, char* name, int* length) noexcept;

// --- statuses (3.2.5, 3.8.4, 13.3, 19.3.5).  status_functions.cpp
Err status_get_source(const MPI_Status* status, int* source) noexcept;
Err status_get_tag(const MPI_Status* status, int* tag) noexcept;
Err status_get_error(const MPI_Status* status, int* error) noexcept;
Err status_set_source(MPI_Status* status, int source) noexcept;
Err status_set_tag(MPI_Status* status, int tag) noexcept;
Err status_set_error(MPI_Status* status, int error) noexcept;
Err status_set_cancelled(MPI_Status* status, int flag) noexcept;
Err test_cancelled(const MPI_Status* status, int* flag) noexcept;
Err status_c2f(const MPI_Status* from, MPI_Fint* to) noexcept;
Err status_f2c(const MPI_Fint* from, MPI_Status* to) noexcept;
Err status_c2f08(const MPI_Status* from, MPI_F08_status* to) noexcept;
Err status_f082c(const MPI_F08_status* from, MPI_Status* to) noexcept;
Err status_f2f08(const MPI_Fint* from, MPI_F08_status* to) noexcept;
Err status_f082f(const MPI_F08_status* from, MPI_Fint* to) noexcept;

// --- the process and the library (9.1, 9.6, 20.2).  environment.cpp
Err get_processor_name(char* name, int* length) noexcept;
Err get_version(int* version, int* subversion) noexcept;
Err get_library_version(char* version, int* length) noexcept;
/// Seconds since some moment in the past; the same clock for all processes of a node.
double wtime() noexcept;
double wtick() noexcept;
inline MPI_Aint aint_add(MPI_Aint base, MPI_Aint displacement) noexcept { return base + displacement; }
inline MPI_Aint aint_diff(MPI_Aint left, MPI_Aint right) noexcept { return left - right; }

// --- the standard ABI (20.4).  abi.cpp
Err abi_get_version(int* major, int* minor) noexcept;
Err abi_get_info(Info** info) noexcept;

}  // namespace dunlin::object
