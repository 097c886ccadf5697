// MPI_File: a file that several processes have opened together (MPI 5.0, chapter 14).
//
// What every file has and needs no communication; the rest is io::OpenFile (io/file.hpp).
#pragma once

#include "object/errhandler.hpp"
#include "object/object.hpp"

namespace dunlin {

class File : public Object {
 public:
  static constexpr Kind kKind = Kind::file;

  Ref<Errhandler> errhandler;

 protected:
  explicit File(Ref<Errhandler> handler) noexcept : Object(Kind::file), errhandler(std::move(handler)) {}
};

/// Stands for MPI_FILE_NULL.  Its error handler hears of errors of calls without an open file, and is what
/// new files begin with; at first it is MPI_ERRORS_RETURN (MPI 5.0, 14.7).
File& no_file() noexcept;

/// Whose error handler hears of the errors of a call that may be given MPI_FILE_NULL.
inline File* heard_by(File* file) noexcept { return file ? file : &no_file(); }

}  // namespace dunlin
