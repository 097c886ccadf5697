// Choice buffers of mpi_f08, which come as C descriptors (TYPE(*), DIMENSION(..)): also parts of arrays that
// are not contiguous, as a(1:n:2, :).  Used by the generated files of this folder.
//
// One message of such a part travels through a derived datatype, without a copy.  Several blocks, or operands
// of a reduction: a blocking call gets a copy; a nonblocking one takes blocks that each lie like the first,
// and answers with an error where they do not.
//
// hot path: a contiguous buffer costs a look at each of its dimensions.
#pragma once

#include <ISO_Fortran_binding.h>

#include "bindings/fortran/arguments.hpp"

namespace dunlin::fortran {

inline bool is_contiguous(const CFI_cdesc_t& buffer) noexcept {
  auto stride = CFI_index_t(buffer.elem_len);
  for (int i = 0; i < buffer.rank; ++i) {
    const CFI_dim_t& dim = buffer.dim[i];
    if (dim.extent > 1 && dim.sm != stride) [[unlikely]]
      return false;
    stride *= dim.extent;
  }
  return true;
}

/// Whether a look or two tell that the buffer is contiguous: scalars and most vectors.
inline bool is_plain(const CFI_cdesc_t& buffer) noexcept {
  return buffer.rank == 0 || (buffer.rank == 1 && buffer.dim[0].sm == CFI_index_t(buffer.elem_len));
}

/// A buffer of `count` elements of a datatype, for calls that send or receive it as one message.
class Message {
 public:
  Message(const CFI_cdesc_t* buffer, std::int64_t count, const MPI_Fint* datatype) noexcept
      : address_(fortran::address(buffer->base_addr)),
        count_(count),
        datatype_(to_c<MPI_Datatype>(datatype)) {
    if (!is_contiguous(*buffer)) [[unlikely]]
      describe(*buffer);
  }
  Message(const Message&) = delete;
  ~Message() {
    if (is_described_) [[unlikely]]
      PMPI_Type_free(&datatype_);
  }
  void* address() const noexcept { return address_; }
  std::int64_t count() const noexcept { return count_; }
  MPI_Datatype datatype() const noexcept { return datatype_; }

 private:
  [[gnu::noinline]] void describe(const CFI_cdesc_t& buffer) noexcept;

  void* address_;
  std::int64_t count_;
  MPI_Datatype datatype_;
  bool is_described_ = false;
};

/// A buffer of blocks of `count` elements of a datatype each, one for each rank.
class Blocks {
 public:
  Blocks(const CFI_cdesc_t* buffer, std::int64_t count, const MPI_Fint* datatype) noexcept
      : address_(fortran::address(buffer->base_addr)),
        count_(count),
        datatype_(to_c<MPI_Datatype>(datatype)) {
    if (!is_contiguous(*buffer)) [[unlikely]]
      describe(*buffer, datatype);
  }
  Blocks(const Blocks&) = delete;
  ~Blocks() {
    if (is_described_) [[unlikely]]
      PMPI_Type_free(&datatype_);
  }
  /// False where the blocks lie differently from each other, or the datatype has gaps.
  bool is_possible() const noexcept { return is_possible_; }
  void* address() const noexcept { return address_; }
  std::int64_t count() const noexcept { return count_; }
  MPI_Datatype datatype() const noexcept { return datatype_; }

 private:
  [[gnu::noinline]] void describe(const CFI_cdesc_t& buffer, const MPI_Fint* datatype) noexcept;

  void* address_;
  std::int64_t count_;
  MPI_Datatype datatype_;
  bool is_described_ = false, is_possible_ = true;
};

/// A buffer of any layout for a call that is over when it returns: a copy where it is not contiguous.
class Copied {
 public:
  enum class Direction { in, out };
  Copied(const CFI_cdesc_t* buffer, Direction direction) noexcept : address_(buffer->base_addr) {
    if (!is_contiguous(*buffer)) [[unlikely]]
      copy(*buffer, direction);
  }
  Copied(const Copied&) = delete;
  ~Copied() {
    if (copy_) [[unlikely]]
      copy_back();
  }
  void* address() const noexcept { return fortran::address(address_); }

 private:
  [[gnu::noinline]] void copy(const CFI_cdesc_t& buffer, Direction direction) noexcept;
  [[gnu::noinline]] void copy_back() noexcept;

  void* address_;
  char* copy_ = nullptr;
  const CFI_cdesc_t* changed_ = nullptr;  // the buffer, unless it is only read
};

/// Tells the error handler of the communicator that a call cannot take a buffer which is not contiguous, and
/// gives the error.
[[gnu::cold]] int refuse_subarray(const MPI_Fint* comm, const char* call) noexcept;

}  // namespace dunlin::fortran
