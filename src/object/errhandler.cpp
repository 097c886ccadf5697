#include "object/errhandler.hpp"

#include <new>

#include "mpi.h"

namespace dunlin {
namespace {

// Static storage without destruction: handlers are used until the very end of the process.
template <Errhandler::Type type>
Errhandler& predefined() noexcept {
  alignas(Errhandler) static unsigned char storage[sizeof(Errhandler)];
  static Errhandler* const handler = ::new (storage) Errhandler(type);
  return *handler;
}

}  // namespace

Errhandler::~Errhandler() = default;

Errhandler& errors_are_fatal() noexcept { return predefined<Errhandler::Type::fatal>(); }
Errhandler& errors_abort() noexcept { return predefined<Errhandler::Type::abort>(); }
Errhandler& errors_return() noexcept { return predefined<Errhandler::Type::returns>(); }

namespace {

// Known before MPI_Init: MPI_Session_init takes one.
const bool are_known = (init_predefined_errhandlers(), true);

}  // namespace

void init_predefined_errhandlers() noexcept {
  make_predefined(errors_are_fatal(), reinterpret_cast<std::uintptr_t>(MPI_ERRORS_ARE_FATAL));
  make_predefined(errors_abort(), reinterpret_cast<std::uintptr_t>(MPI_ERRORS_ABORT));
  make_predefined(errors_return(), reinterpret_cast<std::uintptr_t>(MPI_ERRORS_RETURN));
}

}  // namespace dunlin
