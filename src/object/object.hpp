// What every MPI handle points to: kind, reference count, memory from pools that never shrink.
//
// A handle of the standard ABI is either a small integer (predefined objects, 1..4095) or the object's
// address.  Freed objects keep their memory in the pool with kind `none`, so that a stale handle is noticed
// instead of crashing. Used by every noun of the standard (MPI 5.0, 2.5.1 "Opaque Objects" and chapter 20).
//
// Thread safety: everything here, reference counts too, is used under base/big_lock.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.hpp"

namespace dunlin {

enum class Kind : std::uint32_t {
  none = 0,  // freed
  comm = 0x434f4d4d,
  group = 0x47525550,
  datatype = 0x54595045,
  op = 0x4f504552,
  request = 0x52455153,
  message = 0x4d455347,
  info = 0x494e464f,
  errhandler = 0x45525248,
  session = 0x53455353,
  win = 0x57494e57,
  file = 0x46494c45,
  keyval = 0x4b455956,
};

/// Memory of objects: free lists by size in steps of 64 bytes.  Requests come and go most; the largest are
/// those of collectives.
class ObjectPool {
 public:
  static void* take(std::size_t bytes) noexcept {
    const std::size_t step = (bytes + kStepBytes - 1) / kStepBytes;
    if (step >= kSteps || !free_[step]) [[unlikely]]
      return take_new(step);
    Free* const taken = free_[step];
    free_[step] = taken->next;
    return taken;
  }
  /// Whether `take` would find a freed one.
  static bool has(std::size_t bytes) noexcept {
    return free_[(bytes + kStepBytes - 1) / kStepBytes] != nullptr;
  }
  static void give_back(void* memory, std::size_t bytes) noexcept {
    const std::size_t step = (bytes + kStepBytes - 1) / kStepBytes;
    if (step >= kSteps) [[unlikely]]
      return give_back_large(memory);
    auto* const freed = static_cast<Free*>(memory);
    freed->kind = Kind::none;
    freed->next = free_[step];
    free_[step] = freed;
  }

 private:
  struct Free {
    void* vtable_place;  // left alone, as is the kind behind it: `kind()` of a stale handle must read `none`
    Kind kind;
    Free* next;
  };
  static constexpr std::size_t kStepBytes = 64;
  static constexpr std::size_t kSteps = 65;  // up to 4 KiB; larger ones come from the C library
  static constexpr std::size_t kBlockBytes =
      16 << 10;  // amortises the allocation; stays with the C library's heap
  static void* take_new(std::size_t step) noexcept;
  static void give_back_large(void* memory) noexcept;
  static inline Free* free_[kSteps] = {};
};

/// A class whose objects come and go with MPI's: their memory comes from the pools.
struct Pooled {
  [[gnu::returns_nonnull]] static void* operator new(std::size_t bytes) noexcept {
    return ObjectPool::take(bytes);
  }
  static void operator delete(void* memory, std::size_t bytes) noexcept {
    ObjectPool::give_back(memory, bytes);
  }
  static void* operator new(std::size_t, void* place) noexcept {
    return place;
  }  // predefined objects, static storage
  static void operator delete(void*, void*) noexcept {}
};

/// The same for the few elements of vectors that come and go with such objects.
template <class T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) noexcept {}
  T* allocate(std::size_t n) noexcept { return static_cast<T*>(ObjectPool::take(n * sizeof(T))); }
  void deallocate(T* memory, std::size_t n) noexcept { ObjectPool::give_back(memory, n * sizeof(T)); }
  bool operator==(const PoolAllocator&) const = default;
};
template <class T>
using PoolVector = std::vector<T, PoolAllocator<T>>;

class Object : public Pooled {
 public:
  explicit Object(Kind kind) noexcept : kind_(kind) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  Kind kind() const noexcept { return kind_; }

  void retain() noexcept { ++references_; }
  /// Gives up one reference; the last one destroys the object.  Predefined objects are never destroyed.
  void release() noexcept {
    if (--references_ == 0 && !predefined_handle_) delete this;
  }

  bool is_predefined() const noexcept { return predefined_handle_ != 0; }
  /// The value a program sees: the small integer of a predefined object, else the address.
  std::uintptr_t handle_value() const noexcept {
    return predefined_handle_ ? predefined_handle_ : reinterpret_cast<std::uintptr_t>(this);
  }

  /// The stable int of MPI_Xxx_toint: the handle itself for predefined objects, else an index from 4096 up.
  int to_int() noexcept;
  /// The object of that int, or nullptr.
  static Object* from_int(int value) noexcept;

 protected:
  virtual ~Object() {
    if (integer_ != 0) [[unlikely]]
      forget_int();
    // Volatile, so that the store is not dropped as dead: stale handles are recognised by it.
    *const_cast<volatile Kind*>(&kind_) = Kind::none;
  }

 private:
  void forget_int() noexcept;
  friend void make_predefined(Object& object, std::uintptr_t handle) noexcept;
  friend void withdraw_predefined(Object& object) noexcept;
  Kind kind_;
  int references_ = 1;
  std::uint32_t predefined_handle_ = 0;
  int integer_ = 0;  // 0: not asked for yet
};

inline constexpr std::uintptr_t kPredefinedHandles = 4096;
extern Object* predefined_objects[kPredefinedHandles];

/// Gives `object` the small-integer handle; from then on releasing its last reference does not destroy it.
void make_predefined(Object& object, std::uintptr_t handle) noexcept;
/// Takes the handle back (MPI_COMM_WORLD at finalize); an object without one is left alone.
void withdraw_predefined(Object& object) noexcept;

/// hot path: one compare, one load.  The object behind a handle, or nullptr when it is null, freed or of
/// another kind.
template <class T, class Handle>
inline T* from_handle(Handle handle) noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  const bool is_small = __builtin_expect(value < kPredefinedHandles, true);
  Object* object = is_small ? predefined_objects[value] : reinterpret_cast<Object*>(value);
  if (!object || object->kind() != T::kKind) [[unlikely]]
    return nullptr;
  return static_cast<T*>(object);
}

template <class Handle>
inline Handle to_handle(const Object& object) noexcept {
  return reinterpret_cast<Handle>(object.handle_value());
}

/// Holds one reference.
template <class T>
class Ref {
 public:
  Ref() = default;
  /// Takes over the reference the caller holds.
  static Ref adopt(T* object) noexcept {
    Ref r;
    r.object_ = object;
    return r;
  }
  /// Adds a reference.
  explicit Ref(T* object) noexcept : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref& other) noexcept : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  Ref& operator=(Ref other) noexcept {
    T* mine = object_;
    object_ = other.object_;
    other.object_ = mine;
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }
  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  /// Hands the reference to the caller.
  T* detach() noexcept {
    T* object = object_;
    object_ = nullptr;
    return object;
  }

 private:
  T* object_ = nullptr;
};

}  // namespace dunlin
