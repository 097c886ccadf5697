#include "bindings/fortran/refusal.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>

namespace dunlin::fortran {
namespace {

/// The error code whose text is the sentence: one for each class, so that a program that goes on after many
/// errors has few.  The text is that of the last error.
int code_of(int error_class, const char* sentence) noexcept {
  static std::mutex mutex;
  static std::array<int, MPI_ERR_LASTCODE + 1> codes{};  // 0: none yet
  const std::lock_guard guard(mutex);
  int& code = codes[std::size_t(error_class)];
  if (code == 0 && PMPI_Add_error_code(error_class, &code) != MPI_SUCCESS) return error_class;
  PMPI_Add_error_string(code, sentence);
  return code;
}

int code_of(const char* call, const char* name, std::int64_t index, std::int64_t value,
            int error_class) noexcept {
  const std::string place = index > 0 ? "(" + std::to_string(index) + ")" : "";
  const bool is_amount =
      error_class == MPI_ERR_COUNT || std::strstr(name, "displ") || std::strcmp(name, "stride") == 0;
  char sentence[MPI_MAX_ERROR_STRING];
  std::snprintf(sentence, sizeof sentence,
                "%s: %s%s is %lld, which the int of C cannot hold (at most 2147483647)%s", call, name,
                place.c_str(), (long long)value,
                is_amount ? "; use a larger datatype, or a call that takes bytes" : "; use a smaller number");
  return code_of(error_class, sentence);
}

/// Has the handler of `owner` hear of the code, and returns what the call returns.
template <class Owner>
int raise(int (*call_errhandler)(Owner, int), Owner owner, int code) noexcept {
  const int error = call_errhandler(owner, code);
  return error == MPI_SUCCESS ? code : error;
}

}  // namespace

std::atomic<int> open_sessions = 0;

bool is_usable(bool has_object) noexcept {
  int is_initialized = 0, is_finalized = 0;
  PMPI_Initialized(&is_initialized);
  PMPI_Finalized(&is_finalized);
  return open_sessions > 0 || (!is_finalized && (is_initialized || has_object));
}

int refuse(MPI_Comm comm, const char* call, const char* name, std::int64_t index, std::int64_t value,
           int error_class) noexcept {
  return raise(PMPI_Comm_call_errhandler, comm, code_of(call, name, index, value, error_class));
}
int refuse(MPI_File file, const char* call, const char* name, std::int64_t index, std::int64_t value,
           int error_class) noexcept {
  return raise(PMPI_File_call_errhandler, file, code_of(call, name, index, value, error_class));
}
int refuse(MPI_Session session, const char* call, const char* name, std::int64_t index, std::int64_t value,
           int error_class) noexcept {
  return raise(PMPI_Session_call_errhandler, session, code_of(call, name, index, value, error_class));
}
int refuse(MPI_Win win, const char* call, const char* name, std::int64_t index, std::int64_t value,
           int error_class) noexcept {
  return raise(PMPI_Win_call_errhandler, win, code_of(call, name, index, value, error_class));
}

}  // namespace dunlin::fortran
