// MPI_Pack, MPI_Unpack and MPI_Pack_size (MPI 5.0, 5.2): the packed form is the data itself, in typemap
// order.
#include "base/assert.hpp"
#include "datatype/cursor.hpp"
#include "datatype/functions.hpp"

namespace dunlin::datatype {

Err pack_size(std::int64_t in_count, const Datatype& type, std::int64_t* bytes) noexcept {
  if (__builtin_mul_overflow(in_count, type.size(), bytes))
    return fail(Err::value_too_large, "the packed data would have more than 2^63 bytes");
  return Err::ok;
}

namespace {

/// Bytes of the data, where they fit between `position` and `room`.
Err check_room(std::int64_t count, const Datatype& type, std::int64_t room, std::int64_t position,
               const char* room_name, std::int64_t* bytes) noexcept {
  if (Err e = pack_size(count, type, bytes); e != Err::ok) return e;
  if (position < 0)
    return fail(Err::arg, "position is %lld; it must not be negative", static_cast<long long>(position));
  if (*bytes <= room - position) return Err::ok;
  return fail(Err::truncate, "%lld bytes at position %lld do not fit into %s = %lld",
              static_cast<long long>(*bytes), static_cast<long long>(position), room_name,
              static_cast<long long>(room));
}

}  // namespace

Err pack(const void* in, std::int64_t in_count, const Datatype& type, void* out, std::int64_t out_bytes,
         std::int64_t* position) noexcept {
  std::int64_t bytes;
  if (Err e = check_room(in_count, type, out_bytes, *position, "outsize", &bytes); e != Err::ok) return e;
  Cursor cursor(type, in_count, in);
  const auto n = static_cast<std::size_t>(bytes);
  const std::size_t packed = cursor.pack(static_cast<std::byte*>(out) + *position, n);
  DUNLIN_ASSERT(packed == n);
  *position += bytes;
  return Err::ok;
}

Err unpack(const void* in, std::int64_t in_bytes, std::int64_t* position, void* out, std::int64_t out_count,
           const Datatype& type) noexcept {
  std::int64_t bytes;
  if (Err e = check_room(out_count, type, in_bytes, *position, "insize", &bytes); e != Err::ok) return e;
  Cursor cursor(target_of(type, out, out_count));
  const auto* from = static_cast<const std::byte*>(in) + *position;
  const std::size_t unpacked = cursor.unpack(from, static_cast<std::size_t>(bytes));
  DUNLIN_ASSERT(unpacked == static_cast<std::size_t>(bytes));
  *position += bytes;
  return Err::ok;
}

}  // namespace dunlin::datatype
