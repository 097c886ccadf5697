// Opening and closing (MPI 5.0, 14.2.1 to 14.2.3).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "coll/agree.hpp"
#include "coll/functions.hpp"
#include "comm/process.hpp"
#include "comm/region.hpp"
#include "io/collective.hpp"
#include "io/common.hpp"
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
  int common = -1;  // rank 0: number of what the file is to use (common.hpp)
  bool has_locks = false, is_shared = false;
  CollectiveHints hints;  // rank 0's count
};

Err check_mode(int amode) noexcept {
  constexpr int kAll = MPI_MODE_APPEND | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_EXCL |
                       MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL | MPI_MODE_UNIQUE_OPEN |
                       MPI_MODE_WRONLY;
  const int access = amode & (MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY);
  if (amode == kRefused) return Err::arg;
  if (amode & ~kAll) return fail(Err::amode, "argument amode is 0x%x, which has unknown bits", amode);
  if (access != MPI_MODE_RDONLY && access != MPI_MODE_RDWR && access != MPI_MODE_WRONLY)
    return fail(Err::amode,
                "argument amode must have exactly one of MPI_MODE_RDONLY, MPI_MODE_RDWR and "
                "MPI_MODE_WRONLY");
  if (access == MPI_MODE_RDONLY && amode & (MPI_MODE_CREATE | MPI_MODE_EXCL))
    return fail(Err::amode,
                "argument amode has MPI_MODE_RDONLY, which excludes MPI_MODE_CREATE and MPI_MODE_EXCL");
  if (access == MPI_MODE_RDWR && amode & MPI_MODE_SEQUENTIAL)
    return fail(Err::amode, "argument amode has MPI_MODE_SEQUENTIAL, which excludes MPI_MODE_RDWR");
  return Err::ok;
}

/// Whether the file must not be there before.  MPI_MODE_EXCL alone says nothing: no file is created.
bool must_be_new(int amode) noexcept {
  constexpr int kBoth = MPI_MODE_CREATE | MPI_MODE_EXCL;
  return (amode & kBoth) == kBoth;
}

/// Who comes behind the first creates it, too: else a machine may believe that it is still not there.
int flags_of(int amode, bool is_first) noexcept {
  const int access = amode & MPI_MODE_RDONLY ? O_RDONLY : amode & MPI_MODE_RDWR ? O_RDWR : O_WRONLY;
  const int create = amode & MPI_MODE_CREATE ? O_CREAT : 0;
  return access | create | (is_first && must_be_new(amode) ? O_EXCL : 0);
}

/// The same file wherever this process works later.
std::string absolute(const char* name) noexcept {
  char folder[PATH_MAX];
  if (*name == '/' || !getcwd(folder, sizeof folder)) return name;
  return std::string(folder) + '/' + name;
}

/// This rank's error, or the first of the others.
Err error_of_all(const OpenFile& file, const Comm& comm, const std::vector<Said>& all) noexcept {
  if (const Err mine = all[std::size_t(comm.rank)].error; mine != Err::ok) return mine;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].error != Err::ok)
      return fail(all[rank].error, "rank %zu gave a wrong argument, opening \"%s\"", rank, file.name.c_str());
    if (all[rank].reason != 0)
      return fail(error_of(all[rank].reason), "rank %zu could not open \"%s\": %s", rank, file.name.c_str(),
                  std::strerror(all[rank].reason));
    if (all[rank].amode != file.amode)
      return fail(Err::not_same, "argument amode is 0x%x on rank %d and 0x%x on rank %zu", file.amode,
                  comm.rank, all[rank].amode, rank);
  }
  return Err::ok;
}

std::unique_ptr<const coll::Hierarchy> nodes_of(const Comm& comm) noexcept {
  return std::make_unique<const coll::Hierarchy>(comm::places_of(comm), comm.size);
}

/// Processes of other machines that may have the file, too, are those of the job, or of the communicator.
void look_at_server(Storage& storage, const Comm& comm) noexcept {
  if (!storage.is_shared()) return;
  if (comm::Process::of_process()->node_map.nodes() > 1 || nodes_of(comm)->domains() > 1) storage.set_apart();
  storage.look_again();
}

