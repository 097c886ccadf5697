#include "bindings/c/blocks.hpp"

#include <cstdio>

#include "comm/topology.hpp"

namespace dunlin::bindings {
namespace {

/// "recvcounts[3]".
struct Element {
  char name[40];
  Element(const char* array, int index) noexcept { std::snprintf(name, sizeof name, "%s[%d]", array, index); }
};

int check_type(Comm* comm, const BlockArguments& a, int index, const char* call) noexcept {
  const auto* const type = from_handle<Datatype>(a.types[index]);
  if (!type) return bad_handle(comm, Err::type, a.types[index], Element(a.types_name, index).name, call);
  return type->is_committed() ? MPI_SUCCESS : uncommitted(comm, Element(a.types_name, index).name, call);
}

/// With datatypes of their own, blocks elsewhere than at 0 may have absolute addresses.
bool needs_buffer(const BlockArguments& a, int index) noexcept {
  if (a.counts[index] == 0) return false;
  if (!a.types_name) return a.type->is_predefined();
  return a.displs[index] == 0 && from_handle<Datatype>(a.types[index])->is_predefined();
}

}  // namespace

int check_blocks(Comm* comm, const BlockArguments& a, const char* call) noexcept {
  if (!kChecked || a.blocks == 0) return MPI_SUCCESS;
  if (!a.counts.data) return bad_pointer(comm, a.counts_name, call);
  if (a.displs_name && !a.displs.data) return bad_pointer(comm, a.displs_name, call);
  if (a.types_name && !a.types) return bad_pointer(comm, a.types_name, call);
  if (a.buffer == MPI_IN_PLACE) return bad_in_place(comm, a.buffer_name, call);
  for (int i = 0; i < a.blocks; ++i) {
    if (a.counts[i] < 0) return bad_count(comm, a.counts[i], Element(a.counts_name, i).name, call);
    if (a.types_name)
      if (const int code = check_type(comm, a, i, call); code != MPI_SUCCESS) return code;
    if (!a.buffer && needs_buffer(a, i)) return bad_buffer(comm, a.buffer, a.buffer_name, call);
  }
  return MPI_SUCCESS;
}

int source_count(const Comm& comm) noexcept {
  return comm.topology ? int(comm.topology->mine.sources.size()) : 0;
}

int destination_count(const Comm& comm) noexcept {
  return comm.topology ? int(comm.topology->mine.destinations.size()) : 0;
}

}  // namespace dunlin::bindings
