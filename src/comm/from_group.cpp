// MPI_Comm_create_from_group and MPI_Intercomm_create_from_groups: no parent communicator, only a group and a
// word that all members give (MPI 5.0, 7.4.2).
//
// The members meet on a context that each computes for itself: a hash of the word and the members' names,
// with the top bit set, which no leader's counter reaches.  Two different creations meet on the same one with
// probability 2^-61; the same one made twice is kept apart by the order of messages.  From there on it is any
// other creation.
#include <algorithm>
#include <string_view>

#include "comm/functions.hpp"
#include "comm/region.hpp"
#include "comm/intercomm.hpp"

namespace dunlin::comm {
namespace {

class Hash {
 public:
  void add(std::uint64_t
               word) noexcept {  // xor, multiply, fold: every bit of the word reaches every bit of the state
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15u;
    state_ ^= state_ >> 29;
  }
  void add(std::string_view text) noexcept {
    add(text.size());
    for (const char c : text) add(std::uint64_t(static_cast<unsigned char>(c)));
  }
  void add(std::span<const int> members) noexcept {
    add(members.size());
    for (int member : members) add(std::uint64_t(std::uint32_t(member)));
  }
  std::uint64_t context() const noexcept { return (state_ | std::uint64_t{1} << 63) & ~std::uint64_t{3}; }

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3u;  // digits of pi
};

Ref<Comm> meeting_place(Ref<Group> group, const char* stringtag, std::uint64_t purpose,
                        Errhandler& errhandler) noexcept {
  Process* const process = Process::of_process();
  Hash hash;
  hash.add(purpose);
  hash.add(std::string_view(stringtag));
  hash.add(group->span());
  auto place = Ref<Comm>::adopt(new Comm);
  place->messaging = process->messaging;
  place->engine = process->engine;
  place->process = process;
  place->errhandler = Ref<Errhandler>(&errhandler);
  set_group(*place, std::move(group));
  set_contexts(*place, {hash.context(), 0});
  return place;
}

constexpr std::uint64_t kIntra = 1, kInterGroup = 2, kInterLeaders = 3;

Err check(const Group& group, const char* name) noexcept {
  if (group.rank() < 0)
    return fail(Err::group, "this process is not in %s; only members may make the call", name);
  return Err::ok;
}

}  // namespace

Err comm_create_from_group(Group& group, const char* stringtag, Info* info, Errhandler& errhandler,
                           Comm** newcomm) noexcept {
  if (group.size() == 0) return *newcomm = nullptr, Err::ok;
  if (Err e = check(group, "group"); e != Err::ok) return e;
  const Ref<Comm> place = meeting_place(Ref<Group>(&group), stringtag, kIntra, errhandler);
  std::uint64_t context = 0;
  const Err e = run_blocking(next_creation(*place), [&](coll::Cx cx) { return share_context(cx, &context); });
  if (e != Err::ok) return e;
  Ref<Comm> made = make_unfinished(*place);
  set_group(*made, place->group);
  set_contexts(*made, {context, 0});
  if (const Err error = share_memory_of_domains(*made); error != Err::ok) return error;
  if (info) set_hints(*made, *info);
  *newcomm = made.detach();
  return Err::ok;
}

Err intercomm_create_from_groups(Group& local_group, int local_leader, Group& remote_group, int remote_leader,
                                 const char* stringtag, Info* info, Errhandler& errhandler,
                                 Comm** newintercomm) noexcept {
  if (local_group.size() == 0 || remote_group.size() == 0) return *newintercomm = nullptr, Err::ok;
  if (Err e = check(local_group, "local_group"); e != Err::ok) return e;
  if (local_leader < 0 || local_leader >= local_group.size())
    return fail(Err::rank, "local_leader is %d; local_group has %d members", local_leader,
                local_group.size());
  if (remote_leader < 0 || remote_leader >= remote_group.size())
    return fail(Err::rank, "remote_leader is %d; remote_group has %d members", remote_leader,
                remote_group.size());

  const Ref<Comm> local = meeting_place(Ref<Group>(&local_group), stringtag, kInterGroup, errhandler);
  Ref<Comm> peers;
  int remote_place = -1;
  if (local->rank == local_leader) {
    std::vector<int> leaders{local_group.member(local_leader), remote_group.member(remote_leader)};
    remote_place = leaders[0] < leaders[1] ? 1 : 0;
    std::sort(leaders.begin(), leaders.end());
    peers = meeting_place(Ref<Group>::adopt(new Group(std::move(leaders), local_group.me())), stringtag,
                          kInterLeaders, errhandler);
  }
  Comm* made = nullptr;
  if (Err e = connect(*local, peers.get(), {local_leader, remote_place}, 0, &made); e != Err::ok) return e;
  if (info) set_hints(*made, *info);
  *newintercomm = made;
  return Err::ok;
}

}  // namespace dunlin::comm
