// Neighborhood collectives (MPI 5.0, 8.6 to 8.8): every process exchanges blocks with its neighbors in the
// topology.
//
// One argument struct, run in one of three modes (coll/plan.hpp); how blocks travel:
// coll/algorithms/exchange_varied.cpp.
#include "coll/algorithms/algorithms.hpp"
#include "coll/plan.hpp"
#include "comm/functions.hpp"
#include "comm/topology.hpp"

namespace dunlin::comm {
namespace {

using coll::Blocks;

struct Exchange {
  const Neighborhood* who;  // lives as long as the communicator
  Blocks send, recv;
  static constexpr const char* kName = "neighborhood exchange";
  static constexpr Collective kCall = Collective::neighbor;
  coll::Task start(coll::Cx cx) const noexcept {
    const coll::Ends to{who->destinations.data(), int(who->destinations.size())};
    const int* const order = who->arrivals.empty() ? nullptr : who->arrivals.data();
    return exchange_varied(cx, to, send, {who->sources.data(), int(who->sources.size()), order}, recv);
  }
  bool has_arrays() const noexcept { return !send.is_equal() || !recv.is_equal(); }
  void own_arrays(coll::OwnArrays& arrays, const coll::Cx&) noexcept {
    send.own(arrays, int(who->destinations.size()));
    recv.own(arrays, int(who->sources.size()));
  }
  coll::Held held() const noexcept {
    return {{send.type, recv.type},
            {send.types, recv.types},
            {int(who->destinations.size()), int(who->sources.size())}};
  }
};

enum class Mode { blocking, nonblocking, persistent };

Err call(Mode mode, Comm& comm, const Blocks& send, const Blocks& recv, Request** request) noexcept {
  if (!comm.topology) return fail(Err::topology, "comm has no topology; neighborhood collectives need one");
  const Exchange exchange{&comm.topology->mine, send, recv};
  switch (mode) {
    case Mode::blocking:
      return coll::run(coll::everywhere(comm), exchange);
    case Mode::nonblocking:
      return coll::begin_call(comm, exchange, request);
    case Mode::persistent:
      return coll::prepare(coll::everywhere(comm), exchange, request);
  }
  return Err::intern;
}

/// The same block for all neighbors.
Blocks same(const void* buffer, std::int64_t count, const Datatype& type) noexcept {
  return Blocks::same({coll::offset(buffer, 0), count, &type});
}

}  // namespace

Err neighbor_allgather(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, void* recvbuf,
                       std::int64_t recvcount, const Datatype& recvtype, Comm& comm) noexcept {
  return call(Mode::blocking, comm, same(sendbuf, sendcount, sendtype),
              Blocks::equal(recvbuf, recvcount, &recvtype), nullptr);
}
Err ineighbor_allgather(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, void* recvbuf,
                        std::int64_t recvcount, const Datatype& recvtype, Comm& comm,
                        Request** request) noexcept {
  return call(Mode::nonblocking, comm, same(sendbuf, sendcount, sendtype),
              Blocks::equal(recvbuf, recvcount, &recvtype), request);
}
Err neighbor_allgather_init(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype,
                            void* recvbuf, std::int64_t recvcount, const Datatype& recvtype, Comm& comm,
                            Info* info, Request** request) noexcept {
  return call(Mode::persistent, comm, same(sendbuf, sendcount, sendtype),
              Blocks::equal(recvbuf, recvcount, &recvtype), request);
}

Err neighbor_allgatherv(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, void* recvbuf,
                        IntArray recvcounts, IntArray displs, const Datatype& recvtype, Comm& comm) noexcept {
  return call(Mode::blocking, comm, same(sendbuf, sendcount, sendtype),
              Blocks::varied(recvbuf, recvcounts, displs, &recvtype), nullptr);
}
Err ineighbor_allgatherv(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, void* recvbuf,
                         IntArray recvcounts, IntArray displs, const Datatype& recvtype, Comm& comm,
                         Request** request) noexcept {
  return call(Mode::nonblocking, comm, same(sendbuf, sendcount, sendtype),
              Blocks::varied(recvbuf, recvcounts, displs, &recvtype), request);
}
Err neighbor_allgatherv_init(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype,
                             void* recvbuf, IntArray recvcounts, IntArray displs, const Datatype& recvtype,
                             Comm& comm, Info* info, Request** request) noexcept {
  return call(Mode::persistent, comm, same(sendbuf, sendcount, sendtype),
              Blocks::varied(recvbuf, recvcounts, displs, &recvtype), request);
}

Err neighbor_alltoall(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, void* recvbuf,
                      std::int64_t recvcount, const Datatype& recvtype, Comm& comm) noexcept {
  return call(Mode::blocking, comm, Blocks::equal(sendbuf, sendcount, &sendtype),
              Blocks::equal(recvbuf, recvcount, &recvtype), nullptr);
}
Err ineighbor_alltoall(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, void* recvbuf,
                       std::int64_t recvcount, const Datatype& recvtype, Comm& comm,
                       Request** request) noexcept {
  return call(Mode::nonblocking, comm, Blocks::equal(sendbuf, sendcount, &sendtype),
              Blocks::equal(recvbuf, recvcount, &recvtype), request);
}
Err neighbor_alltoall_init(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype,
                           void* recvbuf, std::int64_t recvcount, const Datatype& recvtype, Comm& comm,
                           Info* info, Request** request) noexcept {
  return call(Mode::persistent, comm, Blocks::equal(sendbuf, sendcount, &sendtype),
              Blocks::equal(recvbuf, recvcount, &recvtype), request);
}

Err neighbor_alltoallv(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const Datatype& sendtype,
                       void* recvbuf, IntArray recvcounts, IntArray rdispls, const Datatype& recvtype,
                       Comm& comm) noexcept {
  return call(Mode::blocking, comm, Blocks::varied(sendbuf, sendcounts, sdispls, &sendtype),
              Blocks::varied(recvbuf, recvcounts, rdispls, &recvtype), nullptr);
}
Err ineighbor_alltoallv(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const Datatype& sendtype,
                        void* recvbuf, IntArray recvcounts, IntArray rdispls, const Datatype& recvtype,
                        Comm& comm, Request** request) noexcept {
  return call(Mode::nonblocking, comm, Blocks::varied(sendbuf, sendcounts, sdispls, &sendtype),
              Blocks::varied(recvbuf, recvcounts, rdispls, &recvtype), request);
}
Err neighbor_alltoallv_init(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
                            const Datatype& sendtype, void* recvbuf, IntArray recvcounts, IntArray rdispls,
                            const Datatype& recvtype, Comm& comm, Info* info, Request** request) noexcept {
  return call(Mode::persistent, comm, Blocks::varied(sendbuf, sendcounts, sdispls, &sendtype),
              Blocks::varied(recvbuf, recvcounts, rdispls, &recvtype), request);
}

Err neighbor_alltoallw(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
                       const MPI_Datatype* sendtypes, void* recvbuf, IntArray recvcounts, IntArray rdispls,
                       const MPI_Datatype* recvtypes, Comm& comm) noexcept {
  return call(Mode::blocking, comm, Blocks::mixed(sendbuf, sendcounts, sdispls, sendtypes),
              Blocks::mixed(recvbuf, recvcounts, rdispls, recvtypes), nullptr);
}
Err ineighbor_alltoallw(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
                        const MPI_Datatype* sendtypes, void* recvbuf, IntArray recvcounts, IntArray rdispls,
                        const MPI_Datatype* recvtypes, Comm& comm, Request** request) noexcept {
  return call(Mode::nonblocking, comm, Blocks::mixed(sendbuf, sendcounts, sdispls, sendtypes),
              Blocks::mixed(recvbuf, recvcounts, rdispls, recvtypes), request);
}
Err neighbor_alltoallw_init(const void* sendbuf, IntArray sendcounts, IntArray sdispls,
                            const MPI_Datatype* sendtypes, void* recvbuf, IntArray recvcounts,
                            IntArray rdispls, const MPI_Datatype* recvtypes, Comm& comm, Info* info,
                            Request** request) noexcept {
  return call(Mode::persistent, comm, Blocks::mixed(sendbuf, sendcounts, sdispls, sendtypes),
              Blocks::mixed(recvbuf, recvcounts, rdispls, recvtypes), request);
}

}  // namespace dunlin::comm
