// How numbers are written in a file (MPI 5.0, 14.5): "native", "internal" (here the same), "external32", and
// what the program has registered with MPI_Register_datarep.
//
// A representation says how long an element is in the file, and converts between a program's buffer and the
// elements in file order.  Types of views are rebuilt with the lengths of the file (`type_in_file`), so that
// everything below knows only bytes.
// Thread safety: under base/big_lock.hpp; conversion functions of the program are called in its own calls.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/err.hpp"
#include "datatype/datatype.hpp"

namespace dunlin::io {

class Representation {
 public:
  virtual ~Representation() = default;
  const std::string& name() const noexcept { return name_; }

  /// The file holds what memory holds.
  virtual bool is_native() const noexcept { return false; }
  /// Bytes of one element of a predefined type.
  virtual Err bytes_of(const Datatype& predefined, std::int64_t* bytes) const noexcept = 0;
  /// `count` elements of `type` between `buffer` and `in_file`, where they lie one behind the other.
  virtual Err write(const void* buffer, std::int64_t count, const Datatype& type,
                    std::byte* in_file) const noexcept = 0;
  virtual Err read(void* buffer, std::int64_t count, const Datatype& type,
                   const std::byte* in_file) const noexcept = 0;

  /// Bytes of one element of any type.
  Err size_in_file(const Datatype& type, std::int64_t* bytes) const noexcept;
  /// The type with the lengths of the file; itself where they are those of memory.
  Err type_in_file(const Datatype& type, Ref<Datatype>* result) const noexcept;

  /// nullptr: there is none of that name.
  static const Representation* find(const char* name) noexcept;

 protected:
  explicit Representation(std::string name) : name_(std::move(name)) {}

 private:
  const std::string name_;
};

}  // namespace dunlin::io
