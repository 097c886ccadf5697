// See distance.hpp.
#include "transport/shm/distance.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/variable.hpp"
#include "os/cpu.hpp"

namespace dunlin::transport::shm {
namespace {

WordVariable distance{
    "DISTANCE", "auto", "auto|measured|near|far",
    "whether the ranks of a node share caches (near) or not; measured: between each two; auto: measured on "
    "processors of AMD, near on others"};

}  // namespace

Distance::Distance() noexcept {
  const char* const word = distance.get();
  if (std::strcmp(word, "measured") == 0) return;
  if (std::strcmp(word, "auto") == 0 && os::stores_slowly_to_owned_lines()) return;
  set(std::strcmp(word, "far") == 0);
}

std::uint64_t Distance::now() noexcept { return os::cycles(); }

void Distance::compare(std::uint64_t of_peer) noexcept {
  constexpr std::size_t kLineBytes = 128;  // two lines: processors fetch the neighbour of one by the way
  alignas(kLineBytes) volatile std::uint64_t own[kLineBytes / sizeof(std::uint64_t)];
  own[0] = of_peer;
  os::flush_line(const_cast<const std::uint64_t*>(own));
  const std::uint64_t start = now();
  static_cast<void>(own[0]);
  const std::uint64_t of_memory = now() - start;
  const bool is_as_slow = of_peer * 4 > of_memory * 3;
  votes_ = std::clamp(votes_ + (is_as_slow ? 1 : -1), -kSure, kSure);
  looks_left_out_ = votes_ == kSure || votes_ == -kSure ? kLooksLeftOut : 0;
}

}  // namespace dunlin::transport::shm
