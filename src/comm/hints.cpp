#include "comm/create.hpp"
#include "comm/functions.hpp"
#include "object/memory_kinds.hpp"

namespace dunlin::comm {

Err comm_set_info(Comm& comm, Info* info) noexcept {
  if (info) set_hints(comm, *info);
  return Err::ok;
}

Err comm_get_info(Comm& comm, Info** info_used) noexcept {
  *info_used = comm.info ? comm.info->copy().detach() : new Info;
  show_memory_kinds(**info_used);
  return Err::ok;
}

}  // namespace dunlin::comm
