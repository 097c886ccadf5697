// Which of two ways is faster for a large message in memory that cannot be mapped: one copy by the kernel
// (CMA, KNEM), or two through the channel, by two processors.
//
// That depends on the machine (on many virtual ones system calls that copy are slow: 1 MiB 67 against 32 us
// half round trip, 2 distant CPUs of an AMD Zen 5; on most others they win) and on what the sender does
// meanwhile, who has to help with the channel only.  So the receiver times both, for each class of sizes, and
// tries the slower one again now and then.  Used by offer.cpp and control.cpp.  Thread safety: none;
// base/big_lock.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dunlin::protocol {

class CopyContest {
 public:
  enum Way : std::uint8_t { kernel, channel };

  /// The way to take now.
  Way next(std::uint64_t bytes) noexcept {
    Class& each = class_of(bytes);
    const Way better = each.ns_per_byte[kernel] <= each.ns_per_byte[channel] ? kernel : channel;
    if (++each.uses % kUsesPerRetry != 0) return better;
    return better == kernel ? channel : kernel;
  }
  void took(Way way, std::uint64_t bytes, std::int64_t ns) noexcept {
    double& known = class_of(bytes).ns_per_byte[way];
    const double found = double(ns) / double(bytes);
    known = known == 0 ? found : known + (found - known) / 4;
  }

  static constexpr std::uint32_t kUsesPerRetry = 32;

 private:
  struct Class {
    std::uint32_t uses = 0;
    double ns_per_byte[2] = {};  // 0: not tried yet, which comes first
  };
  Class& class_of(std::uint64_t bytes) noexcept {
    std::size_t place = 0;
    for (std::uint64_t limit = 256 << 10; place + 1 < kClasses && bytes >= limit; limit *= 4) ++place;
    return classes_[place];
  }

  static constexpr std::size_t kClasses = 4;  // up to 256 KiB, 1 MiB, 4 MiB, more
  Class classes_[kClasses];
};

}  // namespace dunlin::protocol
