// MPI_Dims_create: factors as close to each other as they can be, largest first (MPI 5.0, 8.5.2).
//
// Of all ways to write n as a product of k factors in falling order this takes the one with the smallest
// difference of the first and the last (Traeff and Luebbe, "Specification Guideline Violations by
// MPI_Dims_create", EuroMPI 2015), among equals the one whose first factor is the smallest, and so on.
// Cost: a search over the divisors of n, of which a 32-bit number has at most 1536, cut by the best so far.
#include <algorithm>
#include <climits>
#include <cstdint>
#include <vector>

#include "comm/functions.hpp"

namespace dunlin::comm {
namespace {

std::vector<int> divisors(int n) noexcept {
  std::vector<int> found;
  for (int i = 1; std::int64_t(i) * i <= n; ++i)
    if (n % i == 0) {
      found.push_back(i);
      if (i != n / i) found.push_back(n / i);
    }
  std::sort(found.begin(), found.end());
  return found;
}

/// base to the power `exponent`, or a number above INT_MAX.
std::int64_t power(std::int64_t base, int exponent) noexcept {
  std::int64_t product = 1;
  for (int i = 0; i < exponent && product <= INT_MAX; ++i) product *= base;
  return product;
}

struct Search {
  const std::vector<int> candidates;  // rising
  std::vector<int> factors;           // the way under consideration
  std::vector<int> best;
  int best_difference = INT_MAX;

  void place(int n, std::size_t at) noexcept;
};

/// Tries all factors at position `at` and behind it, whose product is n, and keeps what is better than the
/// best.
void Search::place(int n, std::size_t at) noexcept {
  const int left = int(factors.size() - at);
  const int largest = at == 0 ? n : factors[at - 1];
  if (left == 1) {
    const int difference = at == 0 ? 0 : factors[0] - n;
    if (n > largest || difference >= best_difference) return;
    factors[at] = n;
    best = factors;
    best_difference = difference;
    return;
  }
  for (const int candidate : candidates) {
    const int first = at == 0 ? candidate : factors[0];
    const int smallest = std::max(1, first - best_difference + 1);  // a smaller factor is no improvement
    if (candidate > largest) return;
    if (candidate < smallest || n % candidate != 0 || power(candidate, left) < n) continue;
    if (power(smallest, left) > n) return;  // all that follow are too large together
    factors[at] = candidate;
    place(n / candidate, at + 1);
  }
}

}  // namespace

Err dims_create(int nnodes, int ndims, int* dims) noexcept {
  if (nnodes < 1) return fail(Err::dims, "nnodes is %d; give at least 1", nnodes);
  if (ndims < 0) return fail(Err::dims, "ndims is %d; give 0 or more", ndims);
  std::int64_t fixed = 1;
  std::size_t free = 0;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 0)
      return fail(Err::dims, "dims[%d] is %d; give 0 for a dimension that is to be chosen", i, dims[i]);
    if (dims[i] == 0) ++free;
    if (dims[i] > 0) fixed *= dims[i];
    if (fixed > nnodes) break;
  }
  if (nnodes % fixed != 0 || (free == 0 && fixed != nnodes && ndims > 0))
    return fail(Err::dims, "nnodes is %d, which is no multiple of the given dims (together %lld)", nnodes,
                static_cast<long long>(fixed));
  if (free == 0) return Err::ok;
  const int n = int(nnodes / fixed);
  constexpr std::size_t kFactorsMax = 31;  // no int has more prime factors: all others are 1
  Search search{divisors(n), std::vector<int>(std::min(free, kFactorsMax)), {}};
  search.place(n, 0);
  search.best.resize(free, 1);
  std::size_t next = 0;
  for (int i = 0; i < ndims; ++i)
    if (dims[i] == 0) dims[i] = search.best[next++];
  return Err::ok;
}

}  // namespace dunlin::comm
