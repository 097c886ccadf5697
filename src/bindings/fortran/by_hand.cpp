// Fortran procedures whose arguments depend on each other, so that tools/generate/fortran.py leaves them
// alone: texts with a length of their own (MPI 5.0, 10), spawned commands (11.8), attributes of type INTEGER
// (16).
#include <algorithm>
#include <string>
#include <vector>

#include "bindings/fortran/arguments.hpp"
#include "bindings/fortran/attribute_values.hpp"
#include "bindings/fortran/callbacks.hpp"
#include "bindings/fortran/refusal.hpp"
#include "bindings/fortran/subarrays.hpp"

#pragma GCC visibility push(default)
using namespace dunlin::fortran;

// --- texts: a length in Fortran does not count the zero at the end, but for MPI_INFO_GET a length in C does
// ------

extern "C" void pmpi_info_get_(const Fint* info, const char* key, const Fint* valuelen, char* value,
                               Fint* flag, Fint* ierror, std::size_t key_length,
                               std::size_t value_length) noexcept {
  char text[MPI_MAX_INFO_VAL + 1];  // longer ones there are not
  int is_there = 0;
  answer(ierror, MPI_Info_get(to_c<MPI_Info>(info), Stripped(key, key_length),
                              narrow(std::min<Fint>(*valuelen, MPI_MAX_INFO_VAL)), text, &is_there));
  *flag = is_there;
  if (is_there) fill(value, value_length, text);
}
extern "C" decltype(pmpi_info_get_) mpi_info_get_ __attribute__((weak, alias("pmpi_info_get_")));
extern "C" decltype(pmpi_info_get_) mpi_info_get_f08_ __attribute__((weak, alias("pmpi_info_get_")));
extern "C" decltype(pmpi_info_get_) pmpi_info_get_f08_ __attribute__((weak, alias("pmpi_info_get_")));

extern "C" void pmpi_info_get_string_(const Fint* info, const char* key, Fint* buflen, char* value,
                                      Fint* flag, Fint* ierror, std::size_t key_length,
                                      std::size_t value_length) noexcept {
  char text[MPI_MAX_INFO_VAL + 1] = {};
  int capacity = *buflen > 0 ? int(std::min<Fint>(*buflen, MPI_MAX_INFO_VAL)) + 1 : 0, is_there = 0;
  answer(ierror,
         MPI_Info_get_string(to_c<MPI_Info>(info), Stripped(key, key_length), &capacity, text, &is_there));
  *flag = is_there;
  if (!is_there) return;
  if (*buflen > 0) fill(value, value_length, text);
  *buflen = capacity - 1;
}
extern "C" decltype(pmpi_info_get_string_) mpi_info_get_string_
    __attribute__((weak, alias("pmpi_info_get_string_")));
extern "C" decltype(pmpi_info_get_string_) mpi_info_get_string_f08_
    __attribute__((weak, alias("pmpi_info_get_string_")));
extern "C" decltype(pmpi_info_get_string_) pmpi_info_get_string_f08_
    __attribute__((weak, alias("pmpi_info_get_string_")));

extern "C" void pmpi_session_get_nth_pset_(const Fint* session, const Fint* info, const Fint* n,
                                           Fint* pset_len, char* pset_name, Fint* ierror,
                                           std::size_t pset_name_length) noexcept {
  if (are_refused<MPI_Session>("MPI_Session_get_nth_pset", session, ierror, number("n", MPI_ERR_ARG, n)))
    return;
  char text[MPI_MAX_PSET_NAME_LEN + 1] = {};
  int capacity = *pset_len > 0 ? int(std::min<Fint>(*pset_len, MPI_MAX_PSET_NAME_LEN)) + 1 : 0;
  const int error =
      MPI_Session_get_nth_pset(to_c<MPI_Session>(session), to_c<MPI_Info>(info), narrow(*n), &capacity, text);
  if (error == MPI_SUCCESS) {
    if (*pset_len > 0) fill(pset_name, pset_name_length, text);
    *pset_len = capacity - 1;
  }
  answer(ierror, error);
}
extern "C" decltype(pmpi_session_get_nth_pset_) mpi_session_get_nth_pset_
    __attribute__((weak, alias("pmpi_session_get_nth_pset_")));
extern "C" decltype(pmpi_session_get_nth_pset_) mpi_session_get_nth_pset_f08_
    __attribute__((weak, alias("pmpi_session_get_nth_pset_")));
extern "C" decltype(pmpi_session_get_nth_pset_) pmpi_session_get_nth_pset_f08_
    __attribute__((weak, alias("pmpi_session_get_nth_pset_")));

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

