// The parts of arguments.hpp that are not on the hot path.
#include "bindings/fortran/arguments.hpp"

#include "bindings/fortran/attribute_values.hpp"

namespace dunlin::fortran {

void* meaning_of(const void* special_address) noexcept {
  const SpecialAddresses& special = mpi_fortran_special_;
  if (special_address == &special.in_place) return MPI_IN_PLACE;
  if (special_address == &special.buffer_automatic) return MPI_BUFFER_AUTOMATIC;
  if (special_address == &special.unweighted) return MPI_UNWEIGHTED;
  if (special_address == &special.weights_empty) return MPI_WEIGHTS_EMPTY;
  return nullptr;  // MPI_BOTTOM, MPI_STATUS_IGNORE and all others
}

int blocks_received(const Fint* comm) noexcept {
  int is_inter = 0, size = 0;
  if (PMPI_Comm_test_inter(to_c<MPI_Comm>(comm), &is_inter) != MPI_SUCCESS) return 0;
  if (is_inter)
    PMPI_Comm_remote_size(to_c<MPI_Comm>(comm), &size);
  else
    PMPI_Comm_size(to_c<MPI_Comm>(comm), &size);
  return size;
}

int blocks_sent(const Fint* comm, const void* sendbuf) noexcept {
  return address(sendbuf) == MPI_IN_PLACE ? 0 : blocks_received(comm);
}

int blocks_reduced(const Fint* comm) noexcept {
  int size = 0;
  PMPI_Comm_size(to_c<MPI_Comm>(comm), &size);
  return size;
}

int blocks_at_root(const Fint* comm, const Fint* root) noexcept {
  int is_inter = 0, rank = MPI_PROC_NULL;
  if (PMPI_Comm_test_inter(to_c<MPI_Comm>(comm), &is_inter) != MPI_SUCCESS) return 0;
  if (is_inter) return *root == MPI_ROOT ? blocks_received(comm) : 0;
  PMPI_Comm_rank(to_c<MPI_Comm>(comm), &rank);
  return *root == rank ? blocks_received(comm) : 0;
}

int dimensions_of(const Fint* comm) noexcept {
  int kind = MPI_UNDEFINED, dimensions = 0;
  if (PMPI_Topo_test(to_c<MPI_Comm>(comm), &kind) != MPI_SUCCESS || kind != MPI_CART) return 0;
  PMPI_Cartdim_get(to_c<MPI_Comm>(comm), &dimensions);
  return dimensions;
}

std::int64_t edges_of(const Fint* index, std::int64_t nodes) noexcept {
  return nodes > 0 ? index[nodes - 1] : 0;
}

std::int64_t sum_of(const Fint* numbers, std::int64_t count) noexcept {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += numbers[i];
  return sum;
}

namespace {

/// Neighbors that send to this process, and those that it sends to (MPI 5.0, 8.6).
struct Neighbors {
  explicit Neighbors(const Fint* fortran_comm) noexcept {
    const auto comm = to_c<MPI_Comm>(fortran_comm);
    int kind = MPI_UNDEFINED, rank = 0, weighted = 0;
    if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS) return;
    if (kind == MPI_DIST_GRAPH) {
      PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    } else if (kind == MPI_CART) {
      PMPI_Cartdim_get(comm, &in);
      in = out = 2 * in;
    } else if (kind == MPI_GRAPH) {
      PMPI_Comm_rank(comm, &rank);
      PMPI_Graph_neighbors_count(comm, rank, &in);
      out = in;
    }
  }
  int in = 0, out = 0;
};

}  // namespace

int neighbor_blocks_received(const Fint* comm) noexcept { return Neighbors(comm).in; }
int neighbor_blocks_sent(const Fint* comm) noexcept { return Neighbors(comm).out; }

namespace {

std::size_t length_without_blanks(const char* text, std::size_t length) noexcept {
  while (length > 0 && text[length - 1] == ' ') --length;
  return length;
}

std::size_t leading_blanks(const char* text, std::size_t length) noexcept {
  std::size_t blanks = 0;
  while (blanks < length && text[blanks] == ' ') ++blanks;
  return blanks;
}

}  // namespace

Text::Text(const char* given, std::size_t length) noexcept : text_(std::int64_t(length) + 1) {
  length = length_without_blanks(given, length);
  std::memcpy(text_.data(), given, length);
  text_.data()[length] = 0;
}

Stripped::Stripped(const char* given, std::size_t length) noexcept
    : Text(given + leading_blanks(given, length), length - leading_blanks(given, length)) {}

void fill(char* place, std::size_t length, const char* text) noexcept {
  const std::size_t copied = strnlen(text, length);
  std::memcpy(place, text, copied);
  std::memset(place + copied, ' ', length - copied);
}

AttributeValue::~AttributeValue() {
  if (value_ == this) return;
  const bool is_user_made = keyval_ <= 0 || unsigned(keyval_) >= kPredefinedHandles;
  if (is_user_made)
    *place_ = value_of_attribute(value_);
  else if (keyval_ == MPI_WIN_BASE)
    *place_ = reinterpret_cast<MPI_Aint>(value_);
  else if (keyval_ == MPI_WIN_SIZE)
    *place_ = *static_cast<MPI_Aint*>(value_);
  else
    *place_ = *static_cast<int*>(value_);
}

}  // namespace dunlin::fortran
