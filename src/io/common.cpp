#include "io/common.hpp"

#include <cstdio>
#include <vector>

#include "object/attributes.hpp"
#include "progress/engine.hpp"
#include "rma/functions.hpp"

namespace dunlin::io {
namespace {

using All = std::vector<std::shared_ptr<Common>>;

int forget(MPI_Comm, int, void* all, void*) noexcept {
  delete static_cast<All*>(all);  // files that are still open keep theirs
  return MPI_SUCCESS;
}

/// Of a communicator, in the order of their making, which is the same on all ranks; kept as an attribute,
/// which copies of the communicator do not get.
All& all_of(Comm& comm) noexcept {
  static Keyval& key = *new Keyval(Keyval::On::comm, reinterpret_cast<void*>(MPI_COMM_NULL_COPY_FN),
                                   reinterpret_cast<void*>(&forget), nullptr);
  bool is_there = false;
  void* const found = comm.attributes.get(key, &is_there);
  if (is_there) return *static_cast<All*>(found);
  auto* const made = new All;
  (void)comm.attributes.set(comm, key, made);
  return *made;
}

}  // namespace

int find_common(Comm& comm) noexcept {
  const All& all = all_of(comm);
  for (std::size_t number = 0; number < all.size(); ++number)
    if (!all[number]->is_in_use) return int(number);
  return -1;
}

std::shared_ptr<Common> take_common(Comm& comm, int number) noexcept {
  const std::shared_ptr<Common> taken = all_of(comm)[std::size_t(number)];
  comm.engine->wait_until(
      [](const void* common) noexcept { return !static_cast<const Common*>(common)->is_in_use; }, taken.get(),
      [](const void*, WaitReason& reason) noexcept {
        std::snprintf(reason.what, sizeof reason.what, "another thread to close a file");
      });
  taken->is_in_use = true;
  return taken;
}

Err make_common(Comm& comm, std::shared_ptr<Common>* made) noexcept {
  Win* window = nullptr;
  void* word = nullptr;
  const MPI_Aint bytes = comm.rank == 0 ? sizeof(CommonWords) : 0;
  if (const Err e = rma::win_allocate(bytes, sizeof(std::int64_t), nullptr, comm, &word, &window);
      e != Err::ok)
    return e;
  (void)rma::win_lock_all(MPI_MODE_NOCHECK, *window);  // for good: the word is changed atomically
  MPI_Aint mapped_bytes = 0;
  std::int64_t unit = 0;
  void* words = nullptr;
  const Err mapped = rma::win_shared_query(*window, 0, &mapped_bytes, &unit, &words);
  const bool is_mapped = mapped == Err::ok && mapped_bytes >= MPI_Aint(sizeof(CommonWords));
  *made = std::make_shared<Common>(Ref<Win>::adopt(window),
                                   is_mapped ? static_cast<CommonWords*>(words) : nullptr);
  all_of(comm).push_back(*made);
  return Err::ok;
}

}  // namespace dunlin::io