/// All ranks at once; a file is created when all are here, as some may only now have deleted what was there
/// (HDF5's tests do).  Only where it must not be there before, rank 0 creates it first.
Err open_storage(OpenFile& file, Comm& comm, Said& mine) noexcept {
  if (file.amode & MPI_MODE_CREATE)
    if (const Err e = error_of_all(file, comm, coll::gather_all(comm, mine)); e != Err::ok) return e;
  const bool is_first = comm.rank == 0, is_new = must_be_new(file.amode);
  const auto open_mine = [&] {
    if (mine.error != Err::ok) return;
    mine.reason =
        file.storage.open(file.name.c_str(), flags_of(file.amode, is_first), file.hints.file_perm);
    look_at_server(file.storage, comm);
  };
  if (is_new) {
    if (is_first) open_mine();
    if (const Err e = error_of_all(file, comm, coll::gather_all(comm, mine)); e != Err::ok) return e;
  }
  if (!file.storage.is_open()) open_mine();
  if (file.amode & MPI_MODE_APPEND && file.storage.is_open()) file.pointer = file.storage.size();
  if (file.common && mine.error == Err::ok) mine.error = write_shared_pointer(file, file.pointer);
  mine.has_locks = file.storage.has_locks();
  mine.is_shared = file.storage.is_shared();
  const std::vector<Said> all = coll::gather_all(comm, mine);
  file.all_have_locks = std::all_of(all.begin(), all.end(), [](const Said& s) { return s.has_locks; });
  file.are_apart = std::any_of(all.begin(), all.end(), [](const Said& s) { return s.is_shared; });
  mine.common = all[0].common;
  static_cast<CollectiveHints&>(file.hints) = all[0].hints;
  return error_of_all(file, comm, all);
}

/// The file's own communicator, and the shared pointer; rank 0 has set one that is used again.
Err join(OpenFile& file, Comm& comm, int number) noexcept {
  if (number >= 0 && comm.rank > 0) file.common = take_common(comm, number);
  if (number < 0)
    if (const Err e = make_common(comm, &file.common); e != Err::ok) return e;
  file.comm = rma::window_of(*file.common->window).comm;
  file.nodes = nodes_of(*file.comm);
  file.are_apart = file.are_apart && file.nodes->domains() > 1;
  const bool are_pages = file.storage.is_in_memory() && file.common->words;
  if (are_pages) file.storage.set_writers(&file.common->words->writers);
  if (number >= 0 || !(file.amode & MPI_MODE_APPEND)) return Err::ok;
  const Err error = comm.rank == 0 ? write_shared_pointer(file, file.pointer) : Err::ok;
  return coll::agree(*file.comm, error, "setting the shared pointer");
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
  file->path = absolute(filename);
  file->amode = amode;
  file->given = Ref<Info>::adopt(new Info);
  take_hints(*file, info);
  Said mine{check_mode(amode), 0, amode, -1, false, false, file->hints};
  if (comm.rank == 0) mine.common = find_common(comm);
  if (mine.common >= 0) file->common = take_common(comm, mine.common);
  if (const Err e = open_storage(*file, comm, mine); e != Err::ok) {
    // What has just been created goes: else it could not be tried again.
    if (comm.rank == 0 && must_be_new(amode) && file->storage.is_open()) (void)::unlink(filename);
    if (file->common) file->common->is_in_use = false;
    return e;
  }
  if (const Err e = join(*file, comm, mine.common); e != Err::ok) return e;
  // Here the hints and the view are the same on all ranks.
  if (const Prospects prospects = Prospects::of(*file, file->view); prospects.are_together)
    if (const Err e = prepare_together(*file, prospects); e != Err::ok) return e;
  *fh = file.detach();
  return Err::ok;
}

/// After an error the file stays, so that closing it can be tried again.
Err file_close(File& fh) noexcept {
  OpenFile& file = file_of(fh);
  const bool is_split = bool(file.split);
  if (!is_split) finish_accesses(file);
  const bool is_deleted = file.amode & MPI_MODE_DELETE_ON_CLOSE;  // then it need not reach the disk
  int reason = is_split ? EBUSY : is_deleted ? 0 : sync_storage(file);
  if (reason == 0) reason = file.storage.close();
  const Err error = agree(file, reason, "could not close");
  if (is_split) return fail(Err::other, "%s has not been followed by its end", file.split_call);
  if (error != Err::ok) return error;
  if (is_deleted) {  // by now all have closed it: a server may not know a deleted file any more
    reason = file.comm->rank == 0 && ::unlink(file.path.c_str()) != 0 ? errno : 0;
    if (const Err e = agree(file, reason, "could not delete"); e != Err::ok) return e;
    file.amode &= ~MPI_MODE_DELETE_ON_CLOSE;
  }
  if (file.buffers)
    if (const Err e = rma::win_free(*file.buffers.detach()); e != Err::ok) return e;
  file.common->is_in_use = false;
  file.release();
  return Err::ok;
}

Err file_delete(const char* filename, Info*) noexcept {
  if (::unlink(filename) == 0) return Err::ok;
  const int reason = errno;
  return fail(error_of(reason), "\"%s\" could not be deleted: %s", filename, std::strerror(reason));
}

}  // namespace dunlin::io
