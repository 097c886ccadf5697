#include "object/object.hpp"

#include <cstdlib>
#include <vector>

#include "base/log.hpp"

namespace dunlin {

Object* predefined_objects[kPredefinedHandles];

namespace {

std::vector<Object*>& objects_by_int() {
  static auto& objects =
      *new std::vector<Object*>;  // never destroyed: objects are freed until the end of the process
  return objects;
}
std::vector<std::size_t>& free_places() {  // of objects_by_int
  static auto& places = *new std::vector<std::size_t>;
  return places;
}

}  // namespace

void* ObjectPool::take_new(std::size_t step) noexcept {
  const std::size_t bytes = step * kStepBytes;
  const std::size_t objects = step < kSteps ? kBlockBytes / bytes : 1;
  auto* const block = static_cast<std::byte*>(std::aligned_alloc(kStepBytes, bytes * objects));
  if (!block) log::die("out of memory for an object of %zu bytes", bytes);
  for (std::size_t i = objects; i-- > 1;) give_back(block + i * bytes, bytes);
  return block;
}

void ObjectPool::give_back_large(void* memory) noexcept { std::free(memory); }

void Object::forget_int() noexcept {
  const std::size_t place = std::size_t(integer_) - kPredefinedHandles;
  objects_by_int()[place] = nullptr;
  free_places().push_back(place);
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
