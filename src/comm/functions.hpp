// The functions about groups, communicators and topologies (MPI 5.0, chapters 7 and 8).
//
// Called by the generated C bindings, which have checked handles, null pointers and negative counts.
// Conventions as in object/functions.hpp: a handle that goes in is a reference, an optional one a pointer;
// one that comes out is a `T**`, with nullptr for the null handle; `_free` gives up the program's reference.
// Outputs are set only on success.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/err.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "object/info.hpp"
#include "object/int_array.hpp"
#include "object/request.hpp"
#include "object/session.hpp"

namespace dunlin::comm {

// --- groups (7.3).  group_functions.cpp, group_sets.cpp
Err group_size(const Group& group, int* size) noexcept;
Err group_rank(const Group& group, int* rank) noexcept;
Err group_translate_ranks(const Group& group1, int n, const int* ranks1, const Group& group2,
                          int* ranks2) noexcept;
Err group_compare(const Group& group1, const Group& group2, int* result) noexcept;
Err group_union(const Group& group1, const Group& group2, Group** new_group) noexcept;
Err group_intersection(const Group& group1, const Group& group2, Group** new_group) noexcept;
Err group_difference(const Group& group1, const Group& group2, Group** new_group) noexcept;
Err group_incl(const Group& group, int n, const int* ranks, Group** new_group) noexcept;
Err group_excl(const Group& group, int n, const int* ranks, Group** new_group) noexcept;
/// A range is (first, last, stride).
Err group_range_incl(const Group& group, int n, const int (*ranges)[3], Group** new_group) noexcept;
Err group_range_excl(const Group& group, int n, const int (*ranges)[3], Group** new_group) noexcept;
Err group_free(Group& group) noexcept;

// --- inquiry about communicators (7.4.1, 7.6.2).  inquiry.cpp
Err comm_size(const Comm& comm, int* size) noexcept;
Err comm_rank(const Comm& comm, int* rank) noexcept;
Err comm_compare(const Comm& comm1, const Comm& comm2, int* result) noexcept;
Err comm_group(const Comm& comm, Group** group) noexcept;
Err comm_test_inter(const Comm& comm, int* flag) noexcept;
Err comm_remote_size(const Comm& comm, int* size) noexcept;
Err comm_remote_group(const Comm& comm, Group** group) noexcept;
/// nullptr: this job was started by a launcher, not by MPI_Comm_spawn.
Err comm_get_parent(Comm** parent) noexcept;

// --- new communicators (7.4.2).  dup.cpp, split.cpp, split_type.cpp, create_comm.cpp
Err comm_dup(Comm& comm, Comm** newcomm) noexcept;
Err comm_dup_with_info(Comm& comm, Info* info, Comm** newcomm) noexcept;
Err comm_idup(Comm& comm, Comm** newcomm, Request** request) noexcept;
Err comm_idup_with_info(Comm& comm, Info* info, Comm** newcomm, Request** request) noexcept;
Err comm_split(Comm& comm, int color, int key, Comm** newcomm) noexcept;
/// `info` may be written (MPI_COMM_TYPE_HW_UNGUIDED).
Err comm_split_type(Comm& comm, int split_type, int key, Info* info, Comm** newcomm) noexcept;
Err comm_create(Comm& comm, Group& group, Comm** newcomm) noexcept;
Err comm_create_group(Comm& comm, Group& group, int tag, Comm** newcomm) noexcept;
/// From a group alone; `stringtag` tells creations of the same members apart.  from_group.cpp
Err comm_create_from_group(Group& group, const char* stringtag, Info* info, Errhandler& errhandler,
                           Comm** newcomm) noexcept;
Err get_hw_resource_info(Info** info) noexcept;

// --- inter-communicators (7.6.2).  intercomm.cpp, from_group.cpp
/// `peer_comm` counts at the leader only; elsewhere it may be null.
Err intercomm_create(Comm& local_comm, int local_leader, Comm* peer_comm, int remote_leader, int tag,
                     Comm** newintercomm) noexcept;
Err intercomm_create_from_groups(Group& local_group, int local_leader, Group& remote_group, int remote_leader,
                                 const char* stringtag, Info* info, Errhandler& errhandler,
                                 Comm** newintercomm) noexcept;
Err intercomm_merge(Comm& intercomm, int high, Comm** newintracomm) noexcept;

// --- end and hints (7.4.3, 7.4.4, 11.10.4).  free.cpp, hints.cpp
Err comm_free(Comm& comm) noexcept;
Err comm_disconnect(Comm& comm) noexcept;
Err comm_set_info(Comm& comm, Info* info) noexcept;
Err comm_get_info(Comm& comm, Info** info_used) noexcept;

// --- process sets of sessions (11.3.2).  sessions.cpp
Err session_get_num_psets(Session& session, Info* info, int* npset_names) noexcept;
Err session_get_nth_pset(Session& session, Info* info, int n, int* pset_len, char* pset_name) noexcept;
Err session_get_pset_info(Session& session, const char* pset_name, Info** info) noexcept;
Err group_from_session_pset(Session& session, const char* pset_name, Group** newgroup) noexcept;

// --- process topologies (8.5).  topology.cpp, cart.cpp, dims.cpp, graph.cpp, dist_graph.cpp
Err topo_test(const Comm& comm, int* status) noexcept;
Err dims_create(int nnodes, int ndims, int* dims) noexcept;
Err cart_create(Comm& comm, int ndims, const int* dims, const int* periods, int reorder,
                Comm** newcomm) noexcept;
Err cart_map(const Comm& comm, int ndims, const int* dims, const int* periods, int* newrank) noexcept;
Err cart_sub(Comm& comm, const int* remain_dims, Comm** newcomm) noexcept;
Err cartdim_get(const Comm& comm, int* ndims) noexcept;
Err cart_get(const Comm& comm, int maxdims, int* dims, int* periods, int* coords) noexcept;
Err cart_rank(const Comm& comm, const int* coords, int* rank) noexcept;
Err cart_coords(const Comm& comm, int rank, int maxdims, int* coords) noexcept;
Err cart_shift(const Comm& comm, int direction, int disp, int* rank_source, int* rank_dest) noexcept;
Err graph_create(Comm& comm, int nnodes, const int* index, const int* edges, int reorder,
                 Comm** newcomm) noexcept;
Err graph_map(const Comm& comm, int nnodes, const int* index, const int* edges, int* newrank) noexcept;
Err graphdims_get(const Comm& comm, int* nnodes, int* nedges) noexcept;
Err graph_get(const Comm& comm, int maxindex, int maxedges, int* index, int* edges) noexcept;
Err graph_neighbors_count(const Comm& comm, int rank, int* nneighbors) noexcept;
Err graph_neighbors(const Comm& comm, int rank, int maxneighbors, int* neighbors) noexcept;
Err dist_graph_create_adjacent(Comm& comm, int indegree, const int* sources, const int* sourceweights,
                               int outdegree, const int* destinations, const int* destweights, Info* info,
                               int reorder, Comm** newcomm) noexcept;
Err dist_graph_create(Comm& comm, int n, const int* sources, const int* degrees, const int* destinations,
                      const int* weights, Info* info, int reorder, Comm** newcomm) noexcept;
Err dist_graph_neighbors_count(const Comm& comm, int* indegree, int* outdegree, int* weighted) noexcept;
Err dist_graph_neighbors(const Comm& comm, int maxindegree, int* sources, int* sourceweights,
                         int maxoutdegree, int* destinations, int* destweights) noexcept;

// --- neighborhood collectives (8.6 to 8.8); displacements of the w-forms are in bytes.  neighbor.cpp
Err neighbor_allgather(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, void* recvbuf,
                       std::int64_t recvcount, const Datatype& recvtype, Comm& comm) noexcept;
Err ineighbor_allgather(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, void* recvbuf,
                        std::int64_t recvcount, const Datatype& recvtype, Comm& comm,
                        Request** request) noexcept;
Err neighbor_allgather_init(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype,
                            void* recvbuf, std::int64_t recvcount, const Datatype& recvtype, Comm& comm,
                            Info* info, Request** request) noexcept;
Err neighbor_allgatherv(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, void* recvbuf,
                        IntArray recvcounts, IntArray displs, const Datatype& recvtype, Comm& comm) noexcept;
Err ineighbor_allgatherv(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, void* recvbuf,
                         IntArray recvcounts, IntArray displs, const Datatype& recvtype, Comm& comm,
                         Request** request) noexcept;
Err neighbor_allgatherv_init(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype,
                             void* recvbuf, IntArray recvcounts, IntArray displs, const Datatype& recvtype,
                             Comm& comm, Info* info, Request** request) noexcept;
Err neighbor_alltoall(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, void* recvbuf,
                      std::int64_t recvcount, const Datatype& recvtype, Comm& comm) noexcept;
Err ineighbor_alltoall(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, void* recvbuf,
                       std::int64_t recvcount, const Datatype& recvtype, Comm& comm,
                       Request** request) noexcept;
Err neighbor_alltoall_init(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype,
                           void* recvbuf, std::int64_t recvcount, const Datatype& recvtype, Comm& comm,
                           Info* info, Request** request) noexcept;
Err neighbor_alltoallv(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const Datatype& sendtype,
                       void* recvbuf, IntArray recvcounts, IntArray rdispls, const Datatype& recvtype,
                       Comm& comm) noexcept;
Err ineighbor_alltoallv(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const Datatype& sendtype,
                        void* recvbuf, IntArray recvcounts, IntArray rdispls, const Datatype& recvtype,
                        Comm& comm, Request** request) noexcept;
Err neighbor_alltoallv_init(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
                            const Datatype& sendtype, void* recvbuf, IntArray recvcounts, IntArray rdispls,
                            const Datatype& recvtype, Comm& comm, Info* info, Request** request) noexcept;
Err neighbor_alltoallw(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
                       const MPI_Datatype* sendtypes, void* recvbuf, IntArray recvcounts, IntArray rdispls,
                       const MPI_Datatype* recvtypes, Comm& comm) noexcept;
Err ineighbor_alltoallw(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
                        const MPI_Datatype* sendtypes, void* recvbuf, IntArray recvcounts, IntArray rdispls,
                        const MPI_Datatype* recvtypes, Comm& comm, Request** request) noexcept;
Err neighbor_alltoallw_init(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
                            const MPI_Datatype* sendtypes, void* recvbuf, IntArray recvcounts,
                            IntArray rdispls, const MPI_Datatype* recvtypes, Comm& comm, Info* info,
                            Request** request) noexcept;

}  // namespace dunlin::comm
