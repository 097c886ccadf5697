// MPI_Dims_create: factors as close to each other as they can be, largest first (MPI 5.0, 8.5.2).
//
// Of all ways to write n as a product of k factors in falling order this takes the one whose first factor is
// the smallest, and so on.  Cost: a search over the divisors of n, of which a 32-bit number has at most 1536.
#include <algorithm>
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

/// Whether `factors` numbers of at most `largest` can make `n` at all: a bound that cuts the search short.
bool can_reach(int n, int factors, int largest) noexcept {
  std::int64_t product = 1;
  for (int i = 0; i < factors && product < n; ++i) product *= largest;
  return product >= n;
}

/// Writes n as a product of factors <= largest in falling order.
bool try_factor(int n, int largest, const std::vector<int>& candidates, std::vector<int>& factors,
                std::size_t done) noexcept {
  const int left = int(factors.size() - done);
  if (left == 0) return n == 1;
  if (left == 1) {
    factors[done] = n;
    return n <= largest;
  }
  for (int candidate : candidates) {
    if (candidate > largest || candidate > n) return false;
    if (n % candidate != 0 || !can_reach(n, left, candidate)) continue;
    factors[done] = candidate;
    if (try_factor(n / candidate, candidate, candidates, factors, done + 1)) return true;
  }
  return false;
}

}  // namespace

Err dims_create(int nnodes, int ndims, int* dims) noexcept {
  if (nnodes < 1) return fail(Err::dims, "nnodes is %d; there is at least one process", nnodes);
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
  std::vector<int> factors(free);
  const bool found = try_factor(n, n, divisors(n), factors, 0);
  DUNLIN_ASSERT(found);
  std::size_t next = 0;
  for (int i = 0; i < ndims; ++i)
    if (dims[i] == 0) dims[i] = factors[next++];
  return Err::ok;
}

}  // namespace dunlin::comm
