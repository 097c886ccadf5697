// Whether one copy by the kernel (CMA, KNEM) is slower, between two ranks, than two through the channel.
//
// On many virtual machines system calls that copy are slow, on most others they win; it depends on nothing
// that could be asked for.  So the receiver takes the first messages of a pair alternately by both ways,
// keeps the better time of each, and from then on the faster way; collectives heed what it has found.  Used
// by rendezvous.cpp and coll/shared_work.cpp.  Thread safety: none; base/big_lock.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dunlin::protocol {

class KernelTrial {
 public:
  static constexpr int kTrials = 4;  // two a way: the first of each pays for pages touched first

  bool is_over() const noexcept { return trials_ >= kTrials; }
  /// While the trial goes on, the way that is tried next.
  bool is_kernel_slower() const noexcept {
    return is_over() ? is_found_slower() : trials_ % 2 == 1;
  }
  /// Both have been tried.
  bool is_found_slower() const noexcept {
    return is_over() && ns_per_byte_[channel] > 0 && ns_per_byte_[kernel] > ns_per_byte_[channel];
  }
  void took(bool is_kernel, std::size_t bytes, std::int64_t ns) noexcept {
    if (is_over() || bytes == 0) return;
    double& best = ns_per_byte_[is_kernel ? kernel : channel];
    const double found = double(ns) / double(bytes);
    best = best == 0 ? found : std::min(best, found);
    ++trials_;
  }

 private:
  enum { kernel, channel };
  int trials_ = 0;
  double ns_per_byte_[2] = {};  // 0: not tried yet
};

}  // namespace dunlin::protocol
