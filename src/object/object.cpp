#include "object/object.hpp"

#include <cstdlib>
#include <vector>

#include "base/log.hpp"

namespace dunlin {

Object* predefined_objects[kPredefinedHandles];

namespace {

// Free objects by size in steps of 64 bytes.  Requests come and go most; a block of 32 amortises the allocation.
constexpr std::size_t kStepBytes = 64;
constexpr std::size_t kPooledBytesMax = 2048;
constexpr std::size_t kObjectsPerBlock = 32;

struct Free {
  void* vtable_place;        // left alone, as is the kind behind it: `kind()` of a stale handle must read `none`
  Kind kind;
  Free* next;
};
Free* free_lists[kPooledBytesMax / kStepBytes + 1];

std::vector<Object*>& objects_by_int() {
  static auto& objects = *new std::vector<Object*>;  // never destroyed: objects are freed until the end of the process
  return objects;
}
std::vector<std::size_t>& free_places() {  // of objects_by_int
  static auto& places = *new std::vector<std::size_t>;
  return places;
}

void* take(std::size_t step) noexcept {
  if (!free_lists[step]) {
    const std::size_t bytes = step * kStepBytes;
    auto* block = static_cast<std::byte*>(std::aligned_alloc(kStepBytes, bytes * kObjectsPerBlock));
    if (!block) return nullptr;
    for (std::size_t i = kObjectsPerBlock; i-- > 0;) {
      auto* each = reinterpret_cast<Free*>(block + i * bytes);
      each->kind = Kind::none;
      each->next = free_lists[step];
      free_lists[step] = each;
    }
  }
  Free* taken = free_lists[step];
  free_lists[step] = taken->next;
  return taken;
}

}  // namespace

Object::~Object() {
  if (integer_ != 0) {
    const std::size_t place = std::size_t(integer_) - kPredefinedHandles;
    objects_by_int()[place] = nullptr;
    free_places().push_back(place);
  }
  // Volatile, so that the store is not dropped as dead: stale handles are recognised by it.
  *const_cast<volatile Kind*>(&kind_) = Kind::none;
}

void* Object::operator new(std::size_t bytes) noexcept {
  const std::size_t step = (bytes + kStepBytes - 1) / kStepBytes;
  void* memory = bytes <= kPooledBytesMax ? take(step) : std::aligned_alloc(kStepBytes, step * kStepBytes);
  if (!memory) log::die("out of memory for an object of %zu bytes", bytes);
  return memory;
}

void Object::operator delete(void* memory, std::size_t bytes) noexcept {
  const std::size_t step = (bytes + kStepBytes - 1) / kStepBytes;
  if (bytes > kPooledBytesMax) return std::free(memory);
  auto* freed = static_cast<Free*>(memory);
  freed->kind = Kind::none;
  freed->next = free_lists[step];
  free_lists[step] = freed;
}

int Object::to_int() noexcept {
  if (predefined_handle_) return int(predefined_handle_);
  if (integer_ == 0) {
    auto& objects = objects_by_int();
    std::size_t index = objects.size();
    if (free_places().empty()) {
      objects.push_back(nullptr);
    } else {
      index = free_places().back();
      free_places().pop_back();
    }
    objects[index] = this;
    integer_ = int(index + kPredefinedHandles);
  }
  return integer_;
}

Object* Object::from_int(int value) noexcept {
  if (value < 0) return nullptr;
  if (std::uintptr_t(value) < kPredefinedHandles) return predefined_objects[value];
  const std::size_t index = std::size_t(value) - kPredefinedHandles;
  return index < objects_by_int().size() ? objects_by_int()[index] : nullptr;
}

void make_predefined(Object& object, std::uintptr_t handle) noexcept {
  DUNLIN_ASSERT(handle > 0 && handle < kPredefinedHandles);
  object.predefined_handle_ = std::uint32_t(handle);
  predefined_objects[handle] = &object;
}

void withdraw_predefined(Object& object) noexcept {
  if (object.predefined_handle_) predefined_objects[object.predefined_handle_] = nullptr;
  object.predefined_handle_ = 0;
}

}  // namespace dunlin
