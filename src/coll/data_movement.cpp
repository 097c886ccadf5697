// Collectives that move data: barrier, bcast, gather, scatter, allgather, alltoall and their v- and w-forms.
//
// Each call is an argument struct, whose `start` chooses the algorithm, run in one of three modes
// (coll/plan.hpp). Called by the generated C bindings.
#include <cstring>

#include "coll/algorithms/algorithms.hpp"
#include "coll/functions.hpp"
#include "coll/plan.hpp"
#include "coll/select.hpp"

namespace dunlin::coll {
namespace {

struct Barrier {
  static constexpr const char* kName = "barrier";
  static constexpr Collective kCall = Collective::barrier;
  Task start(const Cx& cx) const noexcept {
    return cx.comm->is_inter() ? barrier_inter(cx) : start_barrier(cx);
  }
  Agreement agreement(const Cx&) const noexcept { return {}; }
  Held held() const noexcept { return {}; }
};

/// Of a rank that sends itself another length than it receives from itself: where all ranks give the same
/// wrong counts, no message shows it.  It takes part all the same, as others wait for it.
[[gnu::cold]] void note_own_lengths(const Cx& cx, std::size_t sent, std::size_t asked) noexcept {
  WaitReason where;
  cx.comm->explain(where);
  cx.run->note_wrong_length(
      fail(sent > asked ? Err::truncate : Err::count,
           "rank %d sends itself %zu bytes and is to receive %zu of them, in collective %d on %s: the counts "
           "are of one rank's data, also where data of all is received",
           cx.rank, sent, asked, (cx.tag & ~kPersistent) + 1, where.comm));
}

/// The same blocks without data: so whoever expects some has an error, too.
Blocks emptied(const Cx& cx, const Blocks& blocks) noexcept {
  if (blocks.is_equal()) return Blocks::equal(blocks.base, 0, blocks.type);
  const std::size_t bytes = std::size_t(cx.size) * sizeof(std::int64_t);
  std::byte* const zeros = cx.take(bytes);
  if (!zeros) return {};  // the run ends with that error
  std::memset(zeros, 0, bytes);
  return Blocks::varied(blocks.base, IntArray{zeros, true}, IntArray{zeros, true}, blocks.type);
}

struct Bcast {
  Block block;
  int root;
  static constexpr const char* kName = "broadcast";
  static constexpr Collective kCall = Collective::bcast;
  Task start(const Cx& cx) const noexcept {
    if (cx.comm->is_inter()) return bcast_inter(cx, block, root);
    if (cx.size == 1) return nothing(cx);
    if (is_nothing(cx, block.bytes())) return nothing(cx, root, cx.rank == root ? 0 : 1);
    return start_bcast(cx, block, root);
  }
  Agreement agreement(const Cx&) const noexcept { return Agreement::same(block); }
  Held held() const noexcept { return {{block.type}}; }
};

/// gather and gatherv.
struct Gather {
  Block mine;
  Blocks all;
  int root;
  bool in_place;
  bool is_varied;  // the v-form; elsewhere than at the root `all` does not tell
  static constexpr const char* kName = "gather";
  static constexpr Collective kCall = Collective::gather;
  Task start(const Cx& cx) const noexcept {
    if (cx.comm->is_inter()) return gather_inter(cx, mine, all, root);
    bool has_own = in_place;
    if (!in_place && cx.rank == root && mine.bytes() != all[root].bytes()) [[unlikely]] {
      note_own_lengths(cx, mine.bytes(), all[root].bytes());
      has_own = true;
    }
    if (is_varied) return start_gatherv(cx, mine, all, root, has_own);
    if (is_nothing(cx, has_own ? all[root].bytes() : mine.bytes()))
      return nothing(cx, 0, cx.rank == root ? cx.size : 0);
    return start_gather(cx, mine, all, root, has_own);
  }
  bool has_arrays() const noexcept { return is_varied; }
  void own_arrays(OwnArrays& arrays, const Cx& cx) noexcept {
    const bool is_root = cx.comm->is_inter() ? root == MPI_ROOT : root == cx.rank;
    if (is_root) all.own(arrays, cx.comm->target_size);
  }
  Agreement agreement(const Cx& cx) const noexcept {
    if (is_varied) return {};
    return Agreement::same(cx.rank == root ? all[root] : mine);
  }
  Held held() const noexcept { return {{mine.type, all.type}}; }
};

/// scatter and scatterv.
struct Scatter {
  Blocks all;
  Block mine;
  int root;
  bool in_place;
  bool is_varied;  // the v-form; elsewhere than at the root `all` does not tell
  static constexpr const char* kName = "scatter";
  static constexpr Collective kCall = Collective::scatter;
  Task start(const Cx& cx) const noexcept {
    if (cx.comm->is_inter()) return scatter_inter(cx, all, mine, root);
    bool has_own = in_place;
    if (!in_place && cx.rank == root && mine.bytes() != all[root].bytes()) [[unlikely]] {
      note_own_lengths(cx, all[root].bytes(), mine.bytes());
      has_own = true;
    }
    if (is_varied) return start_scatterv(cx, all, mine, root, has_own);
    if (is_nothing(cx, has_own ? all[root].bytes() : mine.bytes()))
      return nothing(cx, root, cx.rank == root ? 0 : 1);
    return start_scatter(cx, all, mine, root, has_own);
  }
  bool has_arrays() const noexcept { return is_varied; }
  void own_arrays(OwnArrays& arrays, const Cx& cx) noexcept {
    const bool is_root = cx.comm->is_inter() ? root == MPI_ROOT : root == cx.rank;
    if (is_root) all.own(arrays, cx.comm->target_size);
  }
  Agreement agreement(const Cx& cx) const noexcept {
    if (is_varied) return {};
    return Agreement::same(cx.rank == root ? all[root] : mine);
  }
  Held held() const noexcept { return {{mine.type, all.type}}; }
};

/// allgather and allgatherv.
struct Allgather {
  Block mine;
  Blocks all;
  bool in_place;
  static constexpr const char* kName = "allgather";
  static constexpr Collective kCall = Collective::allgather;
  Task start(const Cx& cx) const noexcept {
    if (cx.comm->is_inter()) return exchange_inter(cx, Blocks::same(mine), all);
    if (!in_place && mine.bytes() != all[cx.rank].bytes()) [[unlikely]] {
      note_own_lengths(cx, mine.bytes(), all[cx.rank].bytes());
      return Allgather{mine, emptied(cx, all), true}.start(cx);
    }
    if (!in_place) copy(mine, all[cx.rank]);
    if (cx.size == 1 || (all.is_equal() && is_nothing(cx, all[0].bytes()))) return nothing(cx);
    // The program's own copy: others read it faster than what this process has just written.
    return start_allgather(cx, in_place ? all[cx.rank] : mine, all);
  }
  bool has_arrays() const noexcept { return !all.is_equal(); }
  void own_arrays(OwnArrays& arrays, const Cx& cx) noexcept { all.own(arrays, cx.comm->target_size); }
  Agreement agreement(const Cx&) const noexcept {
    return all.is_equal() ? Agreement::same(all[0]) : Agreement{};
  }
  Held held() const noexcept { return {{mine.type, all.type}}; }
};

/// alltoall, alltoallv and alltoallw.
struct Alltoall {
  Blocks send;
  Blocks recv;
  bool in_place;
  int ranks;  // that data is exchanged with
  static constexpr const char* kName = "all-to-all";
  static constexpr Collective kCall = Collective::alltoall;
  Task start(const Cx& cx) const noexcept {
    if (cx.comm->is_inter()) return exchange_inter(cx, send, recv);
    if (!in_place && send[cx.rank].bytes() != recv[cx.rank].bytes()) [[unlikely]] {
      note_own_lengths(cx, send[cx.rank].bytes(), recv[cx.rank].bytes());
      if (recv.is_equal()) return Alltoall{emptied(cx, send), emptied(cx, recv), false, ranks}.start(cx);
    }
    if (!recv.is_equal()) return start_alltoallv(cx, in_place ? recv : send, recv, in_place);
    if (is_nothing(cx, recv[0].bytes())) return nothing(cx);
    return start_alltoall(cx, in_place ? recv : send, recv, in_place);
  }
  bool has_arrays() const noexcept { return !recv.is_equal(); }
  void own_arrays(OwnArrays& arrays, const Cx& cx) noexcept {
    if (!in_place) send.own(arrays, cx.comm->target_size);
    recv.own(arrays, cx.comm->target_size);
  }
  Agreement agreement(const Cx&) const noexcept {
    return recv.is_equal() ? Agreement::same(recv[0]) : Agreement{};
  }
  Held held() const noexcept { return {{send.type, recv.type}, {send.types, recv.types}, {ranks, ranks}}; }
};

Block block_of(const void* buffer, std::int64_t count, const Datatype* type) noexcept {
  return {offset(buffer, 0), count, type};
}

Alltoall mixed(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const MPI_Datatype* sendtypes,
               void* recvbuf, IntArray recvcounts, IntArray rdispls, const MPI_Datatype* recvtypes,
               const Comm& comm) noexcept {
  const bool in_place = is_in_place(sendbuf);
  return {Blocks::mixed(sendbuf, sendcounts, sdispls, in_place ? nullptr : sendtypes),
          Blocks::mixed(recvbuf, recvcounts, rdispls, recvtypes), in_place, comm.target_size};
}

}  // namespace

Err barrier(Comm& comm) noexcept { return run(everywhere(comm), Barrier{}); }
Err ibarrier(Comm& comm, Request** request) noexcept { return begin_call(comm, Barrier{}, request); }
Err ibarrier_attended(Comm& comm, Request** request) noexcept {
  return begin_lightly(everywhere(comm), Barrier{}, request);
}
Err barrier_init(Comm& comm, Info* info, Request** request) noexcept {
  return prepare(everywhere(comm), Barrier{}, request);
}

Err bcast(void* buffer, std::int64_t count, const Datatype& type, int root, Comm& comm) noexcept {
  return run(everywhere(comm), Bcast{block_of(buffer, count, &type), root});
}
Err ibcast(void* buffer, std::int64_t count, const Datatype& type, int root, Comm& comm,
           Request** request) noexcept {
  return begin_call(comm, Bcast{block_of(buffer, count, &type), root}, request);
}
Err bcast_init(void* buffer, std::int64_t count, const Datatype& type, int root, Comm& comm, Info* info,
               Request** request) noexcept {
  return prepare(everywhere(comm), Bcast{block_of(buffer, count, &type), root}, request);
}

Err gather(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
           std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm) noexcept {
  return run(everywhere(comm),
             Gather{block_of(sendbuf, sendcount, sendtype), Blocks::equal(recvbuf, recvcount, recvtype), root,
                    is_in_place(sendbuf), false});
}
Err igather(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
            std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
            Request** request) noexcept {
  return begin_call(comm,
                    Gather{block_of(sendbuf, sendcount, sendtype),
                           Blocks::equal(recvbuf, recvcount, recvtype), root, is_in_place(sendbuf), false},
                    request);
}
Err gather_init(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm, Info* info,
                Request** request) noexcept {
  return prepare(everywhere(comm),
                 Gather{block_of(sendbuf, sendcount, sendtype), Blocks::equal(recvbuf, recvcount, recvtype),
                        root, is_in_place(sendbuf), false},
                 request);
}

Err gatherv(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
            IntArray recvcounts, IntArray displs, const Datatype* recvtype, int root, Comm& comm) noexcept {
  return run(everywhere(comm),
             Gather{block_of(sendbuf, sendcount, sendtype),
                    Blocks::varied(recvbuf, recvcounts, displs, recvtype), root, is_in_place(sendbuf), true});
}
Err igatherv(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
             IntArray recvcounts, IntArray displs, const Datatype* recvtype, int root, Comm& comm,
             Request** request) noexcept {
  return begin_call(
      comm,
      Gather{block_of(sendbuf, sendcount, sendtype), Blocks::varied(recvbuf, recvcounts, displs, recvtype),
             root, is_in_place(sendbuf), true},
      request);
}
Err gatherv_init(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                 IntArray recvcounts, IntArray displs, const Datatype* recvtype, int root, Comm& comm,
                 Info* info, Request** request) noexcept {
  return prepare(
      everywhere(comm),
      Gather{block_of(sendbuf, sendcount, sendtype), Blocks::varied(recvbuf, recvcounts, displs, recvtype),
             root, is_in_place(sendbuf), true},
      request);
}

Err scatter(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
            std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm) noexcept {
  return run(everywhere(comm),
             Scatter{Blocks::equal(sendbuf, sendcount, sendtype), block_of(recvbuf, recvcount, recvtype),
                     root, is_in_place(recvbuf), false});
}
Err iscatter(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
             std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
             Request** request) noexcept {
  return begin_call(comm,
                    Scatter{Blocks::equal(sendbuf, sendcount, sendtype),
                            block_of(recvbuf, recvcount, recvtype), root, is_in_place(recvbuf), false},
                    request);
}
Err scatter_init(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                 std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm, Info* info,
                 Request** request) noexcept {
  return prepare(everywhere(comm),
                 Scatter{Blocks::equal(sendbuf, sendcount, sendtype), block_of(recvbuf, recvcount, recvtype),
                         root, is_in_place(recvbuf), false},
                 request);
}

Err scatterv(const void* sendbuf, IntArray sendcounts, IntArray displs, const Datatype* sendtype,
             void* recvbuf, std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm) noexcept {
  return run(everywhere(comm),
             Scatter{Blocks::varied(sendbuf, sendcounts, displs, sendtype),
                     block_of(recvbuf, recvcount, recvtype), root, is_in_place(recvbuf), true});
}
Err iscatterv(const void* sendbuf, IntArray sendcounts, IntArray displs, const Datatype* sendtype,
              void* recvbuf, std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
              Request** request) noexcept {
  return begin_call(comm,
                    Scatter{Blocks::varied(sendbuf, sendcounts, displs, sendtype),
                            block_of(recvbuf, recvcount, recvtype), root, is_in_place(recvbuf), true},
                    request);
}
Err scatterv_init(const void* sendbuf, IntArray sendcounts, IntArray displs, const Datatype* sendtype,
                  void* recvbuf, std::int64_t recvcount, const Datatype* recvtype, int root, Comm& comm,
                  Info* info, Request** request) noexcept {
  return prepare(everywhere(comm),
                 Scatter{Blocks::varied(sendbuf, sendcounts, displs, sendtype),
                         block_of(recvbuf, recvcount, recvtype), root, is_in_place(recvbuf), true},
                 request);
}

Err allgather(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
              std::int64_t recvcount, const Datatype& recvtype, Comm& comm) noexcept {
  return run(everywhere(comm), Allgather{block_of(sendbuf, sendcount, sendtype),
                                         Blocks::equal(recvbuf, recvcount, &recvtype), is_in_place(sendbuf)});
}
Err iallgather(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
               std::int64_t recvcount, const Datatype& recvtype, Comm& comm, Request** request) noexcept {
  return begin_call(comm,
                    Allgather{block_of(sendbuf, sendcount, sendtype),
                              Blocks::equal(recvbuf, recvcount, &recvtype), is_in_place(sendbuf)},
                    request);
}
Err allgather_init(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                   std::int64_t recvcount, const Datatype& recvtype, Comm& comm, Info* info,
                   Request** request) noexcept {
  return prepare(everywhere(comm),
                 Allgather{block_of(sendbuf, sendcount, sendtype),
                           Blocks::equal(recvbuf, recvcount, &recvtype), is_in_place(sendbuf)},
                 request);
}

Err allgatherv(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
               IntArray recvcounts, IntArray displs, const Datatype& recvtype, Comm& comm) noexcept {
  return run(everywhere(comm),
             Allgather{block_of(sendbuf, sendcount, sendtype),
                       Blocks::varied(recvbuf, recvcounts, displs, &recvtype), is_in_place(sendbuf)});
}
Err iallgatherv(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                IntArray recvcounts, IntArray displs, const Datatype& recvtype, Comm& comm,
                Request** request) noexcept {
  return begin_call(comm,
                    Allgather{block_of(sendbuf, sendcount, sendtype),
                              Blocks::varied(recvbuf, recvcounts, displs, &recvtype), is_in_place(sendbuf)},
                    request);
}
Err allgatherv_init(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                    IntArray recvcounts, IntArray displs, const Datatype& recvtype, Comm& comm, Info* info,
                    Request** request) noexcept {
  return prepare(everywhere(comm),
                 Allgather{block_of(sendbuf, sendcount, sendtype),
                           Blocks::varied(recvbuf, recvcounts, displs, &recvtype), is_in_place(sendbuf)},
                 request);
}

Err alltoall(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
             std::int64_t recvcount, const Datatype& recvtype, Comm& comm) noexcept {
  return run(everywhere(comm),
             Alltoall{Blocks::equal(sendbuf, sendcount, sendtype),
                      Blocks::equal(recvbuf, recvcount, &recvtype), is_in_place(sendbuf), 0});
}
Err ialltoall(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
              std::int64_t recvcount, const Datatype& recvtype, Comm& comm, Request** request) noexcept {
  return begin_call(comm,
                    Alltoall{Blocks::equal(sendbuf, sendcount, sendtype),
                             Blocks::equal(recvbuf, recvcount, &recvtype), is_in_place(sendbuf), 0},
                    request);
}
Err alltoall_init(const void* sendbuf, std::int64_t sendcount, const Datatype* sendtype, void* recvbuf,
                  std::int64_t recvcount, const Datatype& recvtype, Comm& comm, Info* info,
                  Request** request) noexcept {
  return prepare(everywhere(comm),
                 Alltoall{Blocks::equal(sendbuf, sendcount, sendtype),
                          Blocks::equal(recvbuf, recvcount, &recvtype), is_in_place(sendbuf), 0},
                 request);
}

Err alltoallv(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const Datatype* sendtype,
              void* recvbuf, IntArray recvcounts, IntArray rdispls, const Datatype& recvtype,
              Comm& comm) noexcept {
  return run(everywhere(comm),
             Alltoall{Blocks::varied(sendbuf, sendcounts, sdispls, sendtype),
                      Blocks::varied(recvbuf, recvcounts, rdispls, &recvtype), is_in_place(sendbuf), 0});
}
Err ialltoallv(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const Datatype* sendtype,
               void* recvbuf, IntArray recvcounts, IntArray rdispls, const Datatype& recvtype, Comm& comm,
               Request** request) noexcept {
  return begin_call(
      comm,
      Alltoall{Blocks::varied(sendbuf, sendcounts, sdispls, sendtype),
               Blocks::varied(recvbuf, recvcounts, rdispls, &recvtype), is_in_place(sendbuf), 0},
      request);
}
Err alltoallv_init(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const Datatype* sendtype,
                   void* recvbuf, IntArray recvcounts, IntArray rdispls, const Datatype& recvtype, Comm& comm,
                   Info* info, Request** request) noexcept {
  return prepare(everywhere(comm),
                 Alltoall{Blocks::varied(sendbuf, sendcounts, sdispls, sendtype),
                          Blocks::varied(recvbuf, recvcounts, rdispls, &recvtype), is_in_place(sendbuf), 0},
                 request);
}

Err alltoallw(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const MPI_Datatype* sendtypes,
              void* recvbuf, IntArray recvcounts, IntArray rdispls, const MPI_Datatype* recvtypes,
              Comm& comm) noexcept {
  return run(everywhere(comm),
             mixed(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm));
}
Err ialltoallw(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const MPI_Datatype* sendtypes,
               void* recvbuf, IntArray recvcounts, IntArray rdispls, const MPI_Datatype* recvtypes,
               Comm& comm, Request** request) noexcept {
  return begin_call(
      comm, mixed(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm),
      request);
}
Err alltoallw_init(const void* sendbuf, IntArray sendcounts, IntArray sdispls, const MPI_Datatype* sendtypes,
                   void* recvbuf, IntArray recvcounts, IntArray rdispls, const MPI_Datatype* recvtypes,
                   Comm& comm, Info* info, Request** request) noexcept {
  return prepare(
      everywhere(comm),
      mixed(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm), request);
}

}  // namespace dunlin::coll
