// File pointers: each process's own, and the one that all share, a word of a window at rank 0 (MPI 5.0,
// 14.4.3, 14.4.4).
#include <cerrno>

#include "coll/agree.hpp"
#include "coll/functions.hpp"
#include "io/file.hpp"
#include "io/functions.hpp"
#include "rma/functions.hpp"

namespace dunlin::io {
namespace {

Err change(OpenFile& file, MPI_Op op, std::int64_t value, std::int64_t* before) noexcept {
  const Datatype& word = *from_handle<Datatype>(MPI_INT64_T);
  if (const Err e = rma::fetch_and_op(&value, before, word, 0, 0, *from_handle<Op>(op), *file.common->window);
      e != Err::ok)
    return e;
  return rma::win_flush(0, *file.common->window);
}

/// From where MPI_SEEK_END counts: the first etype of the view that is not all in the file.
Err find_end(const OpenFile& file, std::int64_t* end) noexcept {
  const std::int64_t size = file.storage.size();
  if (size < 0) return file.error(errno, "could not find the size of");
  const View& view = file.view;
  *end = (view.tiling.position_at(size) + view.etype_bytes - 1) / view.etype_bytes;
  return Err::ok;
}

/// The pointer's new place.
Err find_target(const OpenFile& file, std::int64_t offset, int whence, std::int64_t current,
                std::int64_t* target) noexcept {
  std::int64_t from = 0;
  switch (whence) {
    case MPI_SEEK_SET:
      break;
    case MPI_SEEK_CUR:
      from = current;
      break;
    case MPI_SEEK_END:
      if (const Err e = find_end(file, &from); e != Err::ok) return e;
      break;
    default:
      return fail(Err::arg, "argument whence is %d; it must be MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END",
                  whence);
  }
  if (__builtin_add_overflow(from, offset, target) || *target < 0)
    return fail(Err::arg, "the pointer would be at %lld + %lld, which is no place in a file", (long long)from,
                (long long)offset);
  return Err::ok;
}

Err refuse_sequential(const OpenFile& file) noexcept {
  if (!file.is_sequential()) return Err::ok;
  return fail(Err::unsupported_operation,
              "\"%s\" was opened with MPI_MODE_SEQUENTIAL: its pointers cannot be set", file.name.c_str());
}

}  // namespace

Err read_shared_pointer(OpenFile& file, std::int64_t* value) noexcept {
  return change(file, MPI_NO_OP, 0, value);
}

Err write_shared_pointer(OpenFile& file, std::int64_t value) noexcept {
  std::int64_t before = 0;
  return change(file, MPI_REPLACE, value, &before);
}

Err add_to_shared_pointer(OpenFile& file, std::int64_t by, std::int64_t* before) noexcept {
  return change(file, MPI_SUM, by, before);
}

Err file_seek(File& fh, MPI_Offset offset, int whence) noexcept {
  OpenFile& file = file_of(fh);
  if (const Err e = refuse_sequential(file); e != Err::ok) return e;
  std::int64_t target = 0;
  const Err error = find_target(file, offset, whence, file.pointer, &target);
  if (error == Err::ok) file.pointer = target;
  return error;
}

Err file_get_position(File& fh, MPI_Offset* offset) noexcept {
  const OpenFile& file = file_of(fh);
  if (const Err e = refuse_sequential(file); e != Err::ok) return e;
  *offset = file.pointer;
  return Err::ok;
}

Err file_get_byte_offset(File& fh, MPI_Offset offset, MPI_Offset* disp) noexcept {
  const View& view = file_of(fh).view;
  if (offset < 0)
    return fail(Err::arg, "argument offset is %lld; it must not be negative", (long long)offset);
  std::int64_t position = 0;
  const Err error = view.find_position(offset, 1, &position);
  if (error == Err::ok) *disp = view.tiling.offset_of(position);
  return error;
}

Err file_seek_shared(File& fh, MPI_Offset offset, int whence) noexcept {
  OpenFile& file = file_of(fh);
  if (const Err e = refuse_sequential(file); e != Err::ok) return e;
  struct Said {
    std::int64_t offset, whence;
  } const mine{offset, whence};
  const std::vector<Said> all = coll::gather_all(*file.comm, mine);
  for (const Said& each : all)
    if (each.offset != offset || each.whence != whence)
      return fail(Err::not_same, "arguments offset and whence differ between the ranks");
  Err error = Err::ok;
  if (file.comm->rank == 0) {
    std::int64_t current = 0, target = 0;
    error = read_shared_pointer(file, &current);
    if (error == Err::ok) error = find_target(file, offset, whence, current, &target);
    if (error == Err::ok) error = write_shared_pointer(file, target);
  }
  return coll::agree(*file.comm, error, "moving the shared pointer");
}

Err file_get_position_shared(File& fh, MPI_Offset* offset) noexcept {
  OpenFile& file = file_of(fh);
  if (const Err e = refuse_sequential(file); e != Err::ok) return e;
  return read_shared_pointer(file, offset);
}

}  // namespace dunlin::io
