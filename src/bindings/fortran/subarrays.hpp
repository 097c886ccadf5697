// Choice buffers of mpi_f08, which come as C descriptors (TYPE(*), DIMENSION(..)): also parts of arrays that
// are not contiguous, as a(1:n:2, :).  Used by the generated files of this folder.
//
// One message of such a part travels through a derived datatype, without a copy.  Several blocks, or operands
// of a reduction, are copied; the copy lives as long as the call, or as the request that it makes.
//
// Thread safety: all functions may be called by several threads, for different requests.
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

/// What a look or two tell of a buffer: scalars, and most vectors, are contiguous.
enum class Form { scalar, plain_vector, other };
inline Form form_of(const CFI_cdesc_t& buffer) noexcept {
  const auto rank = static_cast<unsigned char>(buffer.rank);  // so that one comparison serves both branches
  if (rank > 1) [[unlikely]]
    return Form::other;
  if (rank != 1) return Form::scalar;
  return buffer.dim[0].sm == CFI_index_t(buffer.elem_len) ? Form::plain_vector : Form::other;
}

/// A buffer of `count` elements of a datatype, for calls that send or receive it as one message.
class Message {
 public:
  Message(const CFI_cdesc_t* buffer, std::int64_t count, const Fint* datatype) noexcept
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

/// Copies of the buffers of one call that are not contiguous.  They are written back when the call returns,
/// or when the request that it makes is complete.
class Copies {
 public:
  enum class Of { call, request, persistent_request };
  Copies() noexcept = default;
  Copies(Fint* request, Of of) noexcept : request_(request), of_(of) {}
  Copies(const Copies&) = delete;
  ~Copies() {
    if (first_) [[unlikely]]
      end();
  }
  /// A buffer that is only read.
  const void* in(const CFI_cdesc_t* buffer) noexcept {
    return is_contiguous(*buffer) ? fortran::address(buffer->base_addr) : copy(*buffer, false);
  }
  void* out(const CFI_cdesc_t* buffer) noexcept {
    return is_contiguous(*buffer) ? fortran::address(buffer->base_addr) : copy(*buffer, true);
  }

 private:
  [[gnu::noinline]] void* copy(const CFI_cdesc_t& buffer, bool is_written) noexcept;
  [[gnu::noinline]] void end() noexcept;

  Fint* const request_ = nullptr;
  const Of of_ = Of::call;
  struct Copy* first_ = nullptr;
};

/// Before a call that starts persistent requests: data may have changed.
void refresh_copies_of(const Fint* requests, std::int64_t count) noexcept;
inline void refresh_copies(const Fint* requests, std::int64_t count) noexcept {
  if (requests_with_copies.load(std::memory_order_relaxed) > 0) [[unlikely]]
    refresh_copies_of(requests, count);
}
/// Before a call that says that partitions are ready.
void read_copies_of(const Fint* request) noexcept;
inline void read_copies(const Fint* request) noexcept {
  if (requests_with_copies.load(std::memory_order_relaxed) > 0) [[unlikely]]
    read_copies_of(request);
}
/// After MPI_PARRIVED: partitions that have arrived may be read.
void show_copies_of(const Fint* request) noexcept;
inline void show_copies(const Fint* request) noexcept {
  if (requests_with_copies.load(std::memory_order_relaxed) > 0) [[unlikely]]
    show_copies_of(request);
}

}  // namespace dunlin::fortran
