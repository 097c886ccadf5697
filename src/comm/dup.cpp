// MPI_Comm_dup and its forms: the same groups and topology under new contexts, attributes as their callbacks
// say. Cost: one broadcast of 8 bytes; between inter-communicators one exchange more.
#include "comm/create.hpp"
#include "comm/functions.hpp"
#include "comm/region.hpp"

namespace dunlin::comm {
namespace {

coll::Task finish_intra(coll::Cx cx, Comm* made) {
  std::uint64_t context = 0;
  co_await share_context(cx, &context);
  set_contexts(*made, {context, 0});
  co_await share_memory_of_domain(all_of(cx, *made), made);
  co_return Err::ok;
}

coll::Task finish_inter(coll::Cx cx, Comm* made) {
  Contexts contexts;
  co_await share_contexts_inter(cx, &contexts);
  set_contexts(*made, contexts);
  co_return Err::ok;
}

struct Dup {
  Comm* made;
  static constexpr const char* kName = "duplication of a communicator";
  coll::Task start(coll::Cx cx) const noexcept {
    return made->is_inter() ? finish_inter(cx, made) : finish_intra(cx, made);
  }
  coll::Held held() const noexcept { return {{made}}; }
};

/// All but the contexts.  Callbacks of attributes run now, as the standard wants it for MPI_Comm_idup too.
Err prepare(Comm& comm, const Info* info, Ref<Comm>* prepared) noexcept {
  Ref<Comm> made = make_unfinished(comm);
  set_group(*made, comm.group);
  if (comm.is_inter()) set_remote_group(*made, comm.remote_group);
  made->topology = comm.topology;
  if (info) set_hints(*made, *info);
  if (Err e = made->attributes.copy_from(comm, comm.attributes); e != Err::ok) {
    (void)made->attributes.erase_all(*made);
    return e;
  }
  *prepared = std::move(made);
  return Err::ok;
}

Err dup(Comm& comm, const Info* info, Comm** newcomm) noexcept {
  Ref<Comm> made;
  if (Err e = prepare(comm, info, &made); e != Err::ok) return e;
  if (Err e = coll::run(next_creation(comm), Dup{made.get()}); e != Err::ok) return e;
  *newcomm = made.detach();
  return Err::ok;
}

Err idup(Comm& comm, const Info* info, Comm** newcomm, Request** request) noexcept {
  Ref<Comm> made;
  if (Err e = prepare(comm, info, &made); e != Err::ok) return e;
  if (Err e = coll::begin(next_creation(comm), Dup{made.get()}, request); e != Err::ok) return e;
  *newcomm = made.detach();  // the handle is known at once, its use is allowed when the request is complete
  return Err::ok;
}

}  // namespace

// Hints are not duplicated since MPI-4.0.
Err comm_dup(Comm& comm, Comm** newcomm) noexcept { return dup(comm, nullptr, newcomm); }
Err comm_dup_with_info(Comm& comm, Info* info, Comm** newcomm) noexcept { return dup(comm, info, newcomm); }
Err comm_idup(Comm& comm, Comm** newcomm, Request** request) noexcept {
  return idup(comm, nullptr, newcomm, request);
}
Err comm_idup_with_info(Comm& comm, Info* info, Comm** newcomm, Request** request) noexcept {
  return idup(comm, info, newcomm, request);
}

}  // namespace dunlin::comm
