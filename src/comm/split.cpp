// MPI_Comm_split and MPI_Comm_split_type.  All ranks tell all others colour and key, and a context that
// counts if they become the leader of their colour; then everybody can tell its new communicator without
// another message.
//
// Cost: ceil(lg p) alpha + 16 p beta (Bruck's allgather); 16 bytes per rank of the parent while it lasts.  A
// job of a million ranks moves 16 MB per rank here; splitting in a tree would leave the leaders with the same
// table.
#include <algorithm>

#include "comm/create.hpp"
#include "comm/functions.hpp"
#include "comm/region.hpp"
#include "comm/split.hpp"

namespace dunlin::comm {
namespace {

struct Entry {
  int color = MPI_UNDEFINED;
  int key = 0;
  std::uint64_t context = 0;  // of the inter-communicator the second of two
};
static_assert(sizeof(Entry) == 16, "travels between processes");

coll::Task gather(coll::Cx cx, Entry* all) {
  co_await coll::allgather_bruck(cx, coll::Blocks::equal(all, sizeof(Entry), nullptr));
  co_return Err::ok;
}

coll::Task gather_inter(coll::Cx cx, Entry* mine, Entry* theirs) {
  const coll::Cx local = cx.local();
  co_await coll::allgather_bruck(local, coll::Blocks::equal(mine, sizeof(Entry), nullptr));
  const coll::Block out = coll::Block::of_bytes(mine, sizeof(Entry) * std::size_t(cx.size));
  const coll::Block in = coll::Block::of_bytes(theirs, sizeof(Entry) * std::size_t(cx.remote_size()));
  if (cx.rank == 0) co_await cx.sendrecv(out.source(), 0, in.target(), 0);
  co_await coll::bcast_binomial(local, in, 0);
  co_return Err::ok;
}

/// Who has this colour, by key, ranks with the same key in their old order.
std::vector<int> ranks_of_color(const std::vector<Entry>& all, int color) noexcept {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].color == color) ranks.push_back(int(i));
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](int a, int b) { return all[std::size_t(a)].key < all[std::size_t(b)].key; });
  return ranks;
}

Ref<Group> subgroup(const Ref<Group>& group, std::vector<int> ranks) noexcept {
  bool is_same = int(ranks.size()) == group->size();
  for (std::size_t i = 0; i < ranks.size() && is_same; ++i) is_same = ranks[i] == int(i);
  if (is_same) return group;
  for (int& rank : ranks) rank = group->member(rank);
  return Ref<Group>::adopt(new Group(std::move(ranks), *group));
}

Err split_intra(Comm& comm, int color, int key, Comm** newcomm) noexcept {
  std::vector<Entry> all(std::size_t(comm.size));
  all[std::size_t(comm.rank)] = {color, key, color == MPI_UNDEFINED ? 0 : comm.process->next_context()};
  const Err e = run_blocking(next_creation(comm), [&](coll::Cx cx) { return gather(cx, all.data()); });
  if (e != Err::ok) return e;
  if (color == MPI_UNDEFINED) return *newcomm = nullptr, Err::ok;

  const std::vector<int> ranks = ranks_of_color(all, color);
  Ref<Comm> made = make_unfinished(comm);
  set_group(*made, subgroup(comm.group, ranks));
  if (made->rank != 0) comm.process->give_back(all[std::size_t(comm.rank)].context);
  set_contexts(*made, {all[std::size_t(ranks[0])].context, 0});
  if (const Err error = share_memory_of_domains(*made); error != Err::ok) return error;
  *newcomm = made.detach();
  return Err::ok;
}

Err split_inter(Comm& comm, int color, int key, Comm** newcomm) noexcept {
  std::vector<Entry> mine(std::size_t(comm.size)), theirs(std::size_t(comm.target_size));
  mine[std::size_t(comm.rank)] = {
      color, key, color == MPI_UNDEFINED ? 0 : comm.process->next_contexts(kContextsPerInter)};
  const Err e = run_blocking(next_creation(comm),
                             [&](coll::Cx cx) { return gather_inter(cx, mine.data(), theirs.data()); });
  if (e != Err::ok) return e;
  if (color == MPI_UNDEFINED) return *newcomm = nullptr, Err::ok;

  const std::vector<int> here = ranks_of_color(mine, color), there = ranks_of_color(theirs, color);
  if (there.empty()) return *newcomm = nullptr, Err::ok;  // nobody to talk to (MPI 5.0, 7.4.2)
  Ref<Comm> made = make_unfinished(comm);
  set_group(*made, subgroup(comm.group, here));
  set_remote_group(*made, subgroup(comm.remote_group, there));
  set_contexts(*made, agreed(mine[std::size_t(here[0])].context, theirs[std::size_t(there[0])].context));
  *newcomm = made.detach();
  return Err::ok;
}

}  // namespace

Err split(Comm& comm, int color, int key, Comm** newcomm) noexcept {
  return comm.is_inter() ? split_inter(comm, color, key, newcomm) : split_intra(comm, color, key, newcomm);
}

Err comm_split(Comm& comm, int color, int key, Comm** newcomm) noexcept {
  if (color < 0 && color != MPI_UNDEFINED)
    return fail(Err::arg, "color is %d; give a number from 0 up, or MPI_UNDEFINED for no communicator",
                color);
  return split(comm, color, key, newcomm);
}

}  // namespace dunlin::comm
