// MPI_Pack_external, MPI_Unpack_external and MPI_Pack_external_size: the representation "external32" (MPI
// 5.0, 14.5.2): big-endian, IEEE 754, long of four bytes, wide characters of two, long double as binary128.
//
// Elements are packed natively in chunks that stay in the first-level cache, then converted; the signature
// tells their kinds.  This is for files and other machines, not a fast path.
#include <algorithm>
#include <bit>
#include <cstring>
#include <cwchar>
#include <limits>
#include <type_traits>

#include "base/assert.hpp"
#include "datatype/cursor.hpp"
#include "datatype/functions.hpp"
#include "datatype/native.hpp"
#include "datatype/signature.hpp"

namespace dunlin::datatype {

namespace {

constexpr std::int64_t kChunkBytes = 4096;

/// Copies n units of `unit` bytes, each with its bytes in the other order (on little-endian machines).
void copy_big_endian(std::byte* to, const std::byte* from, std::int64_t n, std::int64_t unit) noexcept {
  const bool is_reversed = std::endian::native == std::endian::little;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t b = 0; b < unit; ++b)
      to[i * unit + b] = from[i * unit + (is_reversed ? unit - 1 - b : b)];
}

/// Without padding, which a native value has with any content: the x87's long double has ten bytes.
template <class Native>
constexpr std::size_t kValueBytes =
    std::is_same_v<Native, long double> && std::numeric_limits<Native>::digits == 64 ? 10 : sizeof(Native);

/// Between kinds of different size: through a native value of the external size.
template <class Native, class External>
void encode_value(std::byte* to, const std::byte* from) noexcept {
  Native native;
  std::memcpy(&native, from, sizeof native);
  const auto external = static_cast<External>(native);
  std::byte bytes[sizeof external];
  std::memcpy(bytes, &external, sizeof external);
  copy_big_endian(to, bytes, 1, sizeof external);
}

template <class Native, class External>
void decode_value(std::byte* to, const std::byte* from) noexcept {
  External external;
  std::byte bytes[sizeof external];
  copy_big_endian(bytes, from, 1, sizeof external);
  std::memcpy(&external, bytes, sizeof external);
  const auto native = static_cast<Native>(external);
  std::memset(to, 0, sizeof native);
  std::memcpy(to, &native, kValueBytes<Native>);
}

enum class Way : bool { encode, decode };

template <class Native, class External>
void convert_values(Way way, std::byte* to, const std::byte* from, std::int64_t n) noexcept {
  const std::int64_t to_bytes = way == Way::encode ? sizeof(External) : sizeof(Native);
  const std::int64_t from_bytes = way == Way::encode ? sizeof(Native) : sizeof(External);
  for (std::int64_t i = 0; i < n; ++i, to += to_bytes, from += from_bytes)
    way == Way::encode ? encode_value<Native, External>(to, from) : decode_value<Native, External>(to, from);
}

/// n elements of one kind that is no pair.
void convert(Way way, Basic basic, std::byte* to, const std::byte* from, std::int64_t n) noexcept {
  switch (basic) {
    case Basic::wide_text:
      return convert_values<wchar_t, std::uint16_t>(way, to, from, n);
    case Basic::long_int:
      return convert_values<long, std::int32_t>(way, to, from, n);
    case Basic::unsigned_long_int:
      return convert_values<unsigned long, std::uint32_t>(way, to, from, n);
    case Basic::long_double:
      return convert_values<long double, Float128>(way, to, from, n);
    case Basic::c_long_double:
      return convert_values<long double, Float128>(way, to, from, 2 * n);
    case Basic::c32:
    case Basic::c64:
    case Basic::c128:
      return copy_big_endian(to, from, 2 * n, bytes_of(basic) / 2);
    default:
      return copy_big_endian(to, from, n, bytes_of(basic));
  }
}

/// Walks the signature and the packed native bytes together.
class Converter {
 public:
  /// As many `elements` as MPI_Get_elements counts.
  Converter(Way way, const Cursor& native, std::byte* external, std::int64_t elements) noexcept
      : way_(way), native_(native), external_(external), left_(elements) {}

  void elements(const Signature& signature, std::int64_t count) noexcept {
    if (signature.entries.size() == 1 && signature.entries[0].type)
      return run(*signature.entries[0].type, signature.entries[0].count * count);
    for (std::int64_t i = 0; i < count && left_ > 0; ++i)
      for (const SignatureEntry& entry : signature.entries)
        entry.type ? run(*entry.type, entry.count) : elements(*entry.inner, entry.count);
  }

