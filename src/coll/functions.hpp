// The functions of the standard's chapter "Collective Communication" (MPI 5.0, chapter 6), one for each MPI
// call and its `_c` form, each in three modes: blocking, nonblocking (i...) and persistent (..._init).
//
// Called by the generated C bindings, which have checked handles, ranks, counts and buffers.  Conventions:
// handles that go in are references; datatypes that are insignificant at some ranks (at all but the root,
// with MPI_IN_PLACE) are pointers, null exactly where the handle was not significant and not valid; arrays of
// datatypes stay the program's array of handles. `root` is a rank, or MPI_ROOT / MPI_PROC_NULL on an
// inter-communicator.  Outputs are set only on success.
//
// A nonblocking or persistent operation holds references to communicator, datatypes and operator until its
// request is gone, and copies of arrays of counts, displacements and datatypes; buffers stay with the
// program. `info` may be null; no key is defined yet.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/err.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "object/info.hpp"
#include "object/int_array.hpp"
#include "object/request.hpp"
#include "op/op.hpp"

namespace dunlin::coll {

Err barrier(Comm& comm) noexcept;
Err ibarrier(Comm& comm, Request** request) noexcept;
/// The same for who polls until it is complete: no helper thread is made for it (progress/helper.hpp).
Err ibarrier_attended(Comm& comm, Request** request) noexcept;
Err barrier_init(Comm& comm, Info* info, Request** request) noexcept;

Err bcast(void* buffer, std::int64_t count, const Datatype& type, int root, Comm& comm) noexcept;
Err ibcast(void* buffer, std::int64_t count, const Datatype& type, int root, Comm& comm,
           Request** request) noexcept;
Err bcast_init(void* buffer, std::int64_t count, const Datatype& type, int root, Comm& comm, Info* info,
               Request** request) noexcept;

Err gather(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
           std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm) noexcept;
Err igather(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
            std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
            Request** request) noexcept;
Err gather_init(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm, Info* info,
                Request** request) noexcept;

Err gatherv(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
            IntArray recvcounts, IntArray displs, const Datatype* recvtype, int root, Comm& comm) noexcept;
Err igatherv(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
             IntArray recvcounts, IntArray displs, const Datatype* recvtype, int root, Comm& comm,
             Request** request) noexcept;
Err gatherv_init(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                 IntArray recvcounts, IntArray displs, const Datatype* recvtype, int root, Comm& comm,
                 Info* info, Request** request) noexcept;

Err scatter(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
            std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm) noexcept;
Err iscatter(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
             std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
             Request** request) noexcept;
Err scatter_init(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                 std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm, Info* info,
                 Request** request) noexcept;

Err scatterv(const void* sendbuf, IntArray sendcounts, IntArray displs, const Datatype* sendtype,
             void* recvbuf, std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm) noexcept;
Err iscatterv(const void* sendbuf, IntArray sendcounts, IntArray displs, const Datatype* sendtype,
              void* recvbuf, std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
              Request** request) noexcept;
Err scatterv_init(const void* sendbuf, IntArray sendcounts, IntArray displs, const Datatype* sendtype,
                  void* recvbuf, std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
                  Info* info, Request** request) noexcept;

Err allgather(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
              std::int64_t recvcount, const Datatype& recvtype, Comm& comm) noexcept;
Err iallgather(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
               std::int64_t recvcount, const Datatype& recvtype, Comm& comm, Request** request) noexcept;
Err allgather_init(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                   std::int64_t recvcount, const Datatype& recvtype, Comm& comm, Info* info,
                   Request** request) noexcept;

Err allgatherv(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
               IntArray recvcounts, IntArray displs, const Datatype& recvtype, Comm& comm) noexcept;
Err iallgatherv(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                IntArray recvcounts, IntArray displs, const Datatype& recvtype, Comm& comm,
                Request** request) noexcept;
Err allgatherv_init(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                    IntArray recvcounts, IntArray displs, const Datatype& recvtype, Comm& comm, Info* info,
                    Request** request) noexcept;

Err alltoall(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
             std::int64_t recvcount, const Datatype& recvtype, Comm& comm) noexcept;
Err ialltoall(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
              std::int64_t recvcount, const Datatype& recvtype, Comm& comm, Request** request) noexcept;
Err alltoall_init(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                  std::int64_t recvcount, const Datatype& recvtype, Comm& comm, Info* info,
                  Request** request) noexcept;

Err alltoallv(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const Datatype* sendtype,
              void* recvbuf, IntArray recvcounts, IntArray rdispls, const Datatype& recvtype,
              Comm& comm) noexcept;
Err ialltoallv(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const Datatype* sendtype,
               void* recvbuf, IntArray recvcounts, IntArray rdispls, const Datatype& recvtype, Comm& comm,
               Request** request) noexcept;
Err alltoallv_init(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const Datatype* sendtype,
                   void* recvbuf, IntArray recvcounts, IntArray rdispls, const Datatype& recvtype, Comm& comm,
                   Info* info, Request** request) noexcept;

Err alltoallw(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const MPI_Datatype* sendtypes,
              void* recvbuf, IntArray recvcounts, IntArray rdispls, const MPI_Datatype* recvtypes,
              Comm& comm) noexcept;
Err ialltoallw(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const MPI_Datatype* sendtypes,
               void* recvbuf, IntArray recvcounts, IntArray rdispls, const MPI_Datatype* recvtypes,
               Comm& comm, Request** request) noexcept;
Err alltoallw_init(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const MPI_Datatype* sendtypes,
                   void* recvbuf, IntArray recvcounts, IntArray rdispls, const MPI_Datatype* recvtypes,
                   Comm& comm, Info* info, Request** request) noexcept;

Err reduce(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
           int root, Comm& comm) noexcept;
Err ireduce(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
            int root, Comm& comm, Request** request) noexcept;
Err reduce_init(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
                int root, Comm& comm, Info* info, Request** request) noexcept;

Err allreduce(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
              Comm& comm) noexcept;
Err iallreduce(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
               Comm& comm, Request** request) noexcept;
Err allreduce_init(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
                   Comm& comm, Info* info, Request** request) noexcept;

Err reduce_scatter_block(const void* sendbuf, void* recvbuf, std::int64_t recvcount, const Datatype& type,
                         const Op& op, Comm& comm) noexcept;
Err ireduce_scatter_block(const void* sendbuf, void* recvbuf, std::int64_t recvcount, const Datatype& type,
                          const Op& op, Comm& comm, Request** request) noexcept;
Err reduce_scatter_block_init(const void* sendbuf, void* recvbuf, std::int64_t recvcount,
                              const Datatype& type, const Op& op, Comm& comm, Info* info,
                              Request** request) noexcept;

Err reduce_scatter(const void* sendbuf, void* recvbuf, IntArray recvcounts, const Datatype& type,
                   const Op& op, Comm& comm) noexcept;
Err ireduce_scatter(const void* sendbuf, void* recvbuf, IntArray recvcounts, const Datatype& type,
                    const Op& op, Comm& comm, Request** request) noexcept;
Err reduce_scatter_init(const void* sendbuf, void* recvbuf, IntArray recvcounts, const Datatype& type,
                        const Op& op, Comm& comm, Info* info, Request** request) noexcept;

Err scan(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
         Comm& comm) noexcept;
Err iscan(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
          Comm& comm, Request** request) noexcept;
Err scan_init(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
              Comm& comm, Info* info, Request** request) noexcept;

Err exscan(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
           Comm& comm) noexcept;
Err iexscan(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
            Comm& comm, Request** request) noexcept;
Err exscan_init(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
                Comm& comm, Info* info, Request** request) noexcept;

}  // namespace dunlin::coll
