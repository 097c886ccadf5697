// Fortran procedures whose arguments depend on each other, so that tools/generate/fortran.py leaves them
// alone: texts with a length of their own (MPI 5.0, 10), spawned commands (11.8), attributes of type INTEGER
// (16).
#include <string>
#include <vector>

#include "bindings/fortran/arguments.hpp"
#include "bindings/fortran/callbacks.hpp"
#include "bindings/fortran/subarrays.hpp"

#pragma GCC visibility push(default)
using namespace dunlin::fortran;

// --- texts: a length in Fortran does not count the zero at the end, but for MPI_INFO_GET a length in C does
// ------

extern "C" void pmpi_info_get_(const MPI_Fint* info, const char* key, const MPI_Fint* valuelen, char* value,
                               MPI_Fint* flag, MPI_Fint* ierror, std::size_t key_length,
                               std::size_t value_length) noexcept {
  Few<char, MPI_MAX_INFO_VAL + 1> text(std::int64_t(*valuelen) + 1);
  *flag = 0;
  answer(ierror, MPI_Info_get(to_c<MPI_Info>(info), Stripped(key, key_length), *valuelen, text.data(), flag));
  if (*flag) fill(value, value_length, text.data());
}
#pragma weak mpi_info_get_ = pmpi_info_get_
#pragma weak mpi_info_get_f08_ = pmpi_info_get_
#pragma weak pmpi_info_get_f08_ = pmpi_info_get_

extern "C" void pmpi_info_get_string_(const MPI_Fint* info, const char* key, MPI_Fint* buflen, char* value,
                                      MPI_Fint* flag, MPI_Fint* ierror, std::size_t key_length,
                                      std::size_t value_length) noexcept {
  int capacity = *buflen > 0 ? *buflen + 1 : 0;
  Few<char, MPI_MAX_INFO_VAL + 1> text(std::int64_t(capacity) + 1);
  text[0] = 0;
  *flag = 0;
  answer(ierror,
         MPI_Info_get_string(to_c<MPI_Info>(info), Stripped(key, key_length), &capacity, text.data(), flag));
  if (!*flag) return;
  if (*buflen > 0) fill(value, value_length, text.data());
  *buflen = capacity - 1;
}
#pragma weak mpi_info_get_string_ = pmpi_info_get_string_
#pragma weak mpi_info_get_string_f08_ = pmpi_info_get_string_
#pragma weak pmpi_info_get_string_f08_ = pmpi_info_get_string_

extern "C" void pmpi_session_get_nth_pset_(const MPI_Fint* session, const MPI_Fint* info, const MPI_Fint* n,
                                           MPI_Fint* pset_len, char* pset_name, MPI_Fint* ierror,
                                           std::size_t pset_name_length) noexcept {
  int capacity = *pset_len > 0 ? *pset_len + 1 : 0;
  Few<char, MPI_MAX_PSET_NAME_LEN + 1> text(std::int64_t(capacity) + 1);
  text[0] = 0;
  const int error =
      MPI_Session_get_nth_pset(to_c<MPI_Session>(session), to_c<MPI_Info>(info), *n, &capacity, text.data());
  if (error == MPI_SUCCESS) {
    if (*pset_len > 0) fill(pset_name, pset_name_length, text.data());
    *pset_len = capacity - 1;
  }
  answer(ierror, error);
}
#pragma weak mpi_session_get_nth_pset_ = pmpi_session_get_nth_pset_
#pragma weak mpi_session_get_nth_pset_f08_ = pmpi_session_get_nth_pset_
#pragma weak pmpi_session_get_nth_pset_f08_ = pmpi_session_get_nth_pset_

// --- spawned commands: the arguments of each end with a blank one
// --------------------------------------------------

namespace {

std::string without_blanks(const char* text, std::size_t length) {
  const std::string all(text, length);
  return all.substr(0, all.find_last_not_of(' ') + 1);
}

/// The arguments of one command as C wants them; in memory every `stride`-th text belongs to it.
struct CommandArguments {
  void read(const char* given, std::size_t length, std::size_t stride) {
    while (texts.empty() || !texts.back().empty())
      texts.push_back(without_blanks(given + texts.size() * stride * length, length));
    for (std::size_t i = 0; i + 1 < texts.size(); ++i) pointers.push_back(texts[i].data());
    pointers.push_back(nullptr);
  }
  std::vector<std::string> texts;  // the last one is blank
  std::vector<char*> pointers;
};

}  // namespace

