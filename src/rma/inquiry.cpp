// What a window is: its info keys, its group, the memory of its ranks (MPI 5.0, 12.2).
#include <algorithm>
#include <cstring>

#include "object/memory_kinds.hpp"
#include "rma/functions.hpp"
#include "rma/hints.hpp"
#include "rma/operation.hpp"
#include "rma/window.hpp"

namespace dunlin::rma {

void set_hints(Window& window, const Info* info) noexcept {
  static constexpr struct {
    const char *key, *preset;
  } kKnown[] = {{"no_locks", "false"},
                {"accumulate_ordering", "rar,raw,war,waw"},
                {"accumulate_ops", "same_op_no_op"},
                {"same_size", "false"},
                {"same_disp_unit", "false"},
                {"alloc_shared_noncontig", "false"},
                {"mpi_accumulate_granularity", "0"}};
  auto hints = window.info ? window.info->copy() : Ref<Info>::adopt(new Info);
  for (const auto& [key, preset] : kKnown) {
    const std::string* const value = info ? info->find(key) : nullptr;
    if (value || !window.info) hints->set(key, value ? *value : preset);
  }
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
  show_memory_kinds(**info_used);
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
  // Memory of the program's own may map or not, and is not given out.
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
  if (size == 0) return window.attached_nothing.push_back(begin), Err::ok;
  if (!base || begin + std::uintptr_t(size) < begin)
    return fail(Err::base, "argument base is %p; no %lld bytes lie there", base, (long long)size);
  Attachments& mine = *window.part(window.comm->rank).attached;
  if (mine.is_full())
    return fail(Err::rma_attach, "%u blocks are attached to the window, and there is no room for more",
                unsigned(Attachments::kMost));
  // Of none where it begins with what is attached already.
  const auto kept = window.kept_attachments.try_emplace(begin);
  if (kept.second && may_be_mapped(window)) kept.first->second.keep(base, std::size_t(size));
  if (!mine.try_add({begin, std::uint64_t(size)})) {
    if (kept.second) window.kept_attachments.erase(kept.first);
    return fail(Err::rma_attach, "the memory overlaps memory that is attached already");
  }
  if (needs_help_for(window, base, size)) want_help(window);
  return Err::ok;
}

Err win_detach(Win& win, const void* base) noexcept {
  Window& window = window_of(win);
  if (!window.is_dynamic())
    return fail(Err::rma_flavor, "memory is detached from windows of MPI_Win_create_dynamic only");
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  if (window.part(window.comm->rank).attached->try_remove(begin)) {
    window.kept_attachments.erase(begin);
    return Err::ok;
  }
  const auto nothing = std::find(window.attached_nothing.begin(), window.attached_nothing.end(), begin);
  if (nothing == window.attached_nothing.end())
    return fail(Err::base, "argument base is no address that was given to MPI_Win_attach");
  window.attached_nothing.erase(nothing);
  return Err::ok;
}

}  // namespace dunlin::rma
