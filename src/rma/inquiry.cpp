// What a window is: its info keys, its group, the memory of its ranks (MPI 5.0, 12.2).
#include <cstring>

#include "rma/functions.hpp"
#include "rma/hints.hpp"
#include "rma/operation.hpp"
#include "rma/window.hpp"

namespace dunlin::rma {

void set_hints(Window& window, const Info* info) noexcept {
  static const char* const kKnown[] = {"no_locks",
                                       "accumulate_ordering",
                                       "accumulate_ops",
                                       "same_size",
                                       "same_disp_unit",
                                       "alloc_shared_noncontig",
                                       "mpi_accumulate_granularity"};
  auto hints = window.info ? window.info->copy() : Ref<Info>::adopt(new Info);
  for (const char* key : kKnown)
    if (const std::string* value = info ? info->find(key) : nullptr) hints->set(key, *value);
  window.info = std::move(hints);
}

bool has_hint(const Window& window, const char* key) noexcept {
  const std::string* const value = window.info->find(key);
  return value && *value == "true";
}

Err win_set_info(Win& win, Info* info) noexcept {
  set_hints(window_of(win), info);
  return Err::ok;
}

Err win_get_info(Win& win, Info** info_used) noexcept {
  *info_used = win.info->copy().detach();
  return Err::ok;
}

Err win_get_group(Win& win, Group** group) noexcept {
  *group = Ref<Group>(window_of(win).comm->group).detach();
  return Err::ok;
}

Err win_shared_query(Win& win, int rank, MPI_Aint* size, std::int64_t* disp_unit, void* baseptr) noexcept {
  Window& window = window_of(win);
  if (window.is_dynamic())
    return fail(Err::rma_flavor, "a dynamic window has no memory of its own that could be shared");
  if (rank == MPI_PROC_NULL) {
    rank = 0;
    while (rank < window.size - 1 && window.part(rank).bytes == 0) ++rank;
  }
  const Part& part = window.part(rank);
  // What only maps until its owner forks is not given out.
  *size = part.fixed ? MPI_Aint(part.bytes) : 0;
  *disp_unit = std::int64_t(part.unit);
  *static_cast<void**>(baseptr) = part.fixed;
  return Err::ok;
}

Err win_attach(Win& win, void* base, MPI_Aint size) noexcept {
  Window& window = window_of(win);
  if (!window.is_dynamic())
    return fail(Err::rma_flavor, "memory is attached to windows of MPI_Win_create_dynamic only");
  if (size < 0) return fail(Err::size, "argument size is %lld; it must not be negative", (long long)size);
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  const auto after = window.attached.upper_bound(begin);
  const bool meets_next = after != window.attached.end() && begin + std::uintptr_t(size) > after->first;
  bool meets_last = false;
  if (after != window.attached.begin()) {
    const auto& [address, bytes] = *std::prev(after);
    meets_last = begin < address + bytes || (begin == address && size == 0);
  }
  if (meets_next || meets_last)
    return fail(Err::rma_attach, "the memory overlaps memory that is attached already");
  window.attached[begin] = std::size_t(size);
  return Err::ok;
}

Err win_detach(Win& win, const void* base) noexcept {
  Window& window = window_of(win);
  if (!window.is_dynamic())
    return fail(Err::rma_flavor, "memory is detached from windows of MPI_Win_create_dynamic only");
  if (window.attached.erase(reinterpret_cast<std::uintptr_t>(base)) == 0)
    return fail(Err::base, "argument base is no address that was given to MPI_Win_attach");
  return Err::ok;
}

}  // namespace dunlin::rma
