#include "object/session.hpp"

namespace dunlin {

Session::~Session() = default;

}  // namespace dunlin
