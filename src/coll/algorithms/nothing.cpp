// The collective that needs no messages: one rank, or no data.
#include "coll/algorithms/algorithms.hpp"

namespace dunlin::coll {

Task nothing(Cx) { co_return Err::ok; }

}  // namespace dunlin::coll
