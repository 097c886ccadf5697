// Processors whose vectors cannot be stored byte by byte: records are copied run by run.
#include "datatype/kernels.hpp"

namespace dunlin::datatype {

bool try_copy_records(std::byte*, const std::byte*, std::int64_t, std::int64_t, const Layout&) noexcept {
  return false;
}

}  // namespace dunlin::datatype
