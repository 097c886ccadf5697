// What MPI_Datatype points to: sizes and bounds for everybody, layout and history for datatype/.
//
// hot path: `source_of` and `target_of` read one cache line of the type.  Everything here is fixed when a
// constructor returns, except name, attributes and `is_committed`.  Constructors are in
// datatype/functions.hpp, walking over the data in datatype/cursor.hpp, the layout's normal form in
// datatype/layout.hpp (docs/datatypes.md).
//
// Thread safety: immutable after construction, so any thread may read; name, attributes and the published
// copy are written under base/big_lock.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "datatype/basic.hpp"
#include "datatype/data.hpp"
#include "object/attributes.hpp"
#include "object/object.hpp"

namespace dunlin {

namespace datatype {
struct Layout;
struct Signature;
struct Recipe;
struct Shape;
}  // namespace datatype

class Datatype final : public Object {
 public:
  static constexpr Kind kKind = Kind::datatype;

  /// Bytes of data in one element; 0 for optional types that this platform lacks (see `is_available`).
  std::int64_t size() const noexcept { return size_; }
  std::int64_t extent() const noexcept { return extent_; }
  std::int64_t lower_bound() const noexcept { return lower_bound_; }
  std::int64_t upper_bound() const noexcept { return lower_bound_ + extent_; }
  std::int64_t true_lower_bound() const noexcept { return true_lower_bound_; }
  std::int64_t true_extent() const noexcept { return true_extent_; }

  /// `count` elements at `buf` are one run of count * size bytes that starts at `buf`.
  bool is_contiguous() const noexcept { return is_contiguous_; }
  /// One element is one run of `size` bytes that starts at buf + true_lower_bound.
  bool is_run() const noexcept { return is_run_; }
  bool is_committed() const noexcept { return is_committed_; }
  void set_committed() noexcept {
    is_committed_ = true;
    is_plain_ = is_contiguous_;
  }
  /// Committed and contiguous: nothing about it needs a closer look.
  bool is_plain() const noexcept { return is_plain_; }
  /// For constructors: the largest alignment among the elements; whether MPI_Type_create_resized set the
  /// bounds of this type or of a member; whether there is neither an element nor such a bound.
  std::int64_t alignment() const noexcept { return alignment_; }
  bool has_explicit_bounds() const noexcept { return has_explicit_bounds_; }
  bool is_empty() const noexcept { return is_empty_; }
  /// False for optional predefined types that this platform lacks (MPI_REAL2): no size, no data, no
  /// operations.
  bool is_available() const noexcept { return is_available_; }

  /// The element kind when this is a predefined type (or a duplicate of one), else `none`.
  Basic basic() const noexcept { return basic_; }
  /// The predefined type all elements have, or nullptr when they differ; itself for a predefined type.
  const Datatype* element() const noexcept;
  /// Number of predefined elements in one element of this type (pairs count as two, as MPI_Get_elements
  /// wants).
  std::int64_t element_count() const noexcept;

  const datatype::Layout& layout() const noexcept { return *layout_; }
  /// Elements of both types have their bytes at the same places in the same order, and one extent.  May say
  /// no where that takes a closer look.  Cheap when asked again about the same type.
  bool is_laid_out_like(const Datatype& other) const noexcept;
  const datatype::Signature& signature() const noexcept { return *signature_; }
  /// How it was made; nullptr for predefined types.
  const datatype::Recipe* recipe() const noexcept { return recipe_; }

  /// A number that no other derived type of this process ever has; 0 for predefined types.
  std::uint64_t serial() const noexcept { return serial_; }

  /// A copy of the layout where peers can read it, kept by protocol/ for as long as the type lives; nullptr:
  /// none yet.
  void* published() const noexcept { return published_; }
  void set_published(void* block, void (*release)(void* block)) const noexcept {
    published_ = block;
    release_published_ = release;
  }

  AttributeList& attributes() noexcept { return attributes_; }
  const AttributeList& attributes() const noexcept { return attributes_; }

  const char* name() const noexcept { return name_ ? name_ : default_name_; }
  void set_name(const char* name) noexcept;

  /// Takes over what `shape` holds; `recipe` is owned from here on.
  Datatype(const datatype::Shape& shape, datatype::Recipe* recipe) noexcept;
  /// A predefined type; `name` is static text.  Its signature is itself.
  Datatype(const datatype::Shape& shape, Basic basic, const char* name) noexcept;
  /// A duplicate of a predefined type still has its element kind.
  void set_basic(Basic basic) noexcept { basic_ = basic; }

 private:
  ~Datatype() override;

  std::int64_t size_ = 0;         // bytes
  std::int64_t extent_ = 0;       // bytes
  std::int64_t lower_bound_ = 0;  // bytes
  static std::uint64_t next_serial() noexcept;

  std::int64_t true_lower_bound_ = 0;  // bytes
  std::int64_t true_extent_ = 0;       // bytes
  bool is_contiguous_ = false;
  bool is_run_ = false;
  bool is_committed_ = false;
  bool is_plain_ = false;
  bool is_available_ = true;
  bool has_explicit_bounds_ = false;
  bool is_empty_ = false;
  Basic basic_ = Basic::none;
  std::int64_t alignment_ = 1;                      // bytes
  const datatype::Layout* layout_ = nullptr;        // one reference held
  const datatype::Signature* signature_ = nullptr;  // one reference held
  datatype::Recipe* recipe_ = nullptr;              // owned
  const std::uint64_t serial_ = next_serial();      // of this process; predefined types have one, too
  mutable std::atomic<std::uint64_t> alike_ = 0;    // serial of a type found to be laid out alike
  const char* default_name_ = "";                   // static text
  mutable void* published_ = nullptr;               // owned; a cache, so const types may get it
  mutable void (*release_published_)(void*) = nullptr;
  char* name_ = nullptr;      // owned; nullptr: never set
  AttributeList attributes_;  // the program's
};

/// Registers every predefined type of the standard ABI under its handle; once, before any other use.
void init_predefined_datatypes() noexcept;

namespace datatype {

[[gnu::noinline]] Source source_of_pieces(const Datatype& type, const void* buffer,
                                          std::int64_t count) noexcept;
[[gnu::noinline]] Target target_of_pieces(const Datatype& type, void* buffer, std::int64_t count) noexcept;

}  // namespace datatype

/// hot path.  `count` elements of `type` at `buffer`, to be sent.
inline Source source_of(const Datatype& type, const void* buffer, std::int64_t count) noexcept {
  if (type.is_contiguous()) [[likely]] {
    const auto bytes = static_cast<std::size_t>(type.size()) * static_cast<std::size_t>(count);
    return {static_cast<const std::byte*>(buffer), bytes, nullptr, 0};
  }
  return datatype::source_of_pieces(type, buffer, count);
}

/// hot path.  Room for `count` elements of `type` at `buffer`, to be received into.
inline Target target_of(const Datatype& type, void* buffer, std::int64_t count) noexcept {
  if (type.is_contiguous()) [[likely]] {
    const auto bytes = static_cast<std::size_t>(type.size()) * static_cast<std::size_t>(count);
    return {static_cast<std::byte*>(buffer), bytes, nullptr, 0};
  }
  return datatype::target_of_pieces(type, buffer, count);
}

}  // namespace dunlin
