#include "object/comm.hpp"

namespace dunlin {

Comm::~Comm() {
  DUNLIN_ASSERT(attributes.is_empty());  // MPI_Comm_free has run their callbacks
  if (buffer) free_buffer(buffer);
}

}  // namespace dunlin
