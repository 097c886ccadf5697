// Arrays of a call's arguments: on the stack while they are short.  Used by bindings/fortran/arguments.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace dunlin::fortran {

template <class T, std::int64_t few = 64>
class Few {
 public:
  explicit Few(std::int64_t count) noexcept : count_(count) {
    if (count > few) [[unlikely]]
      data_ = allocate(count);
  }
  Few(const Few&) = delete;
  ~Few() {
    if (data_ != few_) std::free(data_);
  }
  T& operator[](std::int64_t i) noexcept { return data_[i]; }
  std::int64_t size() const noexcept { return count_; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }

 private:
  [[gnu::noinline]] static T* allocate(std::int64_t count) noexcept {
    void* const memory = std::malloc(std::size_t(count) * sizeof(T));
    if (!memory) {
      std::fprintf(stderr, "Dunlin: out of memory for %lld arguments of a Fortran call\n", (long long)count);
      std::abort();
    }
    return static_cast<T*>(memory);
  }
  const std::int64_t count_;
  T few_[few];
  T* data_ = few_;
};

}  // namespace dunlin::fortran
