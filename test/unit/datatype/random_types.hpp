// Every check that a random type has to pass against the slow reference.  Used by unit tests and the fuzzer;
// a check that fails returns a sentence, else the empty string.
#pragma once

#include <string>

#include "datatype/cursor.hpp"
#include "reference.hpp"

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
  const std::size_t copied = copy(source_of(*from.type, source.address(), from_count),
                                  target_of(*to.type, target.address(), to_count));
  if (copied != packed.size()) return "bytes copied";
  return target.bytes() == expected.bytes() ? "" : "copy";
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
  if (std::string failure = check_elements(a, random); !failure.empty()) return where + failure;
  return "";
}

}  // namespace dunlin::test
