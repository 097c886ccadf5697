// How often in a row a blocking receive may look only at the ring of the rank that it names.
//
// A rank that receives from one that stays ahead finds every message at once.  Now and then it has to look
// at everything all the same: what others ask of it (data of its own sends, cancelling) comes by their rings,
// and what it has to push on waits for its polls.  Counted by protocol/ and progress/engine.hpp, which then
// polls.
// Thread safety: under base/big_lock.hpp.
#pragma once

#include <cstdint>

#include "base/assert.hpp"

namespace dunlin::protocol {

class NamedReceives {
 public:
  /// Whether everything has to be polled first.
  bool are_used_up() const noexcept { return left_ <= 0; }
  void use() noexcept { --left_; }
  /// hot path: both in two instructions; also counts what it refuses.
  bool try_use() noexcept { return --left_ >= 0; }
  /// Everything was polled, and nothing is left to push on: until then every receive polls.
  void renew() noexcept { left_ = kInARow; }

 private:
  // The one that polls costs 900 instructions more: 4 of each.
  static constexpr std::int64_t kInARow = 256;
  std::int64_t left_ = kInARow;
};

}  // namespace dunlin::protocol