/// Whether this process is the root, where alone the commands mean something.
bool is_root(const Fint* root, const Fint* comm) noexcept {
  int rank = MPI_PROC_NULL;
  PMPI_Comm_rank(to_c<MPI_Comm>(comm), &rank);
  return rank == *root;
}

/// Where the codes of spawned processes go.  Only the root knows how many these are, which the conversion of
/// integers of 8 bytes must know.
Fint* codes_of(Fint* array_of_errcodes, bool is_root) noexcept {
  return is_root || !kIsWide ? address(array_of_errcodes) : nullptr;  // MPI_ERRCODES_IGNORE
}

}  // namespace

extern "C" void pmpi_comm_spawn_(const char* command, const char* argv, const Fint* maxprocs,
                                 const Fint* info, const Fint* root, const Fint* comm, Fint* intercomm,
                                 Fint* array_of_errcodes, Fint* ierror, std::size_t command_length,
                                 std::size_t argv_length) noexcept {
  if (are_refused<MPI_Comm>(
          "MPI_Comm_spawn", comm, ierror, number("root", MPI_ERR_ROOT, root),
          Number("maxprocs", MPI_ERR_SPAWN, maxprocs, [&] { return int(is_root(root, comm)); })))
    return;
  CommandArguments arguments;
  const bool is_here = is_root(root, comm);
  if (is_here && !is_special(argv)) arguments.read(argv, argv_length, 1);
  answer(ierror,
         MPI_Comm_spawn(Text(command, command_length), arguments.pointers.data(), narrow(*maxprocs),
                        to_c<MPI_Info>(info), narrow(*root), to_c<MPI_Comm>(comm), Made<MPI_Comm>(intercomm),
                        Written(codes_of(array_of_errcodes, is_here), *maxprocs)));
}
extern "C" decltype(pmpi_comm_spawn_) mpi_comm_spawn_ __attribute__((weak, alias("pmpi_comm_spawn_")));
extern "C" decltype(pmpi_comm_spawn_) mpi_comm_spawn_f08_ __attribute__((weak, alias("pmpi_comm_spawn_")));
extern "C" decltype(pmpi_comm_spawn_) pmpi_comm_spawn_f08_ __attribute__((weak, alias("pmpi_comm_spawn_")));

extern "C" void pmpi_comm_spawn_multiple_(const Fint* count, const char* array_of_commands,
                                          const char* array_of_argv, const Fint* array_of_maxprocs,
                                          const Fint* array_of_info, const Fint* root, const Fint* comm,
                                          Fint* intercomm, Fint* array_of_errcodes, Fint* ierror,
                                          std::size_t command_length, std::size_t argv_length) noexcept {
  if (are_refused<MPI_Comm>("MPI_Comm_spawn_multiple", comm, ierror, number("root", MPI_ERR_ROOT, root),
                            Number("count", MPI_ERR_COUNT, count, [&] { return int(is_root(root, comm)); }),
                            Number("array_of_maxprocs", MPI_ERR_SPAWN, array_of_maxprocs,
                                   [&] { return is_root(root, comm) ? std::int64_t(*count) : 0; })))
    return;
  const bool is_here = is_root(root, comm);
  const std::size_t commands = is_here && *count > 0 ? std::size_t(*count) : 0;
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
  answer(ierror,
         MPI_Comm_spawn_multiple(
             narrow(*count), command.data(), has_arguments ? argv.data() : MPI_ARGVS_NULL,
             Integers(array_of_maxprocs, commands), Handles<MPI_Info>(array_of_info, std::int64_t(commands)),
             narrow(*root), to_c<MPI_Comm>(comm), Made<MPI_Comm>(intercomm),
             Written(codes_of(array_of_errcodes, is_here), sum_of(array_of_maxprocs, commands))));
}
extern "C" decltype(pmpi_comm_spawn_multiple_) mpi_comm_spawn_multiple_
    __attribute__((weak, alias("pmpi_comm_spawn_multiple_")));
extern "C" decltype(pmpi_comm_spawn_multiple_) mpi_comm_spawn_multiple_f08_
    __attribute__((weak, alias("pmpi_comm_spawn_multiple_")));
extern "C" decltype(pmpi_comm_spawn_multiple_) pmpi_comm_spawn_multiple_f08_
    __attribute__((weak, alias("pmpi_comm_spawn_multiple_")));

// --- attributes of MPI-1, whose values are of type INTEGER
// -----------------------------------------------------------

