#include "object/comm.hpp"

namespace dunlin {

Comm::~Comm() {
  if (buffer && free_buffer) free_buffer(buffer);
}

}  // namespace dunlin
