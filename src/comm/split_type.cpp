// MPI_Comm_split_type: by what processes share (MPI 5.0, 7.4.2).  Known here: the memory of a node, and
// process sets.
#include <string>

#include "comm/create.hpp"
#include "comm/functions.hpp"
#include "comm/process.hpp"
#include "comm/split.hpp"

namespace dunlin::comm {
namespace {

constexpr const char* kSharedMemory = "mpi_shared_memory";
constexpr const char* kResourceKey = "mpi_hw_resource_type";
constexpr const char* kSetKey = "mpi_pset_name";

/// The same number for all processes of a node: its lowest world rank.
int color_of_node(const Comm& comm) noexcept { return comm.process->node_peers.front(); }

bool has_value(const Info* info, const char* key, const char* value) noexcept {
  const std::string* found = info ? info->find(key) : nullptr;
  return found && *found == value;
}

int color_of_resource(const Comm& comm, const Info* info) noexcept {
  return has_value(info, kResourceKey, kSharedMemory) ? color_of_node(comm) : MPI_UNDEFINED;
}

int color_of_set(const Comm& comm, const Info* info) noexcept {
  if (has_value(info, kSetKey, "mpi://SELF")) return comm.process->me;
  if (has_value(info, kSetKey, "mpi://WORLD")) return 0;
  return MPI_UNDEFINED;
}

/// The next level below `comm`: its nodes, or nothing when it lies on one node.
Err split_unguided(Comm& comm, int key, Info* info, Comm** newcomm) noexcept {
  Comm* made = nullptr;
  if (Err e = split(comm, color_of_node(comm), key, &made); e != Err::ok) return e;
  if (made && made->size == comm.size) {
    made->release();
    made = nullptr;
  }
  if (made && info) info->set(kResourceKey, kSharedMemory);
  *newcomm = made;
  return Err::ok;
}

Err split_by(int split_type, Comm& comm, int key, Info* info, Comm** newcomm) noexcept {
  switch (split_type) {
    case MPI_COMM_TYPE_SHARED: return split(comm, color_of_node(comm), key, newcomm);
    case MPI_COMM_TYPE_HW_UNGUIDED: return split_unguided(comm, key, info, newcomm);
    case MPI_COMM_TYPE_HW_GUIDED: return split(comm, color_of_resource(comm, info), key, newcomm);
    case MPI_COMM_TYPE_RESOURCE_GUIDED: {
      const bool names_set = info && info->find(kSetKey);
      return split(comm, names_set ? color_of_set(comm, info) : color_of_resource(comm, info), key, newcomm);
    }
    case MPI_UNDEFINED: return split(comm, MPI_UNDEFINED, key, newcomm);
    default:
      return fail(Err::arg, "split_type is %d; give one of MPI_COMM_TYPE_... or MPI_UNDEFINED", split_type);
  }
}

}  // namespace

Err comm_split_type(Comm& comm, int split_type, int key, Info* info, Comm** newcomm) noexcept {
  if (const Err e = split_by(split_type, comm, key, info, newcomm); e != Err::ok) return e;
  if (info && *newcomm) set_hints(**newcomm, *info);
  return Err::ok;
}

Err get_hw_resource_info(Info** info) noexcept {
  *info = new Info;
  (*info)->set(kSharedMemory, "true");  // every process uses the memory of one node only
  return Err::ok;
}

}  // namespace dunlin::comm