extern "C" void pmpi_attr_get_(const Fint* comm, const Fint* keyval, Fint* attribute_val, Fint* flag,
                               Fint* ierror) noexcept {
  if (are_refused<MPI_Comm>("MPI_Attr_get", comm, ierror, number("keyval", MPI_ERR_KEYVAL, keyval))) return;
  MPI_Aint value = 0;
  int is_there = 0;
  answer(ierror,
         MPI_Attr_get(to_c<MPI_Comm>(comm), narrow(*keyval), AttributeValue(keyval, &value), &is_there));
  *flag = is_there;
  if (is_there) *attribute_val = Fint(value);
}
extern "C" decltype(pmpi_attr_get_) mpi_attr_get_ __attribute__((weak, alias("pmpi_attr_get_")));

extern "C" void pmpi_attr_put_(const Fint* comm, const Fint* keyval, const Fint* attribute_val,
                               Fint* ierror) noexcept {
  if (are_refused<MPI_Comm>("MPI_Attr_put", comm, ierror, number("keyval", MPI_ERR_KEYVAL, keyval))) return;
  answer(ierror, MPI_Attr_put(to_c<MPI_Comm>(comm), narrow(*keyval), boxed(MPI_Aint(*attribute_val))));
}
extern "C" decltype(pmpi_attr_put_) mpi_attr_put_ __attribute__((weak, alias("pmpi_attr_put_")));

extern "C" void pmpi_keyval_create_(Procedure* copy_fn, Procedure* delete_fn, Fint* keyval,
                                    const Fint* extra_state, Fint* ierror) noexcept {
  const MPI_Aint state = *extra_state;
  answer(ierror, MPI_Keyval_create(copy_function(copy_fn), delete_function(delete_fn), Written(keyval),
                                   pointer(&state)));
}
extern "C" decltype(pmpi_keyval_create_) mpi_keyval_create_
    __attribute__((weak, alias("pmpi_keyval_create_")));

// --- statuses of mpi_f08 and of the others: the same integers
// ------------------------------------------------------------

extern "C" void pmpi_status_f082f_(const Fint* f08_status, Fint* f_status, Fint* ierror) noexcept {
  std::copy_n(f08_status, MPI_F_STATUS_SIZE, f_status);
  answer(ierror, MPI_SUCCESS);
}
extern "C" decltype(pmpi_status_f082f_) mpi_status_f082f_ __attribute__((weak, alias("pmpi_status_f082f_")));
extern "C" decltype(pmpi_status_f082f_) mpi_status_f082f_f08_
    __attribute__((weak, alias("pmpi_status_f082f_")));
extern "C" decltype(pmpi_status_f082f_) pmpi_status_f082f_f08_
    __attribute__((weak, alias("pmpi_status_f082f_")));

extern "C" void pmpi_status_f2f08_(const Fint* f_status, Fint* f08_status, Fint* ierror) noexcept {
  pmpi_status_f082f_(f_status, f08_status, ierror);
}
extern "C" decltype(pmpi_status_f2f08_) mpi_status_f2f08_ __attribute__((weak, alias("pmpi_status_f2f08_")));
extern "C" decltype(pmpi_status_f2f08_) mpi_status_f2f08_f08_
    __attribute__((weak, alias("pmpi_status_f2f08_")));
extern "C" decltype(pmpi_status_f2f08_) pmpi_status_f2f08_f08_
    __attribute__((weak, alias("pmpi_status_f2f08_")));

// --- what only Fortran has
// ---------------------------------------------------------------------------------------------

extern "C" void pmpi_sizeof_f08ts_(const CFI_cdesc_t* x, Fint* size, Fint* ierror) noexcept {
  *size = Fint(x->elem_len);
  answer(ierror, MPI_SUCCESS);
}
extern "C" decltype(pmpi_sizeof_f08ts_) mpi_sizeof_f08ts_ __attribute__((weak, alias("pmpi_sizeof_f08ts_")));

// An optimizer must suppose that the buffer is changed here, because it does not see that nothing happens.
extern "C" void pmpi_f_sync_reg_(void*) noexcept {}
extern "C" decltype(pmpi_f_sync_reg_) mpi_f_sync_reg_ __attribute__((weak, alias("pmpi_f_sync_reg_")));
extern "C" void pmpi_f_sync_reg_f08ts_(const CFI_cdesc_t*) noexcept {}
extern "C" decltype(pmpi_f_sync_reg_f08ts_) mpi_f_sync_reg_f08ts_
    __attribute__((weak, alias("pmpi_f_sync_reg_f08ts_")));
