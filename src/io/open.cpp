// Opening and closing (MPI 5.0, 14.2.1 to 14.2.3).
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "coll/agree.hpp"
#include "coll/functions.hpp"
#include "io/file.hpp"
#include "io/functions.hpp"
#include "rma/functions.hpp"
#include "rma/window.hpp"

namespace dunlin::io {
namespace {

/// What each rank tells the others of its opening.
struct Said {
  Err error = Err::ok;
  int reason = 0;  // errno
  int amode = 0;
};

Err check_mode(int amode) noexcept {
  constexpr int kAll = MPI_MODE_APPEND | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_EXCL |
                       MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL | MPI_MODE_UNIQUE_OPEN |
                       MPI_MODE_WRONLY;
  const int access = amode & (MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY);
  if (amode & ~kAll) return fail(Err::amode, "argument amode is 0x%x, which has unknown bits", amode);
  if (access != MPI_MODE_RDONLY && access != MPI_MODE_RDWR && access != MPI_MODE_WRONLY)
    return fail(Err::amode,
                "argument amode names not one of MPI_MODE_RDONLY, MPI_MODE_RDWR and "
                "MPI_MODE_WRONLY");
  if (access == MPI_MODE_RDONLY && amode & (MPI_MODE_CREATE | MPI_MODE_EXCL))
    return fail(Err::amode, "a file opened with MPI_MODE_RDONLY cannot be created");
  if (access == MPI_MODE_RDWR && amode & MPI_MODE_SEQUENTIAL)
    return fail(Err::amode, "a file opened with MPI_MODE_SEQUENTIAL cannot be read and written");
  return Err::ok;
}

int flags_of(int amode, bool creates) noexcept {
  const int access = amode & MPI_MODE_RDONLY ? O_RDONLY : amode & MPI_MODE_RDWR ? O_RDWR : O_WRONLY;
  const int create = amode & MPI_MODE_CREATE ? O_CREAT : 0, exclusive = amode & MPI_MODE_EXCL ? O_EXCL : 0;
  return creates ? access | create | exclusive : access;
}

unsigned permissions_of(const OpenFile& file) noexcept {
  const std::string* const hint = file.info->find("file_perm");
  return hint ? unsigned(std::strtoul(hint->c_str(), nullptr, 8)) & 0777 : 0666;
}

/// The first rank's error, for all of them.
Err error_of_all(const OpenFile& file, const std::vector<Said>& all) noexcept {
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].error != Err::ok && int(rank) != file.comm->rank)
      return fail(all[rank].error, "rank %zu refused to open \"%s\"", rank, file.name.c_str());
    if (all[rank].error != Err::ok) return all[rank].error;
    if (all[rank].reason != 0)
      return fail(error_of(all[rank].reason), "rank %zu could not open \"%s\": %s", rank, file.name.c_str(),
                  std::strerror(all[rank].reason));
    if (all[rank].amode != file.amode)
      return fail(Err::not_same, "argument amode is 0x%x on rank %d and 0x%x on rank %zu", file.amode,
                  file.comm->rank, all[rank].amode, rank);
  }
  return Err::ok;
}

/// Rank 0 creates the file where it is to be created; then it is there for the others.
Err open_storage(OpenFile& file) noexcept {
  Comm& comm = *file.comm;
  Said mine{check_mode(file.amode), 0, file.amode};
  const auto open_mine = [&] {
    mine.reason =
        file.storage.open(file.name.c_str(), flags_of(file.amode, comm.rank == 0), permissions_of(file));
  };
  if (comm.rank == 0 && mine.error == Err::ok) open_mine();
  if (const Err e = error_of_all(file, coll::gather_all(comm, mine)); e != Err::ok) return e;
  if (comm.size == 1) return Err::ok;
  if (comm.rank > 0) open_mine();
  return error_of_all(file, coll::gather_all(comm, mine));
}

Err set_pointers_to_end(OpenFile& file) noexcept {
  file.pointer = file.storage.size();
  Err error = Err::ok;
  if (file.comm->rank == 0) error = write_shared_pointer(file, file.pointer);
  if (const Err e = coll::barrier(*file.comm); e != Err::ok) return e;
  return error;
}

}  // namespace

OpenFile::OpenFile() noexcept : File(no_file().errhandler), view(plain_view()) {}

OpenFile::~OpenFile() = default;

Err OpenFile::error(int reason, const char* what, std::int64_t offset) const noexcept {
  return fail(error_of(reason), "rank %d %s \"%s\" at byte %lld: %s", comm->rank, what, name.c_str(),
              (long long)offset, std::strerror(reason));
}

Err OpenFile::error(int reason, const char* what) const noexcept {
  return fail(error_of(reason), "rank %d %s \"%s\": %s", comm->rank, what, name.c_str(),
              std::strerror(reason));
}

Err file_open(Comm& comm, const char* filename, int amode, Info* info, File** fh) noexcept {
  if (comm.is_inter())
    return fail(Err::comm, "argument comm is an inter-communicator, which cannot open files together");
  auto file = Ref<OpenFile>::adopt(new OpenFile);
  file->name = filename;
  file->amode = amode;
  set_hints(*file, info);
  Win* shared = nullptr;
  void* word = nullptr;
  const MPI_Aint bytes = comm.rank == 0 ? sizeof(std::int64_t) : 0;
  if (const Err e = rma::win_allocate(bytes, sizeof(std::int64_t), nullptr, comm, &word, &shared);
      e != Err::ok)
    return e;
  file->comm = rma::window_of(*shared).comm;
  Err error = open_storage(*file);
  if (error == Err::ok && amode & MPI_MODE_APPEND) {
    file->shared = Ref<Win>(shared);
    error = set_pointers_to_end(*file);
  }
  if (error != Err::ok) {
    file->shared = {};
    (void)rma::win_free(*shared);
    return error;
  }
  file->shared = Ref<Win>::adopt(shared);
  *fh = file.detach();
  return Err::ok;
}

/// After an error the file stays, so that closing it can be tried again.
Err file_close(File& fh) noexcept {
  OpenFile& file = file_of(fh);
  if (file.split) return fail(Err::other, "%s has not been followed by its end", file.split_call);
  const bool is_open = file.storage.is_open();
  int reason = sync_storage(file);
  if (reason == 0) reason = file.storage.close();
  if (reason == 0 && is_open && file.comm->rank == 0 && file.amode & MPI_MODE_DELETE_ON_CLOSE)
    reason = ::unlink(file.name.c_str()) == 0 ? 0 : errno;
  if (const Err e = agree(file, reason, "could not close"); e != Err::ok) return e;
  if (file.buffers)
    if (const Err e = rma::win_free(*file.buffers.detach()); e != Err::ok) return e;
  const Err error = rma::win_free(*file.shared.detach());
  file.release();
  return error;
}

Err file_delete(const char* filename, Info*) noexcept {
  if (::unlink(filename) == 0) return Err::ok;
  const int reason = errno;
  return fail(error_of(reason), "\"%s\" could not be deleted: %s", filename, std::strerror(reason));
}

}  // namespace dunlin::io
