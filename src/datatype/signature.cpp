// Signatures (signature.hpp): building, counting, and what is known of each element kind.
#include "datatype/signature.hpp"

#include <algorithm>
#include <complex>
#include <cwchar>
#include <utility>

#include "base/assert.hpp"
#include "datatype/datatype.hpp"

namespace dunlin::datatype {

namespace {

constexpr std::size_t kSpliceEntriesMax = 64;  // longer inner signatures are shared rather than copied
constexpr int kSpliceDepth = 48;               // deeper ones are spliced in any case: walks recurse

std::int64_t elements_per_type(const Datatype& type) noexcept {
  return parts_of(type.basic()).second == Basic::none ? 1 : 2;
}

std::int64_t entry_bytes(const SignatureEntry& entry) noexcept {
  return entry.count * (entry.type ? entry.type->size() : entry.inner->bytes);
}
std::int64_t entry_elements(const SignatureEntry& entry) noexcept {
  return entry.count * (entry.type ? elements_per_type(*entry.type) : entry.inner->elements);
}
std::int64_t entry_external_bytes(const SignatureEntry& entry) noexcept {
  return entry.count * (entry.type ? external_bytes_of(*entry.type) : entry.inner->external_bytes);
}

SignatureRef make(PoolVector<SignatureEntry> entries) noexcept {
  auto* signature = new Signature;
  signature->entries = std::move(entries);
  for (const SignatureEntry& entry : signature->entries) {
    signature->bytes += entry_bytes(entry);
    signature->elements += entry_elements(entry);
    signature->external_bytes += entry_external_bytes(entry);
    if (entry.inner) signature->depth = std::max(signature->depth, entry.inner->depth + 1);
  }
  return SignatureRef::adopt(signature);
}

/// Appends, joining with the entry before where both are of one type.
void append(PoolVector<SignatureEntry>* entries, const SignatureEntry& entry) noexcept {
  if (!entries->empty()) {
    SignatureEntry& last = entries->back();
    if (last.type == entry.type && last.inner.get() == entry.inner.get()) {
      last.count += entry.count;
      return;
    }
  }
  entries->push_back(entry);
}

}  // namespace

SignatureRef make_signature(const Datatype* type, std::int64_t count) noexcept {
  PoolVector<SignatureEntry> entries;
  if (type && count > 0) entries.push_back({type, count, {}});
  return make(std::move(entries));
}

SignatureRef repeat_signature(const SignatureRef& signature, std::int64_t count) noexcept {
  if (count == 1) return signature;
  PoolVector<SignatureEntry> entries;
  if (count > 0 && signature->entries.size() == 1) {
    entries = signature->entries;
    entries[0].count *= count;
  } else if (count > 0 && signature->bytes > 0) {
    entries.push_back({nullptr, count, signature});
  }
  return make(std::move(entries));
}

SignatureRef sequence_signature(PoolVector<SignatureEntry> members) noexcept {
  PoolVector<SignatureEntry> entries;
  for (SignatureEntry& member : members) {
    DUNLIN_ASSERT(member.type == nullptr && member.count == 1);
    const Signature& inner = *member.inner;
    const bool splices = inner.entries.size() <= kSpliceEntriesMax || inner.depth >= kSpliceDepth;
    if (splices)
      for (const SignatureEntry& entry : inner.entries) append(&entries, entry);
    else
      append(&entries, member);
  }
  return make(std::move(entries));
}

namespace {

/// Elements in the first bytes of one signature; bytes < signature.bytes or equal.
std::int64_t count_elements(const Signature& signature, std::int64_t bytes) noexcept {
  std::int64_t elements = 0;
  for (const SignatureEntry& entry : signature.entries) {
    if (bytes == 0) return elements;
    if (bytes >= entry_bytes(entry)) {
      bytes -= entry_bytes(entry);
      elements += entry_elements(entry);
      continue;
    }
    const std::int64_t each = entry_bytes(entry) / entry.count, whole = bytes / each, rest = bytes % each;
    elements += whole * (entry_elements(entry) / entry.count);
    if (rest == 0) return elements;
    if (entry.type) {  // inside a pair's second part only
      const Parts parts = parts_of(entry.type->basic());
      return parts.second != Basic::none && rest == bytes_of(parts.first) ? elements + 1 : -1;
    }
    const std::int64_t inner = count_elements(*entry.inner, rest);
    return inner < 0 ? -1 : elements + inner;
  }
  return elements;
}

std::int64_t count_bytes(const Signature& signature, std::int64_t elements) noexcept {
  std::int64_t bytes = 0;
  for (const SignatureEntry& entry : signature.entries) {
    if (elements == 0) return bytes;
    if (elements >= entry_elements(entry)) {
      elements -= entry_elements(entry);
      bytes += entry_bytes(entry);
      continue;
    }
    const std::int64_t each = entry_elements(entry) / entry.count, whole = elements / each;
    bytes += whole * (entry_bytes(entry) / entry.count);
    if (const std::int64_t rest = elements % each; rest > 0)
      bytes += entry.type ? bytes_of(parts_of(entry.type->basic()).first) : count_bytes(*entry.inner, rest);
    return bytes;
  }
  return bytes;
}

}  // namespace

std::int64_t elements_in_bytes(const Signature& signature, std::int64_t bytes) noexcept {
  if (signature.bytes == 0) return bytes == 0 ? 0 : -1;
  const std::int64_t rest = count_elements(signature, bytes % signature.bytes);
  return rest < 0 ? -1 : bytes / signature.bytes * signature.elements + rest;
}

std::int64_t bytes_of_elements(const Signature& signature, std::int64_t elements) noexcept {
  if (signature.elements == 0) return 0;
  const std::int64_t whole = elements / signature.elements;
  return whole * signature.bytes + count_bytes(signature, elements % signature.elements);
}

Parts parts_of(Basic basic) noexcept {
  switch (basic) {
    case Basic::pair_f32_int: return {Basic::f32, Basic::i32};
    case Basic::pair_f64_int: return {Basic::f64, Basic::i32};
    case Basic::pair_long_int: return {Basic::long_int, Basic::i32};
    case Basic::pair_int_int: return {Basic::i32, Basic::i32};
    case Basic::pair_short_int: return {Basic::i16, Basic::i32};
    case Basic::pair_long_double_int: return {Basic::long_double, Basic::i32};
    case Basic::pair_f32_f32: return {Basic::f32, Basic::f32};
    case Basic::pair_f64_f64: return {Basic::f64, Basic::f64};
    case Basic::pair_i32_i32: return {Basic::i32, Basic::i32};
    case Basic::pair_i64_i64: return {Basic::i64, Basic::i64};
    default: return {basic, Basic::none};
  }
}

std::int64_t bytes_of(Basic basic) noexcept {
  switch (basic) {
    case Basic::byte: case Basic::text: case Basic::i8: case Basic::u8: return 1;
    case Basic::logical8: case Basic::c_bool: return 1;
    case Basic::i16: case Basic::u16: case Basic::logical16: return 2;
    case Basic::i32: case Basic::u32: case Basic::f32: case Basic::logical32: return 4;
    case Basic::i64: case Basic::u64: case Basic::f64: case Basic::c32: case Basic::logical64: return 8;
    case Basic::i128: case Basic::f128: case Basic::c64: case Basic::logical128: return 16;
    case Basic::c128: return 32;
    case Basic::wide_text: return sizeof(wchar_t);
    case Basic::long_int: case Basic::unsigned_long_int: return sizeof(long);
    case Basic::long_double: return sizeof(long double);
    case Basic::c_long_double: return 2 * sizeof(long double);
    default: return 0;
  }
}

std::int64_t external_bytes_of_kind(Basic basic) noexcept {
  switch (basic) {
    case Basic::wide_text: return 2;
    case Basic::long_int: case Basic::unsigned_long_int: return 4;
    case Basic::long_double: return 16;
    case Basic::c_long_double: return 32;
    default: return bytes_of(basic);
  }
}

std::int64_t external_bytes_of(const Datatype& predefined) noexcept {
  const Parts parts = parts_of(predefined.basic());
  return external_bytes_of_kind(parts.first) + external_bytes_of_kind(parts.second);
}

}  // namespace dunlin::datatype
