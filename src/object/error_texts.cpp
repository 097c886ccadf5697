// The words of MPI_Error_string for the classes of the standard (MPI 5.0, 9.4 and 15.3.10).
#include <mpi.h>

#include "object/functions.hpp"

namespace dunlin::object {
namespace {

const char* const texts[] = {
    "no error",
    "buffer pointer is not valid",
    "count is not valid",
    "datatype is not valid",
    "tag is not valid",
    "communicator is not valid",
    "rank is not valid",
    "request is not valid",
    "root is not valid",
    "group is not valid",
    "operation is not valid",
    "topology is not valid",
    "dimension is not valid",
    "argument is not valid",
    "error of unknown kind",
    "message is longer than the receive buffer",
    "error that has no class of its own",
    "internal error of the MPI library",
    "request is still pending",
    "the error is in the status",
    "permission denied",
    "access mode is not valid",
    "assertion is not valid",
    "file name is not valid",
    "base address is not valid",
    "data conversion failed",
    "displacement is not valid",
    "data representation is already defined",
    "file exists already",
    "file is in use",
    "file handle is not valid",
    "info key is not valid",
    "info key is not set",
    "info value is not valid",
    "info object is not valid",
    "input or output failed",
    "keyval is not valid",
    "lock type is not valid",
    "service name is not published",
    "out of memory",
    "arguments differ between processes",
    "no space left",
    "file does not exist",
    "port is not valid",
    "quota exceeded",
    "file is read-only",
    "memory could not be attached",
    "conflicting accesses to a window",
    "target memory is outside the window",
    "memory cannot be shared",
    "wrong synchronization of one-sided calls",
    "service name could not be published",
    "size is not valid",
    "processes could not be started",
    "data representation is not supported",
    "operation is not supported",
    "window is not valid",
    "window has the wrong flavor",
    "a process ended without MPI_Finalize",
    "value does not fit the result's type",
    "session is not valid",
    "error handler is not valid",
    "ABI version or setting is not valid",
};
static_assert(sizeof texts / sizeof texts[0] == MPI_ERR_ABI + 1);

const char* const tool_texts[] = {
    "tool interface could not be initialized",
    "tool interface: not accessible",
    "tool interface is not initialized",
    "tool interface: not supported",
    "tool interface: out of memory",
    "tool interface: argument is not valid",
    "tool interface: index is not valid",
    "tool interface: item is not valid",
    "tool interface: session is not valid",
    "tool interface: handle is not valid",
    "tool interface: name is not valid",
    "tool interface: no more handles",
    "tool interface: no more sessions",
    "tool interface: variable cannot be set now",
    "tool interface: variable can never be set",
    "tool interface: variable cannot be written or reset",
    "tool interface: variable cannot be started or stopped",
    "tool interface: variable cannot be read and reset at once",
};
static_assert(sizeof tool_texts / sizeof tool_texts[0] ==
              MPI_T_ERR_PVAR_NO_ATOMIC - MPI_T_ERR_CANNOT_INIT + 1);

}  // namespace

const char* text_of_class(int error_class) noexcept {
  if (error_class >= 0 && error_class <= MPI_ERR_ABI) return texts[error_class];
  if (error_class >= MPI_T_ERR_CANNOT_INIT && error_class <= MPI_T_ERR_PVAR_NO_ATOMIC)
    return tool_texts[error_class - MPI_T_ERR_CANNOT_INIT];
  return nullptr;
}

}  // namespace dunlin::object
