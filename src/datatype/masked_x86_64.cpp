// hot path: records copied 64 bytes at a time, of which a mask of AVX-512 stores only those that the runs
// cover (kernels.hpp, `try_copy_records`).  The masks repeat after as many vectors as the stride needs to
// come back to the start of one.
//
// ns a record, 4096 records in the second-level cache, one run of all records after the other and by masks,
// one VCPU of an Intel Sapphire Rapids: {int, double, char[3]} 2.2 and .9, two doubles of four 1.6 and 1.3,
// of eight 2.7 and 2.4, of sixteen 3.3 and 2.7; 200 records lose by it.  Between two processes on AMD Zen 5
// the first took 2.4 times less.  Where each record is a single run masks gain nothing.
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "base/assert.hpp"
#include "datatype/kernels.hpp"

namespace dunlin::datatype {

namespace {

constexpr std::int64_t kVectorBytes = 64;
constexpr std::int64_t kVectorsMax = 64;   // after which masks must repeat
constexpr std::int64_t kRecordsMin = 512;  // fewer are not worth making masks

/// Which bytes of the vectors of one period are stored.
class Masks {
 public:
  explicit Masks(std::int64_t vectors) noexcept : vectors_(vectors) {}

  std::int64_t vectors() const noexcept { return vectors_; }
  std::uint64_t operator[](std::int64_t vector) const noexcept { return mask_[vector]; }

  /// Adds the bytes [from, from + bytes), which continue at the start of the period.
  void add(std::int64_t from, std::int64_t bytes) noexcept {
    while (bytes > 0) {
      from %= vectors_ * kVectorBytes;
      const std::int64_t bit = from % kVectorBytes, n = std::min(bytes, kVectorBytes - bit);
      mask_[from / kVectorBytes] |= ~std::uint64_t{0} >> (kVectorBytes - n) << bit;
      from += n;
      bytes -= n;
    }
  }

 private:
  std::int64_t vectors_;
  std::uint64_t mask_[kVectorsMax] = {};
};

/// Vectors from `to` and `from` on; the first `skipped` bytes and those from `end` on are left alone.
[[gnu::target("avx512f,avx512bw")]] void copy_masked(std::byte* to, const std::byte* from,
                                                      const Masks& masks, std::int64_t skipped,
                                                      std::int64_t end) noexcept {
  const std::int64_t vectors = (end + kVectorBytes - 1) / kVectorBytes;
  const std::uint64_t last = ~std::uint64_t{0} >> (vectors * kVectorBytes - end);
  std::uint64_t kept = ~std::uint64_t{0} << skipped;
  std::int64_t in_period = 0;
  for (std::int64_t i = 0; i < vectors; ++i) {
    if (i == vectors - 1) kept &= last;
    const __mmask64 mask = masks[in_period] & kept;
    _mm512_mask_storeu_epi8(to, mask, _mm512_maskz_loadu_epi8(mask, from));
    kept = ~std::uint64_t{0};
    to += kVectorBytes;
    from += kVectorBytes;
    if (++in_period == masks.vectors()) in_period = 0;
  }
}

}  // namespace

bool try_copy_records(std::byte* to, const std::byte* from, std::int64_t n, std::int64_t stride,
                      const Layout& record) noexcept {
  DUNLIN_ASSERT(record.is_record());
  static const bool has_masks = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
  if (!has_masks || n < kRecordsMin || stride <= 0 || record.runs * kVectorBytes < stride) return false;
  const std::int64_t repeat = std::gcd(stride, kVectorBytes);  // records begin this far apart in a vector
  if (stride / repeat > kVectorsMax) return false;
  std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = -low;
  record.visit_record([&](const Block& run) {
    low = std::min(low, run.offset);
    high = std::max(high, run.offset + run.bytes);
    return true;
  });
  if (high - low > stride) return false;  // records lie within each other

  // Stores are aligned; the source's vectors lie at the same distance from its records.
  const auto first = reinterpret_cast<std::uintptr_t>(moved(to, low));
  const auto skipped = static_cast<std::int64_t>(first % kVectorBytes);
  Masks masks(stride / repeat);
  record.visit_record([&](const Block& run) {
    for (std::int64_t i = 0; i < kVectorBytes / repeat; ++i)
      masks.add(skipped + run.offset - low + i * stride, run.bytes);
    return true;
  });
  copy_masked(moved(to, low - skipped), moved(from, low - skipped), masks, skipped, skipped + n * stride);
  return true;
}

}  // namespace dunlin::datatype
