// What several types share and the last one frees: layouts and signatures.
//
// Thread safety: a part is immutable once built; its reference count is used under base/big_lock.hpp, like
// those of all objects (object/object.hpp).
#pragma once

#include "object/object.hpp"

namespace dunlin::datatype {

template <class Part>
class SharedPart : public Pooled {
 public:
  void retain() const noexcept { ++references_; }
  void release() const noexcept {
    if (--references_ == 0) delete static_cast<const Part*>(this);
  }

 private:
  mutable int references_ = 1;
};

}  // namespace dunlin::datatype
