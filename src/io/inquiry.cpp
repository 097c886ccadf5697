// What a file is, and is to be: size, hints, atomicity, what of it lies on the disk (MPI 5.0, 14.2, 14.6).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "coll/agree.hpp"
#include "io/collective.hpp"
#include "io/file.hpp"
#include "io/functions.hpp"
#include "io/together.hpp"
#include "object/memory_kinds.hpp"
#include "progress/engine.hpp"

namespace dunlin::io {
namespace {

/// Collective: a value that must be the same on all ranks.
Err check_same(const OpenFile& file, std::int64_t value, const char* argument) noexcept {
  const std::vector<std::int64_t> all = coll::gather_all(*file.comm, value);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != value)
      return fail(Err::not_same, "argument %s is %lld on rank %d and %lld on rank %zu", argument,
                  (long long)value, file.comm->rank, (long long)all[rank], rank);
  return Err::ok;
}

/// What MPI_File_set_size and MPI_File_preallocate ask first.
Err check_size(const OpenFile& file, std::int64_t size) noexcept {
  if (!file.can_write())
    return fail(Err::read_only, "\"%s\" was opened with MPI_MODE_RDONLY, so its size cannot change",
                file.name.c_str());
  if (file.is_sequential())
    return fail(Err::unsupported_operation,
                "\"%s\" was opened with MPI_MODE_SEQUENTIAL: its size cannot be set", file.name.c_str());
  if (const Err e = check_same(file, size, "size"); e != Err::ok) return e;
  if (size < 0) return fail(Err::arg, "argument size is %lld; it must not be negative", (long long)size);
  return Err::ok;
}

/// A signal ends a call, and what it had done may be undone: then in shorter steps.
int preallocate(const Storage& storage, std::int64_t size) noexcept {
  constexpr std::int64_t kStepMin = 1 << 20;
  std::int64_t step = size;
  for (std::int64_t at = 0; at < size;) {
    step = std::min(step, size - at);
    if (fallocate(storage.descriptor(), 0, at, step) == 0)
      at += step;
    else if (errno == EINTR)
      step = std::max(step / 2, std::min(step, kStepMin));
    else if (errno == EOPNOTSUPP)
      return storage.size() < size ? storage.set_size(size) : 0;
    else
      return errno;
  }
  return 0;
}

/// Collective: of what each has done to the file; then each sees it.
Err agree_and_look(const OpenFile& file, int reason, const char* what) noexcept {
  const Err error = agree(file, reason, what);
  file.storage.look_again();
  return error;
}

}  // namespace

void finish_accesses(const OpenFile& file) noexcept {
  file.comm->engine->wait_until(
      [](const void* f) noexcept { return static_cast<const OpenFile*>(f)->under_way == 0; }, &file,
      [](const void* f, WaitReason& reason) noexcept {
        const auto& file = *static_cast<const OpenFile*>(f);
        std::snprintf(reason.what, sizeof reason.what, "%d accesses to the file \"%.60s\"", file.under_way,
                      file.name.c_str());
      });
}

int sync_storage(OpenFile& file) noexcept {
  const int reason = file.has_written ? file.storage.sync() : 0;
  if (reason == 0) file.has_written = false;
  return reason;
}

Err agree(const OpenFile& file, int reason, const char* what) noexcept {
  const std::vector<int> all = coll::gather_all(*file.comm, reason);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != 0)
      return fail(error_of(all[rank]), "rank %zu %s \"%s\": %s", rank, what, file.name.c_str(),
                  std::strerror(all[rank]));
  return Err::ok;
}

void take_hints(OpenFile& file, const Info* info) noexcept {
  if (!info) return;
  for (int n = 0; n < info->size(); ++n) file.given->set(info->at(n).first, info->at(n).second);
  const unsigned permissions = file.hints.file_perm;  // of the file as it has been made
  file.hints.take(*info);
  if (file.storage.is_open()) file.hints.file_perm = permissions;
  file.storage.set_sieving(file.hints.ds_read, file.hints.ds_write);
}

Err file_set_size(File& fh, MPI_Offset size) noexcept {
  const OpenFile& file = file_of(fh);
  if (const Err e = check_size(file, size); e != Err::ok) return e;
  const bool is_mine = file.comm->rank == 0;
  const int reason = is_mine ? file.storage.set_size(size) : 0;
  return agree_and_look(file, reason, "could not set the size of");
}

Err file_preallocate(File& fh, MPI_Offset size) noexcept {
  const OpenFile& file = file_of(fh);
  if (const Err e = check_size(file, size); e != Err::ok) return e;
  const int reason = file.comm->rank == 0 ? preallocate(file.storage, size) : 0;
  return agree_and_look(file, reason, "could not preallocate");
}

Err file_get_size(File& fh, MPI_Offset* size) noexcept {
  const OpenFile& file = file_of(fh);
  const std::int64_t bytes = file.storage.size();
  if (bytes < 0) return file.error(errno, "could not find the size of");
  *size = bytes;
  return Err::ok;
}

Err file_get_group(File& fh, Group** group) noexcept {
  *group = Ref<Group>(file_of(fh).comm->group).detach();
  return Err::ok;
}

Err file_get_amode(File& fh, int* amode) noexcept {
  *amode = file_of(fh).amode;
  return Err::ok;
}

Err file_set_info(File& fh, Info* info) noexcept {
  OpenFile& file = file_of(fh);
  finish_accesses(file);
  take_hints(file, info);
  struct Said {
    CollectiveHints hints;
    Prospects prospects;
  };
  const Said mine{file.hints, Prospects::of(file, file.view)};
  const std::vector<Said> all = coll::gather_all(*file.comm, mine);
  static_cast<CollectiveHints&>(file.hints) = all[0].hints;
  Prospects of_all;
  for (const Said& each : all) of_all.add(each.prospects);
  const Err error = prepare_together(file, of_all);
  if (const Err e = coll::barrier(*file.comm); e != Err::ok) return e;
  return error;
}

/// Keys that the library does not know are shown as they were given.
Err file_get_info(File& fh, Info** info_used) noexcept {
  const OpenFile& file = file_of(fh);
  Ref<Info> used = file.given->copy();
  file.hints.show(*used);
  if (file.name.size() < MPI_MAX_INFO_VAL) used->set("filename", file.name);
  used->set("cb_nodes", std::to_string(Roles::of(file).aggregators));
  show_memory_kinds(*used);
  *info_used = used.detach();
  return Err::ok;
}

Err file_set_atomicity(File& fh, bool flag) noexcept {
  OpenFile& file = file_of(fh);
  if (const Err e = check_same(file, flag, "flag"); e != Err::ok) return e;
  file.is_atomic = flag;
  return Err::ok;
}

Err file_get_atomicity(File& fh, int* flag) noexcept {
  *flag = file_of(fh).is_atomic;
  return Err::ok;
}

Err file_sync(File& fh) noexcept {
  OpenFile& file = file_of(fh);
  return agree_and_look(file, sync_storage(file), "could not write to the disk what is new in");
}

}  // namespace dunlin::io
