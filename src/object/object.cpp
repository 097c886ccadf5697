#include "object/object.hpp"

#include <atomic>
#include <cstdlib>

#include "base/log.hpp"
#include "base/pointer_table.hpp"

namespace dunlin {

Object* predefined_objects[kPredefinedHandles];

namespace {

// Of the handles that Fortran sees at one time.
constexpr std::uint32_t kIntegers = 1 << 22;
constinit PointerTable<kIntegers> objects_by_int;

/// Threads may ask for the integer of one object at the same time.  Relaxed: what the integer stands for is
/// ordered by the table.
std::atomic_ref<int> shared(int& integer) noexcept { return std::atomic_ref<int>(integer); }

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

void Object::forget_int() noexcept { objects_by_int.remove(std::uint32_t(integer_) - kPredefinedHandles); }

int Object::to_int() noexcept {
  if (predefined_handle_) return int(predefined_handle_);
  int integer = shared(integer_).load(std::memory_order_relaxed);
  if (integer != 0) return integer;
  const std::uint32_t place = objects_by_int.put(this);
  if (place == kIntegers) log::die("more than %u MPI objects have a handle in Fortran", kIntegers);
  const int made = int(place + kPredefinedHandles);
  if (shared(integer_).compare_exchange_strong(integer, made, std::memory_order_relaxed)) return made;
  objects_by_int.remove(place);  // another thread was first
  return integer;
}

Object* Object::from_int(int value) noexcept {
  if (value < 0) return nullptr;
  if (std::uintptr_t(value) < kPredefinedHandles) return predefined_objects[value];
  return static_cast<Object*>(objects_by_int.get(std::uint32_t(value) - kPredefinedHandles));
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
