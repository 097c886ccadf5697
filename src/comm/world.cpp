#include <mpi.h>

#include <cstdio>
#include <numeric>

#include "comm/region.hpp"
#include "object/initial_errhandler.hpp"

namespace dunlin::comm {
namespace {

Ref<Comm> make(Process& process, Ref<Group> group, std::uint64_t context, const char* name) noexcept {
  auto made = Ref<Comm>::adopt(new Comm);
  made->context = context;
  made->messaging = process.messaging;
  made->engine = process.engine;
  made->process = &process;
  made->rank = group->rank();
  made->size = made->target_size = group->size();
  made->target_members = group->members();
  made->group = std::move(group);
  made->errhandler = Ref<Errhandler>(&initial_errhandler());
  std::snprintf(made->name, sizeof made->name, "%s", name);
  DUNLIN_ASSERT(made->rank >= 0);
  share_memory(*made);
  return made;
}

void withdraw(Ref<Comm>& comm) noexcept {
  withdraw_predefined(*comm);
  comm = {};
}

}  // namespace

void create_world(Process& process) noexcept {
  DUNLIN_ASSERT(!process.world);
  std::vector<int> everybody(std::size_t(process.world_size));
  std::iota(everybody.begin(), everybody.end(), 0);
  // The context of world must be the same everywhere, so it is the one that rank 0 would give out first.
  const std::uint64_t world_context = std::uint64_t(process.job) << 56;
  process.world = make(process, Ref<Group>::adopt(new Group(std::move(everybody), process.me)), world_context,
                       "MPI_COMM_WORLD");
  process.self = make(process, Ref<Group>::adopt(new Group({process.me}, process.me)),
                      process.context(1, Process::kNoCommons), "MPI_COMM_SELF");
}

void publish_world(Process& process) noexcept {
  make_predefined(*process.world, reinterpret_cast<std::uintptr_t>(MPI_COMM_WORLD));
  make_predefined(*process.self, reinterpret_cast<std::uintptr_t>(MPI_COMM_SELF));
  Process::set_of_process(&process);
}

Err finish_self(Process& process) noexcept { return process.self->attributes.erase_all(*process.self); }

void destroy_world(Process& process) noexcept {
  (void)process.world->attributes.erase_all(*process.world);
  withdraw(process.self);
  withdraw(process.world);
  if (Process::of_process() == &process) Process::set_of_process(nullptr);
}

}  // namespace dunlin::comm
