// Every check that a random type has to pass against the slow reference.  Used by unit tests and the fuzzer;
// a check that fails returns a sentence, else the empty string.
#pragma once

#include <limits>
#include <string>

#include "datatype/cursor.hpp"
#include "datatype/layout.hpp"
#include "datatype/wire.hpp"
#include "test/unit/datatype/reference.hpp"

namespace dunlin::test {

inline std::string check_bounds(const RandomType& t) {
  const Datatype& type = *t.type;
  if (type.size() != t.map.size()) return "size";
  if (type.extent() != t.map.extent()) return "extent";
  if (type.lower_bound() != t.map.lower_bound()) return "lower bound";
  if (type.size() > 0 && type.true_lower_bound() != t.map.true_lower()) return "true lower bound";
  if (type.size() > 0 && type.true_extent() != t.map.true_upper() - t.map.true_lower()) return "true extent";
  if (type.element_count() != static_cast<std::int64_t>(t.map.entries.size())) return "element count";
  return "";
}

inline std::string check_pack(const RandomType& t, std::int64_t count, TypeMaker& random) {
  Buffer buffer(t.map, count, static_cast<std::uint64_t>(random.number(0, 1 << 30)));
  const std::vector<std::byte> expected = t.map.pack(buffer.address(), count);
  std::vector<std::byte> packed(expected.size());
  Cursor whole(*t.type, count, buffer.address());
  if (whole.pack(packed.data(), packed.size() + 1) != expected.size() || packed != expected) return "pack";

  std::fill(packed.begin(), packed.end(), std::byte{0});
  Cursor stepwise(*t.type, count, buffer.address());
  const std::int64_t step_max = random.number(1, 3) == 1 ? 7 : 200;
  for (std::size_t at = 0; at < expected.size();) {
    stepwise.seek(at);
    at += stepwise.pack(packed.data() + at, static_cast<std::size_t>(random.number(1, step_max)));
  }
  if (packed != expected) return "pack in steps";

  std::vector<std::byte> gathered;
  Cursor pieces(*t.type, count, buffer.address());
  while (pieces.remaining() > 0) {
    Piece list[9];
    const auto room = static_cast<std::size_t>(random.number(1, 9));
    const auto bytes_max = static_cast<std::size_t>(random.number(1, 300));
    const std::size_t before = pieces.position();
    const std::size_t n = pieces.pieces({list, room}, bytes_max);
    if (n == 0 || n > room || pieces.position() - before > bytes_max) return "number of pieces";
    for (std::size_t i = 0; i < n; ++i)
      gathered.insert(gathered.end(), list[i].address, list[i].address + list[i].bytes);
  }
  return gathered == expected ? "" : "pieces";
}

inline std::string check_unpack(const RandomType& t, std::int64_t count, TypeMaker& random) {
  Buffer expected(t.map, count, 1), whole(t.map, count, 1), stepwise(t.map, count, 1);
  std::vector<std::byte> packed(static_cast<std::size_t>(t.map.size() * count));
  for (std::byte& b : packed) b = static_cast<std::byte>(random.number(0, 255));
  if (!t.map.unpack(expected.address(), count, packed)) return "";  // overlapping: may not be received into
  Cursor all(*t.type, count, whole.address());
  if (all.unpack(packed.data(), packed.size()) != packed.size()) return "bytes unpacked";
  if (whole.bytes() != expected.bytes()) return "unpack";
  Cursor steps(*t.type, count, stepwise.address());
  while (steps.remaining() > 0)
    steps.unpack(packed.data() + steps.position(), static_cast<std::size_t>(random.number(1, 50)));
  return stepwise.bytes() == expected.bytes() ? "" : "unpack in steps";
}

inline std::string check_copy(const RandomType& from, std::int64_t from_count, const RandomType& to,
                              std::int64_t to_count) {
  Buffer source(from.map, from_count, 2), expected(to.map, to_count, 3), target(to.map, to_count, 3);
  std::vector<std::byte> packed = from.map.pack(source.address(), from_count);
  const auto room = static_cast<std::size_t>(to.map.size() * to_count);
  packed.resize(std::min(packed.size(), room));
  if (!to.map.unpack(expected.address(), to_count, packed)) return "";
  const std::size_t copied = copy_data(source_of(*from.type, source.address(), from_count),
                                  target_of(*to.type, target.address(), to_count));
  if (copied != packed.size()) return "bytes copied";
  return target.bytes() == expected.bytes() ? "" : "copy";
}

/// Copies in random pieces, the last first, to the contiguous data and from it, and from layout to layout.
inline std::string check_copy_ranges(const RandomType& from, std::int64_t from_count, const RandomType& to,
                                     std::int64_t to_count, TypeMaker& random) {
  Buffer source(from.map, from_count, 2), expected(to.map, to_count, 3), direct(to.map, to_count, 3);
  Buffer unpacked(to.map, to_count, 3);
  std::vector<std::byte> packed = from.map.pack(source.address(), from_count);
  Source data = source_of(*from.type, source.address(), from_count);
  const Target room = target_of(*to.type, direct.address(), to_count);
  const auto skip = static_cast<std::size_t>(random.number(0, 1) * random.number(0, packed.size()));
  if (data.is_contiguous()) data.address += skip;
  else data.position = skip;
  data.bytes -= skip;
  packed.erase(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(skip));
  packed.resize(std::min(packed.size(), room.bytes));
  if (!to.map.unpack(expected.address(), to_count, packed)) return "";
  std::vector<std::byte> gathered(packed.size());
  const Target contiguous{gathered.data(), gathered.size()};
  const std::int64_t step_max = random.number(0, 1) ? 7 : 200;
  for (std::size_t end = packed.size(); end > 0;) {
    const auto step = std::min(end, static_cast<std::size_t>(random.number(1, step_max)));
    end -= step;
    copy_range(data, contiguous, end, step);
    copy_range(data, room, end, step);
    const Target again = target_of(*to.type, unpacked.address(), to_count);
    copy_range(Source{packed.data(), packed.size()}, again, end, step);
  }
  if (gathered != packed) return "ranges copied to contiguous data";
  if (unpacked.bytes() != expected.bytes()) return "ranges copied from contiguous data";
  return direct.bytes() == expected.bytes() ? "" : "ranges copied from layout to layout";
}

inline std::string check_elements(const RandomType& t, TypeMaker& random) {
  if (t.map.size() == 0) return "";
  const std::int64_t bytes = random.number(0, 2 * t.map.size());
  std::int64_t expected = 0, left = bytes, answer = 0;
  while (left > 0) {
    for (const Entry& e : t.map.entries) {
      if (left <= 0) break;
      left -= TypeMap::bytes(e);
      ++expected;
    }
  }
  if (left < 0) expected = MPI_UNDEFINED;
  if (datatype::get_elements(bytes, *t.type, &answer) != Err::ok || answer != expected) return "get_elements";
  if (expected == MPI_UNDEFINED) return "";
  std::int64_t back = 0;
  if (datatype::status_set_elements(*t.type, expected, &back) != Err::ok) return "set_elements fails";
  return back == bytes ? "" : "set_elements";
}

/// The type that the same constructor makes of the arguments that MPI_Type_get_contents tells.
inline Ref<Datatype> rebuilt(const Datatype& type) {
  std::int64_t ints = 0, addresses = 0, types = 0;
  int combiner = 0;
  Err e = datatype::type_get_envelope(type, false, &ints, &addresses, nullptr, &types, &combiner);
  if (e != Err::ok) return {};
  if (combiner == MPI_COMBINER_NAMED) return Ref<Datatype>(const_cast<Datatype*>(&type));
  std::vector<int> i(ints + 1, -7);
  std::vector<MPI_Aint> a(addresses + 1, -7);
  std::vector<MPI_Datatype> t(types + 1, nullptr);
  e = datatype::type_get_contents(type, false, ints + 1, addresses + 1, 0, types + 1, i.data(), a.data(),
                                  nullptr, t.data());
  if (e != Err::ok) return {};
  if (i[ints] != -7 || a[addresses] != -7 || t[types] != nullptr) return {};  // surplus is left alone
  const int n = i[0];
  const auto list = [&](int from) { return IntArray{i.data() + from, false}; };
  const IntArray wide{a.data(), true};
  Datatype* made = nullptr;
  if (combiner == MPI_COMBINER_STRUCT) {
    if (datatype::type_create_struct(n, list(1), wide, t.data(), false, &made) != Err::ok) return {};
    for (std::int64_t k = 0; k < types; ++k)
      if (auto* old = from_handle<Datatype>(t[k]); !old->is_predefined()) old->release();
    return Ref<Datatype>::adopt(made);
  }
  const Datatype& old = *from_handle<Datatype>(t[0]);
  e = Err::other;
  switch (combiner) {
    case MPI_COMBINER_CONTIGUOUS: e = datatype::type_contiguous(n, old, false, &made); break;
    case MPI_COMBINER_VECTOR: e = datatype::type_vector(n, i[1], i[2], old, false, &made); break;
    case MPI_COMBINER_HVECTOR: e = datatype::type_create_hvector(n, i[1], a[0], old, false, &made); break;
    case MPI_COMBINER_INDEXED: e = datatype::type_indexed(n, list(1), list(1 + n), old, false, &made); break;
    case MPI_COMBINER_HINDEXED:
      e = datatype::type_create_hindexed(n, list(1), wide, old, false, &made);
      break;
    case MPI_COMBINER_INDEXED_BLOCK:
      e = datatype::type_create_indexed_block(n, i[1], list(2), old, false, &made);
      break;
    case MPI_COMBINER_HINDEXED_BLOCK:
      e = datatype::type_create_hindexed_block(n, i[1], wide, old, false, &made);
      break;
    case MPI_COMBINER_RESIZED: e = datatype::type_create_resized(old, a[0], a[1], false, &made); break;
    case MPI_COMBINER_SUBARRAY:
      e = datatype::type_create_subarray(n, list(1), list(1 + n), list(1 + 2 * n), i[1 + 3 * n], old, false,
                                         &made);
      break;
    case MPI_COMBINER_DARRAY: {
      const int d = i[2];
      e = datatype::type_create_darray(i[0], i[1], d, list(3), &i[3 + d], &i[3 + 2 * d], &i[3 + 3 * d],
                                       i[3 + 4 * d], old, false, &made);
      break;
    }
  }
  if (!old.is_predefined()) const_cast<Datatype&>(old).release();
  return e == Err::ok ? Ref<Datatype>::adopt(made) : Ref<Datatype>();
}

inline std::string check_contents(const RandomType& t) {
  const Ref<Datatype> again = rebuilt(*t.type);
  if (!again) return "contents";
  if (!datatype::is_same(again->layout(), t.type->layout())) return "layout rebuilt from contents";
  if (again->extent() != t.type->extent()) return "extent rebuilt from contents";
  return again->lower_bound() == t.type->lower_bound() ? "" : "lower bound rebuilt from contents";
}

/// A peer's copy of the type moves the same bytes; damaged words are refused or harmless.
inline std::string check_wire(const RandomType& t, TypeMaker& random) {
  std::vector<std::byte> wire = datatype::encode_layout(*t.type);
  if (wire.empty()) return "encode";
  Result<Ref<Datatype>> peer = datatype::decode_layout(wire);
  if (!peer) return "decode";
  const Datatype& copy = **peer;
  if (copy.size() != t.type->size() || copy.extent() != t.type->extent()) return "bounds of the peer's type";
  Buffer buffer(t.map, 2, 4);
  const std::vector<std::byte> expected = t.map.pack(buffer.address(), 2);
  std::vector<std::byte> packed(expected.size());
  Cursor(copy, 2, buffer.address()).pack(packed.data(), packed.size());
  if (packed != expected) return "pack by the peer's type";
  for (std::int64_t i = random.number(1, 3); i > 0; --i)
    wire[random.number(0, wire.size() - 1)] = static_cast<std::byte>(random.number(0, 255));
  if (random.number(0, 2) == 0) wire.resize(static_cast<std::size_t>(random.number(0, wire.size())));
  if (datatype::decode_layout(wire)) return "";
  return error_detail(Err::intern)[0] || error_detail(Err::value_too_large)[0] ? "" : "no reason given";
}

/// Random bytes are no valid long doubles, and their padding does not survive: sets values with padding zero.
inline void set_long_doubles(const TypeMap& map, std::byte* buffer, std::int64_t count, TypeMaker* random) {
  constexpr bool is_x87 = std::numeric_limits<long double>::digits == 64;
  constexpr std::size_t kValueBytes = is_x87 ? 10 : sizeof(long double);
  for (std::int64_t i = 0; i < count; ++i)
    for (const Entry& e : map.entries) {
      if (e.basic != Basic::long_double) continue;
      std::byte* at = buffer + i * map.extent() + e.displacement;
      const long double value = random ? static_cast<long double>(random->number(-1000, 1000)) / 7 : 0;
      if (random) std::memcpy(at, &value, kValueBytes);
      std::memset(at + kValueBytes, 0, sizeof value - kValueBytes);
    }
}

inline std::string check_external(const RandomType& t, std::int64_t count, TypeMaker& random) {
  Buffer buffer(t.map, count, 5), back(t.map, count, 6);
  std::int64_t expected = 0;
  for (const Entry& e : t.map.entries) expected += datatype::external_bytes_of_kind(e.basic);
  const std::vector<std::byte> ignored(static_cast<std::size_t>(t.map.size() * count));
  if (!t.map.unpack(back.address(), count, ignored)) return "";  // overlapping
  set_long_doubles(t.map, buffer.address(), count, &random);
  std::int64_t bytes = 0, position = 3, in_position = 3;
  if (datatype::pack_external_size("external32", count, *t.type, &bytes) != Err::ok) return "external size";
  if (bytes != expected * count) return "bytes of external32";
  std::vector<std::byte> wire(static_cast<std::size_t>(bytes + 3));
  const Datatype& type = *t.type;
  const std::int64_t room = bytes + 3;
  Err e = datatype::pack_external("external32", buffer.address(), count, type, wire.data(), room, &position);
  if (e != Err::ok) return "pack_external";
  e = datatype::unpack_external("external32", wire.data(), room, &in_position, back.address(), count, type);
  if (e != Err::ok) return "unpack_external";
  if (position != room || in_position != room) return "position after external32";
  set_long_doubles(t.map, back.address(), count, nullptr);
  const bool is_equal = t.map.pack(back.address(), count) == t.map.pack(buffer.address(), count);
  return is_equal ? "" : "external32 and back";
}

/// All checks on types made from one seed.
inline std::string check_seed(std::uint64_t seed) {
  TypeMaker random(seed);
  const RandomType a = random.make(static_cast<int>(random.number(0, 4)));
  const RandomType b = random.make(static_cast<int>(random.number(0, 4)));
  const std::int64_t a_count = random.number(0, 4);
  const std::int64_t a_bytes = a.map.size() * a_count, b_size = std::max<std::int64_t>(b.map.size(), 1);
  const std::int64_t as_many = std::min<std::int64_t>(a_bytes / b_size, 50);
  const std::int64_t b_count = random.number(0, 1) ? as_many : random.number(0, 4);
  const std::string where = "seed " + std::to_string(seed) + ": ";
  if (std::string failure = check_bounds(a) + check_bounds(b); !failure.empty()) return where + failure;
  if (std::string failure = check_pack(a, a_count, random); !failure.empty()) return where + failure;
  if (std::string failure = check_unpack(a, a_count, random); !failure.empty()) return where + failure;
  if (std::string failure = check_copy(a, a_count, a, a_count); !failure.empty()) return where + failure;
  if (std::string failure = check_copy(a, a_count, b, b_count); !failure.empty()) return where + failure;
  if (std::string failure = check_copy(b, b_count, a, a_count); !failure.empty()) return where + failure;
  for (const RandomType* to : {&a, &b}) {
    const std::int64_t to_count = to == &a ? a_count : b_count;
    std::string failure = check_copy_ranges(a, a_count, *to, to_count, random);
    if (!failure.empty()) return where + failure;
  }
  if (std::string failure = check_elements(a, random); !failure.empty()) return where + failure;
  if (std::string failure = check_contents(a); !failure.empty()) return where + failure;
  if (std::string failure = check_wire(a, random); !failure.empty()) return where + failure;
  if (std::string failure = check_external(a, a_count, random); !failure.empty()) return where + failure;
  return "";
}

}  // namespace dunlin::test
