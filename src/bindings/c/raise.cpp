#include "bindings/c/check.hpp"  // first: it gives mpi.h's functions their visibility

#include "bindings/c/raise.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "base/callback.hpp"
#include "base/log.hpp"
#include "bindings/c/error_names.hpp"
#include "object/comm.hpp"
#include "object/errhandler.hpp"
#include "object/error_origin.hpp"
#include "object/file.hpp"
#include "object/functions.hpp"
#include "object/initial_errhandler.hpp"
#include "object/life.hpp"
#include "object/session.hpp"
#include "object/win.hpp"
#include "os/standard_streams.hpp"
#include "runtime/functions.hpp"

namespace dunlin::bindings {
namespace {

const char* class_name(Err error) noexcept {
  const int code = int(error);
  return code >= 0 && code < kErrorNameCount ? kErrorNames[code] : "an error code of the program";
}

/// What a handle of that error class stands for.
const char* kind_name(Err error) noexcept {
  switch (error) {
    case Err::comm:
      return "a communicator";
    case Err::group:
      return "a group";
    case Err::type:
      return "a datatype";
    case Err::op:
      return "an operator";
    case Err::request:
      return "a request or message";
    case Err::errhandler:
      return "an error handler";
    case Err::info:
      return "an info object";
    case Err::win:
      return "a window";
    case Err::file:
      return "a file";
    case Err::session:
      return "a session";
    default:
      return "a handle of the right kind";
  }
}

const char* null_handle_name(std::uintptr_t value) noexcept {
  static const std::pair<const void*, const char*> kNulls[] = {{MPI_COMM_NULL, "MPI_COMM_NULL"},
                                                               {MPI_GROUP_NULL, "MPI_GROUP_NULL"},
                                                               {MPI_WIN_NULL, "MPI_WIN_NULL"},
                                                               {MPI_FILE_NULL, "MPI_FILE_NULL"},
                                                               {MPI_SESSION_NULL, "MPI_SESSION_NULL"},
                                                               {MPI_MESSAGE_NULL, "MPI_MESSAGE_NULL"},
                                                               {MPI_INFO_NULL, "MPI_INFO_NULL"},
                                                               {MPI_ERRHANDLER_NULL, "MPI_ERRHANDLER_NULL"},
                                                               {MPI_REQUEST_NULL, "MPI_REQUEST_NULL"},
                                                               {MPI_DATATYPE_NULL, "MPI_DATATYPE_NULL"},
                                                               {MPI_OP_NULL, "MPI_OP_NULL"}};
  for (const auto& [handle, name] : kNulls)
    if (reinterpret_cast<std::uintptr_t>(handle) == value) return name;
  return nullptr;
}

/// Ends the job with one sentence.  The text of an error code of the program is that sentence, where the
/// program raises it by MPI_Comm_call_errhandler or its kin.
int end_job(Err error, const char* call) noexcept {
  char text[MPI_MAX_ERROR_STRING] = "";
  int error_class = int(error), length = 0;
  if (error_class > MPI_ERR_LASTCODE && (object::error_string(int(error), text, &length) != Err::ok ||
                                         object::error_class(int(error), &error_class) != Err::ok))
    *text = 0;
  const char* const name = class_name(Err(error_class));
  const char* const detail = error_detail(error);
  const bool is_said = *text && std::string_view(call).ends_with("_call_errhandler");
  char sentence[MPI_MAX_ERROR_STRING];
  if (is_said) {
    log::warn("%s (%s)", text, name);
    std::snprintf(sentence, sizeof sentence, "ended the job after an error: %s", text);
  } else {
    log::warn("%s failed: %s%s%s (%s)", call, text, *text && *detail ? ": " : "",
              *text || *detail ? detail : "no more is known", name);
    std::snprintf(sentence, sizeof sentence, "ended the job after an error of %s (%s)", call, name);
  }
  if (Life::is_usable() || Life::is_forked) runtime::end_job(int(error), sentence);
  os::flush_standard_streams();
  std::_Exit(int(error) & 0x7f);
}

/// For programs that ignore return codes: a call that does nothing must not look as if it had done its work.
/// Once a call, on standard error.
void say_unsupported(const char* call) noexcept {
  static std::mutex mutex;
  static std::set<std::string_view> said;
  const std::lock_guard lock(mutex);
  if (said.insert(call).second)
    log::warn("%s did nothing: %s", call, error_detail(Err::unsupported_operation));
}

/// `is_there`: the call is supported, though perhaps not on this object.
int call_handler(Errhandler* errhandler, void* handle, Err error, const char* call,
                 bool is_there = false) noexcept {
  int code = int(error);
  if (!errhandler) errhandler = &initial_errhandler();
  const bool ends =
      errhandler->type == Errhandler::Type::fatal || errhandler->type == Errhandler::Type::abort;
  if (error == Err::unsupported_operation && !ends && !is_there) say_unsupported(call);
  // Held, because the function may free it.
  const Ref<Errhandler> held(errhandler);
  switch (errhandler->type) {
    case Errhandler::Type::returns:
      break;
    case Errhandler::Type::fatal:
    case Errhandler::Type::abort:
      return end_job(error, call);
    // All signatures of error handlers are (handle*, int*, ...) with handles of pointer size.
    default: {
      const Callback callback;
      reinterpret_cast<void (*)(void**, int*, ...)>(errhandler->function)(&handle, &code, call);
    }
  }
  return code;
}

/// Whose handler hears of errors that are about no communicator: that of MPI_COMM_SELF since MPI 4.  Programs
/// written for MPI 3 set that of MPI_COMM_WORLD, and it hears of them where the other was never set.
Comm* heard_without_handle() noexcept {
  return from_handle<Comm>(is_self_errhandler_set ? MPI_COMM_SELF : MPI_COMM_WORLD);
}

/// What stands before the number of the last rank.
const char* ranks_up_to(int last) noexcept { return last > 0 ? "the ranks 0 to" : "only rank"; }

}  // namespace

thread_local const char* CalledAs::name = nullptr;

int raise(Object* about, Err error, const char* call) noexcept {
  if (CalledAs::name) call = CalledAs::name;
  const Ref<Object> origin = take_error_origin();
  if (!about) about = origin.get();
  // A request may outlive the program's handle of its communicator or window; objects' memory stays readable.
  if (about && about->kind() == Kind::errhandler)
    return call_handler(static_cast<Errhandler*>(about), nullptr, error, call);
  if (about && about->kind() == Kind::session) {
    auto* const session = static_cast<Session*>(about);
    return call_handler(session->errhandler.get(), to_handle<MPI_Session>(*session), error, call);
  }
  if (about && about->kind() == Kind::win) {
    auto* const win = static_cast<Win*>(about);
    return call_handler(win->errhandler.get(), to_handle<MPI_Win>(*win), error, call);
  }
  if (about && about->kind() == Kind::file) {
    auto* const file = static_cast<File*>(about);
    const MPI_File handle = file == &no_file() ? MPI_FILE_NULL : to_handle<MPI_File>(*file);
    return call_handler(file->errhandler.get(), handle, error, call, true);
  }
  Comm* comm = about && about->kind() == Kind::comm ? static_cast<Comm*>(about) : nullptr;
  if (!comm) comm = heard_without_handle();
  if (!comm) return call_handler(nullptr, MPI_COMM_NULL, error, call);
  return call_handler(comm->errhandler.get(), to_handle<MPI_Comm>(*comm), error, call);
}

int bad_handle(Object* about, Err error, const void* handle, const char* argument,
               const char* call) noexcept {
  if (!Life::is_usable()) return not_usable(call);
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  const char* kind = kind_name(error);
  Err made;
  if (value == 0)
    made = fail(error, "argument %s is a zero handle; was it never set?", argument);
  else if (const char* null = null_handle_name(value))
    made = fail(error, "argument %s is %s; give %s", argument, null, kind);
  else if (value < kPredefinedHandles)
    made = fail(error, "argument %s (0x%zx) is not %s", argument, std::size_t(value), kind);
  else
    made = fail(error, "argument %s is not %s; was it freed already?", argument, kind);
  return raise(about, made, call);
}

int bad_count(Object* about, long long count, const char* argument, const char* call) noexcept {
  const Err made = fail(Err::count, "argument %s is %lld; a count must not be negative", argument, count);
  return raise(about, made, call);
}

int bad_rank(Comm* comm, int rank, const char* argument, const char* call) noexcept {
  const int last = comm ? comm->target_size - 1 : 0;
  const Err made = fail(Err::rank, "argument %s is %d, but the communicator has %s %d", argument, rank,
                        ranks_up_to(last), last);
  return raise(comm, made, call);
}

int bad_target(Win* win, int rank, const char* argument, const char* call) noexcept {
  const int last = win->size - 1;
  const Err made =
      fail(Err::rank, "argument %s is %d, but the window has %s %d", argument, rank, ranks_up_to(last), last);
  return raise(win, made, call);
}

int bad_root(Comm* comm, int root, const char* call) noexcept {
  const char* hint = comm && comm->is_inter() ? " (or MPI_ROOT or MPI_PROC_NULL in the root's group)" : "";
  const int last = comm ? comm->target_size - 1 : 0;
  const Err made = fail(Err::root, "argument root is %d; it must be %s %d%s", root,
                        last > 0 ? "a rank from 0 to" : "rank", last, hint);
  return raise(comm, made, call);
}

int bad_tag(Object* about, int tag, const char* argument, const char* call) noexcept {
  const Err made = fail(Err::tag,
                        "argument %s is %d; a tag is from 0 to the attribute MPI_TAG_UB, and only "
                        "receives and probes may use MPI_ANY_TAG",
                        argument, tag);
  return raise(about, made, call);
}

int bad_buffer(Object* about, const void* buffer, const char* argument, const char* call) noexcept {
  if (buffer) return bad_in_place(about, argument, call);
  const Err made = fail(Err::buffer,
                        "argument %s is a null pointer, but the count is not 0 and the datatype "
                        "has no absolute addresses",
                        argument);
  return raise(about, made, call);
}

int bad_in_place(Object* about, const char* argument, const char* call) noexcept {
  const Err made = fail(Err::buffer, "argument %s is MPI_IN_PLACE, which is not allowed here", argument);
  return raise(about, made, call);
}

int bad_alias(Object* about, const char* call) noexcept {
  const Err made = fail(Err::buffer,
                        "arguments sendbuf and recvbuf are the same memory; where a call "
                        "allows that, give MPI_IN_PLACE");
  return raise(about, made, call);
}

int bad_pointer(Object* about, const char* argument, const char* call) noexcept {
  return raise(about, fail(Err::arg, "argument %s is a null pointer", argument), call);
}

int uncommitted(Object* about, const char* argument, const char* call) noexcept {
  const Err made = fail(Err::type,
                        "argument %s is a datatype that is not committed; call MPI_Type_commit "
                        "first",
                        argument);
  return raise(about, made, call);
}

int not_usable(const char* call) noexcept {
  const char* why = Life::is_forked      ? "in a child process of fork, which is no rank"
                    : Life::is_finalized ? "after MPI_Finalize"
                                         : "before MPI_Init";
  return raise(nullptr, fail(Err::other, "it was called %s", why), call);
}

int too_large(Object* about, long long value, const char* argument, const char* call) noexcept {
  const Err made = fail(Err::value_too_large,
                        "argument %s would be %lld, which an int does not hold; call "
                        "%s_c instead",
                        argument, value, call);
  return raise(about, made, call);
}

int null_name(const char* constant, char* name, int* length, const char* call) noexcept {
  if (!name || !length) return bad_pointer(nullptr, name ? "resultlen" : "name", call);
  *length = int(std::strlen(constant));
  std::memcpy(name, constant, std::size_t(*length) + 1);
  return MPI_SUCCESS;
}

int unsupported(Object* about, const char* call) noexcept {
  return raise(about,
               fail(Err::unsupported_operation,
                    "this version of Dunlin does not support %s yet; `dunlin-info --coverage` lists the "
                    "calls that work",
                    call),
               call);
}

int unsupported_returned(const char* call) noexcept {
  return int(fail(Err::unsupported_operation,
                  "this version of Dunlin does not support %s yet; "
                  "`dunlin-info --coverage` lists what it does",
                  call));
}

}  // namespace dunlin::bindings
