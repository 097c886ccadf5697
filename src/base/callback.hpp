// Functions of the program's that are called inside an MPI call and may call MPI: an attribute's, a
// generalized request's, a data representation's, an error handler.
//
// The call around them may hold no lock (base/big_lock.hpp) and goes on without one, so nothing that makes a
// lock necessary may begin meanwhile: progress/helper.cpp asks.  Thread safety: under base/big_lock.hpp.
#pragma once

namespace dunlin {

/// Lives while one of them runs.
class Callback {
 public:
  Callback() noexcept { ++under_way_; }
  ~Callback() { --under_way_; }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
  static bool is_under_way() noexcept { return under_way_ > 0; }

 private:
  static inline int under_way_ = 0;
};

}  // namespace dunlin
