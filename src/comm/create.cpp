#include "comm/create.hpp"

#include <cstring>

#include "comm/region.hpp"

namespace dunlin::comm {

coll::Cx next_creation(Comm& comm) noexcept {
  coll::Cx cx;
  cx.comm = &comm;
  cx.plane = Plane::internal;
  cx.tag = std::int32_t(comm.creation_count++ & 0x7fffffff);
  cx.rank = comm.rank;
  cx.size = comm.size;
  return cx;
}

coll::Cx creation_among(Comm& comm, const std::vector<int>& members, int rank, Plane plane,
                        int tag) noexcept {
  DUNLIN_ASSERT(rank >= 0 && std::size_t(rank) < members.size());
  coll::Cx cx;
  cx.comm = &comm;
  cx.members = members.data();
  cx.plane = plane;
  cx.tag = tag;
  cx.rank = rank;
  cx.size = int(members.size());
  return cx;
}

coll::Task share_context(coll::Cx cx, std::uint64_t* context) {
  if (cx.rank == 0) *context = cx.comm->process->next_context();
  co_await coll::bcast_binomial(cx, coll::Block::of_bytes(context, sizeof *context), 0);
  co_return Err::ok;
}

coll::Task share_contexts_inter(coll::Cx cx, Contexts* contexts) {
  const coll::Cx local = cx.local();
  if (cx.rank == 0) {
    std::uint64_t mine = cx.comm->process->next_contexts(kContextsPerInter), theirs = 0;
    const coll::Block out = coll::Block::of_bytes(&mine, sizeof mine);
    const coll::Block in = coll::Block::of_bytes(&theirs, sizeof theirs);
    co_await cx.sendrecv(out.source(), 0, in.target(), 0);
    *contexts = agreed(mine, theirs);
  }
  co_await coll::bcast_binomial(local, coll::Block::of_bytes(contexts, sizeof *contexts), 0);
  co_return Err::ok;
}

Ref<Comm> make_unfinished(const Comm& parent) noexcept {
  auto made = Ref<Comm>::adopt(new Comm);
  made->messaging = parent.messaging;
  made->engine = parent.engine;
  made->process = parent.process;
  made->errhandler = parent.errhandler;
  return made;
}

void set_group(Comm& made, Ref<Group> group) noexcept {
  DUNLIN_ASSERT(group->rank() >= 0);
  made.rank = group->rank();
  made.size = made.target_size = group->size();
  made.target_members = group->members();
  made.group = std::move(group);
}

void set_remote_group(Comm& made, Ref<Group> remote_group) noexcept {
  DUNLIN_ASSERT(made.group);
  made.target_size = remote_group->size();
  made.target_members = remote_group->members();
  made.remote_group = std::move(remote_group);
  made.local_comm = make_unfinished(made);
  set_group(*made.local_comm, made.group);
}

void set_contexts(Comm& made, const Contexts& contexts) noexcept {
  DUNLIN_ASSERT(made.group);
  made.context = contexts.context;
  if (made.local_comm) made.local_comm->context = contexts.local;
  share_memory(made);
}

void set_hints(Comm& made, const Info& info) noexcept {
  static const char* const kKnown[] = {"mpi_assert_no_any_tag", "mpi_assert_no_any_source",
                                       "mpi_assert_exact_length", "mpi_assert_allow_overtaking",
                                       "mpi_assert_strict_persistent_collective_ordering"};
  auto hints = made.info ? made.info->copy() : Ref<Info>::adopt(new Info);
  for (const char* key : kKnown)
    if (const std::string* value = info.find(key); value && (*value == "true" || *value == "false"))
      hints->set(key, *value);
  made.info = std::move(hints);
}

}  // namespace dunlin::comm
