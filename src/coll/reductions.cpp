// Collectives that reduce: reduce, allreduce, reduce_scatter(_block), scan, exscan.
//
// Each call is an argument struct, whose `start` chooses the algorithm, run in one of three modes
// (coll/plan.hpp). Called by the generated C bindings.
#include "coll/functions.hpp"
#include "coll/plan.hpp"
#include "coll/select.hpp"

namespace dunlin::coll {
namespace {

struct Reduce {
  Reduction r;
  int root;
  static constexpr const char* kName = "reduce";
  static constexpr Collective kCall = Collective::reduce;
  Task start(const Cx& cx) const noexcept {
    if (cx.comm->is_inter()) return reduce_inter(cx, r, root);
    if (is_nothing(cx, r.bytes())) return nothing(cx, 0, cx.rank == root ? cx.size : 0);
    return start_reduce(cx, r, root);
  }
  Agreement agreement(const Cx&) const noexcept { return Agreement::same(r.block(nullptr), *r.op); }
  Held held() const noexcept { return {{r.type, r.op}}; }
};

struct Allreduce {
  Reduction r;
  static constexpr const char* kName = "allreduce";
  static constexpr Collective kCall = Collective::allreduce;
  Task start(const Cx& cx) const noexcept {
    if (cx.comm->is_inter()) return allreduce_inter(cx, r);
    if (is_nothing(cx, r.bytes())) return nothing(cx);
    return start_allreduce(cx, r);
  }
  Agreement agreement(const Cx&) const noexcept { return Agreement::same(r.block(nullptr), *r.op); }
  Held held() const noexcept { return {{r.type, r.op}}; }
};

/// reduce_scatter_block (`counts` empty) and reduce_scatter.
struct ReduceScatter {
  Reduction r;         // its count is found by `start`
  std::int64_t count;  // elements for every rank, where `counts` is empty
  IntArray counts;
  static constexpr const char* kName = "reduce-scatter";
  static constexpr Collective kCall = Collective::reduce_scatter;
  Task start(const Cx& cx) const noexcept {
    Reduction whole = r;
    Blocks parts = Blocks::equal(nullptr, count, r.type);
    whole.count = count * cx.size;
    if (counts.data) {
      auto* starts = reinterpret_cast<std::int64_t*>(cx.take(std::size_t(cx.size) * sizeof(std::int64_t)));
      if (!starts) return nothing(cx);  // the run ends with the error that `take` noted
      whole.count = 0;
      for (int i = 0; i < cx.size; ++i) {
        starts[i] = whole.count;
        whole.count += counts[i];
      }
      parts = Blocks::varied(nullptr, counts, IntArray{starts, true}, r.type);
    }
    if (cx.comm->is_inter()) return reduce_scatter_inter(cx, whole, parts);
    if (is_nothing(cx, whole.bytes())) return nothing(cx);
    return start_reduce_scatter(cx, whole, parts);
  }
  bool has_arrays() const noexcept { return counts.data != nullptr; }
  void own_arrays(OwnArrays& arrays, const Cx& cx) noexcept { counts = arrays.copy(counts, cx.size); }
  Agreement agreement(const Cx& cx) const noexcept {
    std::int64_t all = count * cx.size;
    for (int i = 0; counts.data && i < cx.size; ++i) all += counts[i];
    return Agreement::same(Block{nullptr, all, r.type}, *r.op);
  }
  Held held() const noexcept { return {{r.type, r.op}}; }
};

struct Scan {
  Reduction r;
  static constexpr const char* kName = "scan";
  static constexpr Collective kCall = Collective::scan;
  Task start(const Cx& cx) const noexcept {
    return is_nothing(cx, r.bytes()) ? nothing(cx, 0, cx.rank) : start_scan(cx, r, false);
  }
  Agreement agreement(const Cx&) const noexcept { return Agreement::same(r.block(nullptr), *r.op); }
  Held held() const noexcept { return {{r.type, r.op}}; }
};

struct Exscan {
  Reduction r;
  static constexpr const char* kName = "exscan";
  static constexpr Collective kCall = Collective::exscan;
  Task start(const Cx& cx) const noexcept {
    return is_nothing(cx, r.bytes()) ? nothing(cx, 0, cx.rank) : start_scan(cx, r, true);
  }
  Agreement agreement(const Cx&) const noexcept { return Agreement::same(r.block(nullptr), *r.op); }
  Held held() const noexcept { return {{r.type, r.op}}; }
};

/// A scan goes from rank to rank, and the ranks of two groups have no order (MPI 5.0, 6.11).
Err check_order(const Comm& comm) noexcept {
  if (!comm.is_inter()) return Err::ok;
  return fail(Err::comm, "comm is an inter-communicator, which has no scan; give an intra-communicator");
}

}  // namespace

Err reduce(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
           int root, Comm& comm) noexcept {
  return run(everywhere(comm), Reduce{Reduction::of(sendbuf, recvbuf, count, type, op), root});
}
Err ireduce(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
            int root, Comm& comm, Request** request) noexcept {
  return begin_call(comm, Reduce{Reduction::of(sendbuf, recvbuf, count, type, op), root}, request);
}
Err reduce_init(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
                int root, Comm& comm, Info* info, Request** request) noexcept {
  return prepare(everywhere(comm), Reduce{Reduction::of(sendbuf, recvbuf, count, type, op), root}, request);
}

Err allreduce(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
              Comm& comm) noexcept {
  return run(everywhere(comm), Allreduce{Reduction::of(sendbuf, recvbuf, count, type, op)});
}
Err iallreduce(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
               Comm& comm, Request** request) noexcept {
  return begin_call(comm, Allreduce{Reduction::of(sendbuf, recvbuf, count, type, op)}, request);
}
Err allreduce_init(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
                   Comm& comm, Info* info, Request** request) noexcept {
  return prepare(everywhere(comm), Allreduce{Reduction::of(sendbuf, recvbuf, count, type, op)}, request);
}

Err reduce_scatter_block(const void* sendbuf, void* recvbuf, std::int64_t recvcount, const Datatype& type,
                         const Op& op, Comm& comm) noexcept {
  return run(everywhere(comm), ReduceScatter{Reduction::of(sendbuf, recvbuf, 0, type, op), recvcount, {}});
}
Err ireduce_scatter_block(const void* sendbuf, void* recvbuf, std::int64_t recvcount, const Datatype& type,
                          const Op& op, Comm& comm, Request** request) noexcept {
  return begin_call(comm, ReduceScatter{Reduction::of(sendbuf, recvbuf, 0, type, op), recvcount, {}},
                    request);
}
Err reduce_scatter_block_init(const void* sendbuf, void* recvbuf, std::int64_t recvcount,
                              const Datatype& type, const Op& op, Comm& comm, Info* info,
                              Request** request) noexcept {
  return prepare(everywhere(comm), ReduceScatter{Reduction::of(sendbuf, recvbuf, 0, type, op), recvcount, {}},
                 request);
}

Err reduce_scatter(const void* sendbuf, void* recvbuf, IntArray recvcounts, const Datatype& type,
                   const Op& op, Comm& comm) noexcept {
  return run(everywhere(comm), ReduceScatter{Reduction::of(sendbuf, recvbuf, 0, type, op), 0, recvcounts});
}
Err ireduce_scatter(const void* sendbuf, void* recvbuf, IntArray recvcounts, const Datatype& type,
                    const Op& op, Comm& comm, Request** request) noexcept {
  return begin_call(comm, ReduceScatter{Reduction::of(sendbuf, recvbuf, 0, type, op), 0, recvcounts},
                    request);
}
Err reduce_scatter_init(const void* sendbuf, void* recvbuf, IntArray recvcounts, const Datatype& type,
                        const Op& op, Comm& comm, Info* info, Request** request) noexcept {
  return prepare(everywhere(comm), ReduceScatter{Reduction::of(sendbuf, recvbuf, 0, type, op), 0, recvcounts},
                 request);
}

Err scan(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
         Comm& comm) noexcept {
  if (const Err error = check_order(comm); error != Err::ok) return error;
  return run(everywhere(comm), Scan{Reduction::of(sendbuf, recvbuf, count, type, op)});
}
Err iscan(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
          Comm& comm, Request** request) noexcept {
  if (const Err error = check_order(comm); error != Err::ok) return error;
  return begin_call(comm, Scan{Reduction::of(sendbuf, recvbuf, count, type, op)}, request);
}
Err scan_init(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
              Comm& comm, Info* info, Request** request) noexcept {
  if (const Err error = check_order(comm); error != Err::ok) return error;
  return prepare(everywhere(comm), Scan{Reduction::of(sendbuf, recvbuf, count, type, op)}, request);
}

Err exscan(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
           Comm& comm) noexcept {
  if (const Err error = check_order(comm); error != Err::ok) return error;
  return run(everywhere(comm), Exscan{Reduction::of(sendbuf, recvbuf, count, type, op)});
}
Err iexscan(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
            Comm& comm, Request** request) noexcept {
  if (const Err error = check_order(comm); error != Err::ok) return error;
  return begin_call(comm, Exscan{Reduction::of(sendbuf, recvbuf, count, type, op)}, request);
}
Err exscan_init(const void* sendbuf, void* recvbuf, std::int64_t count, const Datatype& type, const Op& op,
                Comm& comm, Info* info, Request** request) noexcept {
  if (const Err error = check_order(comm); error != Err::ok) return error;
  return prepare(everywhere(comm), Exscan{Reduction::of(sendbuf, recvbuf, count, type, op)}, request);
}

}  // namespace dunlin::coll