extern "C" void pmpi_comm_spawn_(const char* command, const char* argv, const MPI_Fint* maxprocs,
                                 const MPI_Fint* info, const MPI_Fint* root, const MPI_Fint* comm,
                                 MPI_Fint* intercomm, MPI_Fint* array_of_errcodes, MPI_Fint* ierror,
                                 std::size_t command_length, std::size_t argv_length) noexcept {
  CommandArguments arguments;
  if (!is_special(argv)) arguments.read(argv, argv_length, 1);
  answer(ierror, MPI_Comm_spawn(Text(command, command_length), arguments.pointers.data(), *maxprocs,
                                to_c<MPI_Info>(info), *root, to_c<MPI_Comm>(comm), Made<MPI_Comm>(intercomm),
                                address(array_of_errcodes)));
}
#pragma weak mpi_comm_spawn_ = pmpi_comm_spawn_
#pragma weak mpi_comm_spawn_f08_ = pmpi_comm_spawn_
#pragma weak pmpi_comm_spawn_f08_ = pmpi_comm_spawn_

extern "C" void pmpi_comm_spawn_multiple_(const MPI_Fint* count, const char* array_of_commands,
                                          const char* array_of_argv, const MPI_Fint* array_of_maxprocs,
                                          const MPI_Fint* array_of_info, const MPI_Fint* root,
                                          const MPI_Fint* comm, MPI_Fint* intercomm,
                                          MPI_Fint* array_of_errcodes, MPI_Fint* ierror,
                                          std::size_t command_length, std::size_t argv_length) noexcept {
  const std::size_t commands = *count > 0 ? std::size_t(*count) : 0;
  const bool has_arguments = !is_special(array_of_argv);
  std::vector<CommandArguments> arguments(commands);
  std::vector<std::string> names(commands);
  std::vector<char*> command(commands + 1);
  std::vector<char**> argv(commands + 1);
  for (std::size_t i = 0; i < commands; ++i) {
    names[i] = without_blanks(array_of_commands + i * command_length, command_length);
    command[i] = names[i].data();
    if (has_arguments) arguments[i].read(array_of_argv + i * argv_length, argv_length, commands);
    argv[i] = arguments[i].pointers.data();
  }
  answer(ierror, MPI_Comm_spawn_multiple(*count, command.data(), has_arguments ? argv.data() : MPI_ARGVS_NULL,
                                         array_of_maxprocs, Handles<MPI_Info>(array_of_info, *count), *root,
                                         to_c<MPI_Comm>(comm), Made<MPI_Comm>(intercomm),
                                         address(array_of_errcodes)));
}
#pragma weak mpi_comm_spawn_multiple_ = pmpi_comm_spawn_multiple_
#pragma weak mpi_comm_spawn_multiple_f08_ = pmpi_comm_spawn_multiple_
#pragma weak pmpi_comm_spawn_multiple_f08_ = pmpi_comm_spawn_multiple_

// --- attributes of MPI-1, whose values are of type INTEGER
// -----------------------------------------------------------

extern "C" void pmpi_attr_get_(const MPI_Fint* comm, const MPI_Fint* keyval, MPI_Fint* attribute_val,
                               MPI_Fint* flag, MPI_Fint* ierror) noexcept {
  MPI_Aint value = 0;
  answer(ierror, MPI_Attr_get(to_c<MPI_Comm>(comm), *keyval, AttributeValue(keyval, &value, flag), flag));
  if (*flag) *attribute_val = MPI_Fint(value);
}
#pragma weak mpi_attr_get_ = pmpi_attr_get_

extern "C" void pmpi_attr_put_(const MPI_Fint* comm, const MPI_Fint* keyval, const MPI_Fint* attribute_val,
                               MPI_Fint* ierror) noexcept {
  const MPI_Aint value = *attribute_val;
  answer(ierror, MPI_Attr_put(to_c<MPI_Comm>(comm), *keyval, pointer(&value)));
}
#pragma weak mpi_attr_put_ = pmpi_attr_put_

extern "C" void pmpi_keyval_create_(Procedure* copy_fn, Procedure* delete_fn, MPI_Fint* keyval,
                                    const MPI_Fint* extra_state, MPI_Fint* ierror) noexcept {
  const MPI_Aint state = *extra_state;
  answer(ierror,
         MPI_Keyval_create(copy_function(copy_fn), delete_function(delete_fn), keyval, pointer(&state)));
}
#pragma weak mpi_keyval_create_ = pmpi_keyval_create_

// --- what only Fortran has
// ---------------------------------------------------------------------------------------------

extern "C" void pmpi_sizeof_f08ts_(const CFI_cdesc_t* x, MPI_Fint* size, MPI_Fint* ierror) noexcept {
  *size = MPI_Fint(x->elem_len);
  answer(ierror, MPI_SUCCESS);
}
#pragma weak mpi_sizeof_f08ts_ = pmpi_sizeof_f08ts_

// An optimizer must suppose that the buffer is changed here, because it does not see that nothing happens.
extern "C" void pmpi_f_sync_reg_(void*) noexcept {}
#pragma weak mpi_f_sync_reg_ = pmpi_f_sync_reg_
extern "C" void pmpi_f_sync_reg_f08ts_(const CFI_cdesc_t*) noexcept {}
#pragma weak mpi_f_sync_reg_f08ts_ = pmpi_f_sync_reg_f08ts_