 private:
  void run(const Datatype& type, std::int64_t count) noexcept {
    const Parts parts = parts_of(type.basic());
    const int each = parts.second == Basic::none ? 1 : 2;
    count = std::min(count, left_ / each);
    left_ -= count * each;
    const std::int64_t per_chunk = kChunkBytes / type.size();
    while (count > 0) {
      const std::int64_t n = std::min(count, per_chunk);
      const auto bytes = static_cast<std::size_t>(n * type.size());
      std::byte chunk[kChunkBytes];
      if (way_ == Way::encode) {
        const std::size_t packed = native_.pack(chunk, bytes);
        DUNLIN_ASSERT(packed == bytes);
      }
      convert_chunk(parts, chunk, parts.second == Basic::none ? n : 1, parts.second == Basic::none ? 1 : n);
      if (way_ == Way::decode) {
        const std::size_t unpacked = native_.unpack(chunk, bytes);
        DUNLIN_ASSERT(unpacked == bytes);
      }
      count -= n;
    }
  }

  /// `repeats` times: n elements of the first kind, and one of the second where there is one.
  void convert_chunk(Parts parts, std::byte* chunk, std::int64_t n, std::int64_t repeats) noexcept {
    for (std::int64_t i = 0; i < repeats; ++i) {
      chunk = convert_some(parts.first, chunk, n);
      if (parts.second != Basic::none) chunk = convert_some(parts.second, chunk, 1);
    }
  }

  std::byte* convert_some(Basic basic, std::byte* native, std::int64_t n) noexcept {
    const bool encodes = way_ == Way::encode;
    convert(way_, basic, encodes ? external_ : native, encodes ? native : external_, n);
    external_ += n * external_bytes_of_kind(basic);
    return native + n * bytes_of(basic);
  }

  Way way_;
  Cursor native_;
  std::byte* external_;
  std::int64_t left_;
};

Err check_representation(const char* representation) noexcept {
  if (std::strcmp(representation, "external32") == 0) return Err::ok;
  return fail(Err::arg, "datarep is \"%.40s\"; only \"external32\" is defined", representation);
}

Err check_room(std::int64_t bytes, std::int64_t room, std::int64_t position) noexcept {
  if (position < 0)
    return fail(Err::arg, "position is %lld; it must not be negative", static_cast<long long>(position));
  if (bytes <= room - position) return Err::ok;
  return fail(Err::truncate, "%lld bytes at position %lld do not fit into a buffer of %lld",
              static_cast<long long>(bytes), static_cast<long long>(position), static_cast<long long>(room));
}

}  // namespace

Err pack_external_size(const char* representation, std::int64_t in_count, const Datatype& type,
                       std::int64_t* bytes) noexcept {
  if (Err e = check_representation(representation); e != Err::ok) return e;
  if (__builtin_mul_overflow(in_count, type.signature().external_bytes, bytes))
    return fail(Err::value_too_large, "the packed data would have more than 2^63 bytes");
  return Err::ok;
}

Err pack_external(const char* representation, const void* in, std::int64_t in_count, const Datatype& type,
                  void* out, std::int64_t out_bytes, std::int64_t* position) noexcept {
  std::int64_t bytes;
  if (Err e = pack_external_size(representation, in_count, type, &bytes); e != Err::ok) return e;
  if (Err e = check_room(bytes, out_bytes, *position); e != Err::ok) return e;
  Converter converter(Way::encode, Cursor(type, in_count, in), static_cast<std::byte*>(out) + *position,
                      in_count * type.signature().elements);
  converter.elements(type.signature(), in_count);
  *position += bytes;
  return Err::ok;
}

Err unpack_external(const char* representation, const void* in, std::int64_t in_bytes, std::int64_t* position,
                    void* out, std::int64_t out_count, const Datatype& type) noexcept {
  std::int64_t bytes;
  if (Err e = pack_external_size(representation, out_count, type, &bytes); e != Err::ok) return e;
  if (Err e = check_room(bytes, in_bytes, *position); e != Err::ok) return e;
  unpack_external_elements(static_cast<const std::byte*>(in) + *position,
                           out_count * type.signature().elements, out, type);
  *position += bytes;
  return Err::ok;
}

void unpack_external_elements(const std::byte* in, std::int64_t elements, void* out,
                              const Datatype& type) noexcept {
  const Signature& signature = type.signature();
  if (elements == 0) return;
  const std::int64_t count = elements / signature.elements + (elements % signature.elements != 0);
  auto* const from = const_cast<std::byte*>(in);  // decoding only reads it
  Converter converter(Way::decode, Cursor(target_of(type, out, count)), from, elements);
  converter.elements(signature, count);
}

}  // namespace dunlin::datatype
