#include "bindings/c/check.hpp"  // first: it gives mpi.h's functions their visibility

#include "bindings/c/raise.hpp"

#include <cstdlib>
#include <cstring>

#include "base/log.hpp"
#include "bindings/c/error_names.hpp"
#include "object/comm.hpp"
#include "object/errhandler.hpp"
#include "object/error_origin.hpp"
#include "object/initial_errhandler.hpp"
#include "object/life.hpp"
#include "object/session.hpp"

namespace dunlin::bindings {
namespace {

const char* class_name(Err error) noexcept {
  const int code = int(error);
  return code >= 0 && code < kErrorNameCount ? kErrorNames[code] : "an error code of the program";
}

/// Ends the job with one sentence.
int end_job(MPI_Comm comm, Err error, const char* call) noexcept {
  const char* detail = error_detail(error);
  log::warn("%s failed: %s (%s)", call, *detail ? detail : "no detail is known", class_name(error));
  static bool is_ending = false;  // an abort that itself fails must not come back here
  if (!is_ending && Life::is_usable()) {
    is_ending = true;
    PMPI_Abort(comm, int(error));
  }
  std::_Exit(int(error) & 0x7f);
}

int call_handler(Errhandler* errhandler, void* handle, Err error, const char* call) noexcept {
  int code = int(error);
  if (!errhandler) errhandler = &initial_errhandler();
  // Held, because the function may free it.
  const Ref<Errhandler> held(errhandler);
  switch (errhandler->type) {
    case Errhandler::Type::returns: break;
    case Errhandler::Type::fatal: return end_job(MPI_COMM_WORLD, error, call);
    case Errhandler::Type::abort: return end_job(static_cast<MPI_Comm>(handle), error, call);
    // All signatures of error handlers are (handle*, int*, ...) with handles of pointer size.
    default: reinterpret_cast<void (*)(void**, int*, ...)>(errhandler->function)(&handle, &code, call);
  }
  return code;
}

}  // namespace

int raise(Object* about, Err error, const char* call) noexcept {
  const Ref<Comm> origin = take_error_origin();
  if (!about) about = origin.get();
  // A request may outlive the program's handle of its communicator; objects' memory stays readable.
  if (about && about->kind() == Kind::errhandler)
    return call_handler(static_cast<Errhandler*>(about), nullptr, error, call);
  if (about && about->kind() == Kind::session) {
    auto* const session = static_cast<Session*>(about);
    return call_handler(session->errhandler.get(), to_handle<MPI_Session>(*session), error, call);
  }
  const bool is_comm = about && about->kind() == Kind::comm;
  Comm* const comm = is_comm ? static_cast<Comm*>(about) : from_handle<Comm>(MPI_COMM_SELF);
  if (!comm) return call_handler(nullptr, MPI_COMM_NULL, error, call);
  return call_handler(comm->errhandler.get(), to_handle<MPI_Comm>(*comm), error, call);
}

int bad_handle(Object* about, Err error, const void* handle, const char* argument,
               const char* call) noexcept {
  if (!Life::is_usable()) return not_usable(call);
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  const char* kind = class_name(error) + sizeof("MPI_ERR_") - 1;
  Err made;
  if (value == 0)
    made = fail(error, "argument %s is a zero handle; was it never set?", argument);
  else if (value < kPredefinedHandles)
    made = fail(error, "argument %s is handle 0x%zx, a null handle or one of another kind than %s", argument,
                std::size_t(value), kind);
  else
    made = fail(error, "argument %s is no valid handle of kind %s; was it freed already?", argument, kind);
  return raise(about, made, call);
}

int bad_count(Object* about, long long count, const char* argument, const char* call) noexcept {
  const Err made = fail(Err::count, "argument %s is %lld; a count must not be negative", argument, count);
  return raise(about, made, call);
}

int bad_rank(Comm* comm, int rank, const char* argument, const char* call) noexcept {
  const int last = comm ? comm->target_size - 1 : 0;
  const Err made = fail(Err::rank, "argument %s is %d, but the communicator has the ranks 0 to %d", argument,
                        rank, last);
  return raise(comm, made, call);
}

int bad_root(Comm* comm, int root, const char* call) noexcept {
  const char* hint = comm && comm->is_inter() ? " (or MPI_ROOT or MPI_PROC_NULL in the root's group)" : "";
  const int last = comm ? comm->target_size - 1 : 0;
  const Err made = fail(Err::root, "argument root is %d; it must be a rank from 0 to %d%s", root, last, hint);
  return raise(comm, made, call);
}

int bad_tag(Object* about, int tag, const char* argument, const char* call) noexcept {
  const Err made = fail(Err::tag, "argument %s is %d; a tag is from 0 to the attribute MPI_TAG_UB, and only "
                        "receives and probes may use MPI_ANY_TAG", argument, tag);
  return raise(about, made, call);
}

int bad_buffer(Object* about, const char* argument, const char* call) noexcept {
  const Err made = fail(Err::buffer, "argument %s is a null pointer, but the count is not 0 and the datatype "
                        "has no absolute addresses", argument);
  return raise(about, made, call);
}

int bad_in_place(Object* about, const char* argument, const char* call) noexcept {
  const Err made = fail(Err::buffer, "argument %s is MPI_IN_PLACE, which is not allowed there", argument);
  return raise(about, made, call);
}

int bad_alias(Object* about, const char* call) noexcept {
  const Err made = fail(Err::buffer, "arguments sendbuf and recvbuf are the same memory; where a call "
                        "allows that, MPI_IN_PLACE says so");
  return raise(about, made, call);
}

int bad_pointer(Object* about, const char* argument, const char* call) noexcept {
  return raise(about, fail(Err::arg, "argument %s is a null pointer", argument), call);
}

int uncommitted(Object* about, const char* argument, const char* call) noexcept {
  const Err made = fail(Err::type, "argument %s is a datatype that is not committed; call MPI_Type_commit "
                        "first", argument);
  return raise(about, made, call);
}

int not_usable(const char* call) noexcept {
  const char* why = Life::is_finalized ? "after MPI_Finalize" : "before MPI_Init";
  return raise(nullptr, fail(Err::other, "it was called %s", why), call);
}

int too_large(Object* about, long long value, const char* argument, const char* call) noexcept {
  const Err made = fail(Err::value_too_large, "argument %s would be %lld, which an int does not hold; call "
                        "%s_c instead", argument, value, call);
  return raise(about, made, call);
}

int null_name(const char* constant, char* name, int* length, const char* call) noexcept {
  if (!name || !length) return bad_pointer(nullptr, name ? "resultlen" : "name", call);
  *length = int(std::strlen(constant));
  std::memcpy(name, constant, std::size_t(*length) + 1);
  return MPI_SUCCESS;
}

int unsupported(Object* about, const char* call) noexcept {
  return raise(about, fail(Err::unsupported_operation, "this version of Dunlin does not support %s yet; "
                           "`dunlin-info --coverage` lists what it does", call), call);
}

int unsupported_returned(const char* call) noexcept {
  return int(fail(Err::unsupported_operation, "this version of Dunlin does not support %s yet; "
                  "`dunlin-info --coverage` lists what it does", call));
}

}  // namespace dunlin::bindings
