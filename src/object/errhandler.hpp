// MPI_Errhandler: what happens on an error: abort, return, or a function of the program (MPI 5.0, 9.3).
#pragma once

#include "object/object.hpp"

namespace dunlin {

class Errhandler final : public Object {
 public:
  static constexpr Kind kKind = Kind::errhandler;
  enum class Type { fatal, abort, returns, comm_function, win_function, file_function, session_function };
  explicit Errhandler(Type type, void (*function)() = nullptr) noexcept
      : Object(Kind::errhandler), type(type), function(function) {}
  const Type type;
  void (*const function)();  // cast to the signature that `type` names (MPI_Comm_errhandler_function, ...)

 private:
  ~Errhandler() override;
};

/// The predefined ones: MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN.
Errhandler& errors_are_fatal() noexcept;
Errhandler& errors_abort() noexcept;
Errhandler& errors_return() noexcept;
/// Gives them their handles; happens when the library is loaded, again does no harm.
void init_predefined_errhandlers() noexcept;

}  // namespace dunlin
