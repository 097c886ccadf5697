#include <mpi.h>

#include "object/functions.hpp"
#include "object/initial_errhandler.hpp"

namespace dunlin::object {
namespace {

template <class Function>
Err create(Errhandler::Type type, Function* function, Errhandler** errhandler) noexcept {
  *errhandler = new Errhandler(type, reinterpret_cast<void (*)()>(function));
  return Err::ok;
}

const char* name_of(Errhandler::Type type) noexcept {
  switch (type) {
    case Errhandler::Type::comm_function:
      return "MPI_Comm_create_errhandler";
    case Errhandler::Type::win_function:
      return "MPI_Win_create_errhandler";
    case Errhandler::Type::file_function:
      return "MPI_File_create_errhandler";
    case Errhandler::Type::session_function:
      return "MPI_Session_create_errhandler";
    default:
      return "the standard";
  }
}

}  // namespace

Err comm_create_errhandler(MPI_Comm_errhandler_function* function, Errhandler** errhandler) noexcept {
  return create(Errhandler::Type::comm_function, function, errhandler);
}
Err win_create_errhandler(MPI_Win_errhandler_function* function, Errhandler** errhandler) noexcept {
  return create(Errhandler::Type::win_function, function, errhandler);
}
Err file_create_errhandler(MPI_File_errhandler_function* function, Errhandler** errhandler) noexcept {
  return create(Errhandler::Type::file_function, function, errhandler);
}
Err session_create_errhandler(MPI_Session_errhandler_function* function, Errhandler** errhandler) noexcept {
  return create(Errhandler::Type::session_function, function, errhandler);
}

// Predefined handlers may be freed: MPI_Comm_get_errhandler gives them out, and what it gives is to be freed.
Err errhandler_free(Errhandler& errhandler) noexcept {
  if (!errhandler.is_predefined()) errhandler.release();
  return Err::ok;
}

Err set_errhandler(Ref<Errhandler>& place, Errhandler::Type kind, Errhandler& errhandler) noexcept {
  if (errhandler.function && errhandler.type != kind)
    return fail(Err::errhandler, "errhandler was made by %s; use one made by %s", name_of(errhandler.type),
                name_of(kind));
  place = Ref<Errhandler>(&errhandler);
  return Err::ok;
}

Err comm_set_errhandler(Comm& comm, Errhandler& errhandler) noexcept {
  const Err error = set_errhandler(comm.errhandler, Errhandler::Type::comm_function, errhandler);
  if (error == Err::ok && &comm == from_handle<Comm>(MPI_COMM_SELF)) is_self_errhandler_set = true;
  return error;
}

Err comm_get_errhandler(Comm& comm, Errhandler** errhandler) noexcept {
  DUNLIN_ASSERT(comm.errhandler);
  *errhandler = Ref<Errhandler>(comm.errhandler).detach();
  return Err::ok;
}

Err session_set_errhandler(Session& session, Errhandler& errhandler) noexcept {
  return set_errhandler(session.errhandler, Errhandler::Type::session_function, errhandler);
}

Err session_get_errhandler(Session& session, Errhandler** errhandler) noexcept {
  *errhandler = Ref<Errhandler>(session.errhandler).detach();
  return Err::ok;
}

Err win_set_errhandler(Win& win, Errhandler& errhandler) noexcept {
  return set_errhandler(win.errhandler, Errhandler::Type::win_function, errhandler);
}

Err win_get_errhandler(Win& win, Errhandler** errhandler) noexcept {
  *errhandler = Ref<Errhandler>(win.errhandler).detach();
  return Err::ok;
}

Err file_set_errhandler(File* file, Errhandler& errhandler) noexcept {
  return set_errhandler(heard_by(file)->errhandler, Errhandler::Type::file_function, errhandler);
}

Err file_get_errhandler(File* file, Errhandler** errhandler) noexcept {
  *errhandler = Ref<Errhandler>(heard_by(file)->errhandler).detach();
  return Err::ok;
}

}  // namespace dunlin::object
