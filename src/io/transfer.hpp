// Reading and writing: every call of the standard is one of four functions, with where the data lies, how the
// processes work together, and how the end is awaited as parameters.
//
// Called by io/calls.cpp.
#pragma once

#include "io/file.hpp"

namespace dunlin::io {

/// Whose place in the file a call uses, and moves on.
enum class Pointer : std::uint8_t { none, individual, shared };
/// Each process alone; all together; all together, one behind the other in order of ranks.
enum class Way : std::uint8_t { independent, collective, ordered };

/// What a call asks for.
struct Call {
  Direction direction;
  Way way;
  Pointer pointer;
  std::int64_t offset;  // etypes; Pointer::none
  void* buffer;         // Direction::write only reads it
  std::int64_t count;
  const Datatype* type;
};

Err do_now(OpenFile& file, const Call& call, MPI_Status* status) noexcept;
Err begin(OpenFile& file, const Call& call, Request** request) noexcept;
/// Split collectives: `name` is that of the call that begins.
Err begin_split(OpenFile& file, const Call& call, const char* name) noexcept;
Err end_split(OpenFile& file, const char* name, MPI_Status* status) noexcept;

}  // namespace dunlin::io
