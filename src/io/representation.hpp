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
#include "datatype/signature.hpp"

namespace dunlin::io {

/// Of a part of a buffer: elements as MPI_Get_elements counts them, and their bytes in the file.
struct Length {
  std::int64_t elements = 0, bytes = 0;
};

class Representation {
 public:
  virtual ~Representation() = default;
  const std::string& name() const noexcept { return name_; }

  /// The file holds what memory holds.
  bool is_native() const noexcept { return is_native_; }
  /// What follows may call functions of the program.
  virtual bool calls_program() const noexcept { return false; }
  /// Bytes of one element of a predefined type.
  virtual Err bytes_of(const Datatype& predefined, std::int64_t* bytes) const noexcept = 0;
  /// `count` times `type` from `buffer` to `in_file`, where the elements lie one behind the other.
  virtual Err write(const void* buffer, std::int64_t count, const Datatype& type,
                    std::byte* in_file) const noexcept = 0;
  /// Back; so many elements, of which the last need not end a `type`.
  virtual Err read(void* buffer, std::int64_t elements, const Datatype& type,
                   const std::byte* in_file) const noexcept = 0;

  /// Bytes of one element of any type.
  Err size_in_file(const Datatype& type, std::int64_t* bytes) const noexcept;
  /// The longest part of many of `type` that is within both numbers of `limit`.
  Err find_length(const Datatype& type, const Length& limit, Length* length) const noexcept;
  /// The type with the lengths of the file; itself where they are those of memory.
  Err type_in_file(const Datatype& type, Ref<Datatype>* result) const noexcept;

  /// nullptr: there is none of that name.
  static const Representation* find(const char* name) noexcept;

 protected:
  explicit Representation(std::string name, bool is_native = false)
      : name_(std::move(name)), is_native_(is_native) {}

 private:
  Err bytes_in_file(const datatype::Signature& signature, std::int64_t* bytes) const noexcept;
  Err add_length(const datatype::Signature& signature, const Length& limit, Length* sum) const noexcept;

  const std::string name_;
  const bool is_native_;
};

}  // namespace dunlin::io
