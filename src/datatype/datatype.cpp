// Datatype objects: construction from a finished shape, destruction, and the slow half of source_of and
// target_of.
#include "datatype/datatype.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "datatype/recipe.hpp"
#include "datatype/shape.hpp"

namespace dunlin {

/// Under base/big_lock.hpp; predefined types are made before there are threads.
std::uint64_t Datatype::next_serial() noexcept {
  static std::uint64_t types_made = 0;
  return ++types_made;
}

Datatype::Datatype(const datatype::Shape& shape, datatype::Recipe* recipe) noexcept
    : Object(kKind),
      size_(shape.size),
      extent_(shape.extent()),
      lower_bound_(shape.lower_bound),
      true_lower_bound_(shape.true_lower_bound),
      true_extent_(shape.true_upper_bound - shape.true_lower_bound),
      has_explicit_bounds_(shape.has_explicit_bounds),
      is_empty_(shape.is_empty),
      alignment_(shape.alignment),
      recipe_(recipe) {
  DUNLIN_ASSERT(shape.layout->bytes == size_);
  DUNLIN_ASSERT(shape.signature->bytes == size_);
  is_run_ = shape.layout->is_run();
  is_contiguous_ = size_ == 0 || (is_run_ && extent_ == size_ && shape.layout->strided.offset == 0);
  layout_ = datatype::LayoutRef(shape.layout).detach();
  signature_ = datatype::SignatureRef(shape.signature).detach();
}

Datatype::Datatype(const datatype::Shape& shape, Basic basic, const char* name) noexcept
    : Object(kKind),
      size_(shape.size),
      extent_(shape.extent()),
      true_extent_(shape.true_upper_bound),
      is_committed_(true),
      is_available_(basic != Basic::none),
      is_empty_(shape.is_empty),
      basic_(basic),
      alignment_(shape.alignment),
      default_name_(name) {
  is_run_ = shape.layout->is_run();
  is_contiguous_ = is_run_ && extent_ == size_;
  is_plain_ = is_contiguous_ && is_available_;
  layout_ = datatype::LayoutRef(shape.layout).detach();
  signature_ = datatype::make_signature(basic == Basic::none ? nullptr : this, 1).detach();
}

namespace {

// Old types whose last reference was dropped while a newer one is being destroyed.  They are destroyed in a
// loop by the outermost destructor, because a program may nest types deeper than the stack is.  Under
// base/big_lock.hpp.
PoolVector<Ref<Datatype>>* dropped = nullptr;

}  // namespace

Datatype::~Datatype() {
  layout_->release();
  signature_->release();
  std::free(name_);
  if (published_) release_published_(published_);
  if (!recipe_) return;
  if (dropped) {
    for (Ref<Datatype>& type : recipe_->types) dropped->push_back(std::move(type));
    delete recipe_;
    return;
  }
  PoolVector<Ref<Datatype>> types = std::move(recipe_->types);
  delete recipe_;
  dropped = &types;
  while (!types.empty()) {
    Ref<Datatype> last = std::move(types.back());
    types.pop_back();
  }
  dropped = nullptr;
}

void Datatype::set_name(const char* name) noexcept {
  char* copy = strdup(name);
  DUNLIN_ASSERT(copy != nullptr);
  std::free(name_);
  name_ = copy;
}

bool Datatype::is_laid_out_like(const Datatype& other) const noexcept {
  if (this == &other) return true;
  if (extent_ != other.extent_) return false;
  // Relaxed: types do not change once they are made, so the answer is as true for every thread that sees it.
  const bool is_known = (serial_ != 0 && other.alike_.load(std::memory_order_relaxed) == serial_) ||
                        (other.serial_ != 0 && alike_.load(std::memory_order_relaxed) == other.serial_);
  if (is_known) return true;
  if (!datatype::is_same(*layout_, *other.layout_)) return false;
  alike_.store(other.serial_, std::memory_order_relaxed);
  other.alike_.store(serial_, std::memory_order_relaxed);
  return true;
}

const Datatype* Datatype::element() const noexcept { return signature_->uniform_type(); }

std::int64_t Datatype::element_count() const noexcept { return signature_->elements; }

namespace datatype {

namespace {

/// Packed bytes of `count` elements.
std::size_t packed_bytes(const Datatype& type, std::int64_t count) noexcept {
  return static_cast<std::size_t>(type.size()) * static_cast<std::size_t>(count);
}

}  // namespace

Source source_of_pieces(const Datatype& type, const void* buffer, std::int64_t count) noexcept {
  const auto* start = static_cast<const std::byte*>(buffer);
  const std::size_t bytes = packed_bytes(type, count);
  if (count == 1 && type.is_run()) return {start + type.true_lower_bound(), bytes, nullptr, 0};
  if (bytes == 0) return {start, 0, nullptr, 0};
  return {start, bytes, &type, count};
}

Target target_of_pieces(const Datatype& type, void* buffer, std::int64_t count) noexcept {
  auto* start = static_cast<std::byte*>(buffer);
  const std::size_t bytes = packed_bytes(type, count);
  if (count == 1 && type.is_run()) return {start + type.true_lower_bound(), bytes, nullptr, 0};
  if (bytes == 0) return {start, 0, nullptr, 0};
  return {start, bytes, &type, count};
}

}  // namespace datatype

}  // namespace dunlin
