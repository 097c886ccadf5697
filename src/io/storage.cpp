#include "io/storage.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/variable.hpp"
#include "datatype/copy.hpp"
#include "datatype/cursor.hpp"
#include "io/kernel_copy.hpp"
#include "io/pages.hpp"
#include "io/read_queue.hpp"
#include "os/time_slice.hpp"

namespace dunlin::io {
namespace {

// Measured by docs/files.md: a system call costs as much as copying these bytes.
IntVariable sieve_bytes{
    "FILE_SIEVE_BYTES", 1536, "bytes",
    "pieces of a file that are at most this long on average are read or written with what lies between them",
    0};
IntVariable sieve_distance{
    "FILE_SIEVE_DISTANCE", 8192, "bytes",
    "DUNLIN_FILE_SIEVE_BYTES only where the pieces begin at most this far apart on average", 0};
// In the page cache of a disk a call that writes looks at all blocks of the folio it writes to, up to 2 MiB,
// and one that reads many pages of a folio is faster (docs/files.md): pieces so many times as long, and
// written ones as far apart, are still short.
constexpr std::int64_t kDiskPieces = 8, kDiskDistancesWritten = 2;
// So short that the window, its pages of the file and what is copied stay in a core's second cache
// (docs/decisions/0023-files.md).
IntVariable window_bytes{"FILE_WINDOW_BYTES",
                         256 << 10,
                         "bytes",
                         "how much of a file is read or changed at once where its pieces are short",
                         4096,
                         1 << 30};

static_assert(kRunsMax <= IOV_MAX);
// The last two bytes that a lock can name.
constexpr std::int64_t kWithoutLocks = INT64_MAX - 1, kWindows = INT64_MAX;

/// A shared lock, or none, of one of these, without waiting.
bool try_tell(int descriptor, short kind, std::int64_t byte) noexcept {
  struct flock one = {};
  one.l_type = kind;
  one.l_whence = SEEK_SET;
  one.l_start = byte;
  one.l_len = 1;
  return fcntl(descriptor, F_OFD_SETLK, &one) == 0;
}

/// Whether another open file holds a lock of it.
bool is_told(int descriptor, std::int64_t byte) noexcept {
  struct flock one = {};
  one.l_type = F_WRLCK;
  one.l_whence = SEEK_SET;
  one.l_start = byte;
  one.l_len = 1;
  return fcntl(descriptor, F_OFD_GETLK, &one) != 0 || one.l_type != F_UNLCK;
}

/// A file that others have just made is found, also where this machine remembers that it was not there.
void look_again_at_folder_of(const char* name) noexcept {
  const char* const end = std::strrchr(name, '/');
  const std::string folder = end ? std::string(name, end + 1) : ".";
  struct statx status;
  (void)statx(AT_FDCWD, folder.c_str(), AT_STATX_FORCE_SYNC, STATX_MTIME, &status);
}

/// Whose locks the kernel keeps alone are known; so is who has a server.
Backing backing_of(int descriptor, const struct stat& status) noexcept {
  struct statfs system;
  if (!S_ISREG(status.st_mode) || fstatfs(descriptor, &system) != 0) return Backing::other;  // a device
  if (unsigned(system.f_type) == NFS_SUPER_MAGIC) return Backing::shared;
  if (!try_tell(descriptor, F_UNLCK, kWindows)) return Backing::other;  // no such locks here
  switch (unsigned(system.f_type)) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
      return Backing::memory;
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
      return Backing::disk;
    default:
      return Backing::other;
  }
}

}  // namespace

/// The open files of this process.  A child of fork has no part in them: the kernel's locks would last as
/// long as the child where its parent is killed.
class OpenStorages {
 public:
  static OpenStorages& get() noexcept {
    static OpenStorages& all = *new OpenStorages;  // never destroyed: a fork may come at any time
    return all;
  }
  void add(Storage& storage) noexcept {
    const std::lock_guard guard(mutex_);
    if (all_.empty()) turns_.emplace();
    all_.push_back(&storage);
  }
  void remove(Storage& storage) noexcept {
    const std::lock_guard guard(mutex_);
    std::erase(all_, &storage);
    if (all_.empty()) turns_.reset();
  }
  /// Those that have opened the same file.
  void end_without_locks(const Storage& storage) noexcept {
    const std::lock_guard guard(mutex_);
    for (Storage* const each : all_)
      if (each->device_ == storage.device_ && each->inode_ == storage.inode_) each->end_without_locks();
  }

 private:
  OpenStorages() noexcept {
    (void)pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); },
                         [] { get().close_in_child(); });
  }
  void close_in_child() noexcept {
    for (Storage* const each : all_) ::close(std::exchange(each->descriptor_, -1));
    all_.clear();
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::vector<Storage*> all_;
  // Writing, the kernel has one process at a time in a file.  A rank whose turn ends there has all others
  // wait, and where turns are short, each that is woken to write ends the turn of another
  // (docs/decisions/0023-files.md).
  std::optional<os::UsualTurns> turns_;
};

Storage::~Storage() { close(); }

int Storage::open(const char* name, int flags, unsigned permissions) noexcept {
  DUNLIN_ASSERT(!is_open());
  const bool is_write_only = (flags & O_ACCMODE) == O_WRONLY;
  const auto open_as = [&](int access) {
    return ::open(name, (flags & ~O_ACCMODE) | access | O_CLOEXEC, permissions);
  };
  // A window is read before it is written.
  descriptor_ = open_as(is_write_only ? O_RDWR : flags & O_ACCMODE);
  if (descriptor_ < 0 && errno == ENOENT) {
    look_again_at_folder_of(name);
    descriptor_ = open_as(is_write_only ? O_RDWR : flags & O_ACCMODE);
  }
  is_readable_ = true;
  if (descriptor_ < 0 && is_write_only && (errno == EACCES || errno == EPERM)) {
    is_readable_ = false;
    descriptor_ = open_as(O_WRONLY);
  }
  if (descriptor_ < 0) return errno;
  struct stat status = {};
  if (fstat(descriptor_, &status) == 0) backing_ = backing_of(descriptor_, status);
  if (S_ISDIR(status.st_mode)) {  // the kernel lets it be opened, and nothing more
    ::close(std::exchange(descriptor_, -1));
    return EISDIR;
  }
  has_offsets_ = S_ISREG(status.st_mode) || S_ISBLK(status.st_mode);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  if ((flags & O_ACCMODE) != O_RDONLY) begin_without_locks();
  OpenStorages::get().add(*this);
  return 0;
}

int Storage::close() noexcept {
  if (descriptor_ < 0) return 0;
  OpenStorages::get().remove(*this);
  begins_windows_ = needs_no_locks_ = tells_of_windows_ = all_use_locks_ = false;
  return ::close(std::exchange(descriptor_, -1)) == 0 || errno == EINTR ? 0 : errno;  // closed in any case
}

/// Unless somebody changes windows already.
void Storage::begin_without_locks() noexcept {
  // The kernel gives shared locks only to those who may read.
  if (!has_locks() || !is_readable_ || !try_tell(descriptor_, F_RDLCK, kWithoutLocks)) return;
  needs_no_locks_ = !is_told(descriptor_, kWindows);
  if (!needs_no_locks_) (void)try_tell(descriptor_, F_UNLCK, kWithoutLocks);
}

/// Waits for writes that have begun.
void Storage::end_without_locks() noexcept {
  const std::lock_guard guard(turns_);
  if (std::exchange(needs_no_locks_, false)) (void)try_tell(descriptor_, F_UNLCK, kWithoutLocks);
}

void Storage::begin_windows() noexcept {
  begins_windows_ = true;
  if (!has_locks()) return;
  OpenStorages::get().end_without_locks(*this);
  const std::lock_guard guard(turns_);
  if (!tells_of_windows_ && can_change()) tells_of_windows_ = try_tell(descriptor_, F_RDLCK, kWindows);
}

/// Of who has the turn: whether nobody writes without locks.
bool Storage::all_use_locks() const noexcept {
  if (!all_use_locks_) all_use_locks_ = tells_of_windows_ && !is_told(descriptor_, kWithoutLocks);
  return all_use_locks_;
}

int Storage::sync() const noexcept {
  int reason;
  do reason = fsync(descriptor_) == 0 ? 0 : errno;
  while (reason == EINTR);
  return reason == EINVAL || reason == EROFS ? 0 : reason;  // a file that has no disk behind it
}

/// Where the server keeps no locks, there is no help.
void Storage::look_again() const noexcept {
  if (!is_shared() || !is_readable_) return;
  (void)try_tell(descriptor_, F_RDLCK, kWithoutLocks);
  // While it is held, processes of this machine that write to one page have it sent in between.
  if (!is_apart_) (void)try_tell(descriptor_, F_UNLCK, kWithoutLocks);
}

std::int64_t Storage::size() const noexcept {
  if (is_shared()) {
    struct statx status;
    constexpr int kAsksServer = AT_EMPTY_PATH | AT_STATX_FORCE_SYNC;
    const bool is_known = statx(descriptor_, "", kAsksServer, STATX_SIZE, &status) == 0;
    return is_known ? std::int64_t(status.stx_size) : -1;
  }
  struct stat status;
  return fstat(descriptor_, &status) == 0 ? std::int64_t(status.st_size) : -1;
}

int Storage::set_size(std::int64_t size) const noexcept {
  // A window that has been read would bring back what is cut off.
  const Guard guard(*this, has_locks() ? Sharing::run : Sharing::held, size, 0);
  if (guard.reason() != 0) return guard.reason();
  int result;
  do result = ftruncate(descriptor_, size);
  while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

/// Waits until no other open file holds a lock there; `to` as 0 is the end of the file.
bool Storage::lock(short kind, std::int64_t from, std::int64_t to) const noexcept {
  to = to > 0 ? std::min(to, kWithoutLocks) : kWithoutLocks;
  if (from >= to) return true;  // the last bytes that a file can have
  struct flock range = {};
  range.l_type = kind;
  range.l_whence = SEEK_SET;
  range.l_start = from;
  range.l_len = to - from;
  int result;
  do result = fcntl(descriptor_, F_OFD_SETLKW, &range);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

void Storage::Guard::lock(Sharing sharing) noexcept {
  if (sharing == Sharing::run) {
    no_turn_ = std::shared_lock(storage_.turns_);
    if (storage_.needs_no_locks_) return;
    no_turn_.unlock();
  }
  turn_ = std::unique_lock(storage_.turns_);
  const bool is_shared = sharing != Sharing::exclusive && storage_.is_readable_;
  is_locked_ = storage_.lock(is_shared ? F_RDLCK : F_WRLCK, from_, to_);
  if (!is_locked_) reason_ = errno;
}

Storage::Sharing Storage::sharing_of(const Access& access) const noexcept {
  const bool needs_none = access.is_atomic || access.direction == Direction::read || !has_locks();
  return needs_none ? Sharing::held : Sharing::run;
}

Outcome Storage::move_atomic(const Access& access) const noexcept {
  const auto bytes = std::int64_t(access.memory.bytes());
  if (bytes == 0) return {};
  const bool is_ordered = access.file.is_monotonic();  // else anywhere
  const std::int64_t from = is_ordered ? access.file.offset_of(access.position) : 0;
  const std::int64_t to = is_ordered ? access.file.end_of(access.position, bytes) : 0;
  const Guard guard(*this, access.direction == Direction::read ? Sharing::shared : Sharing::exclusive, from,
                    to);
  if (guard.reason() != 0) return {0, guard.reason(), from};
  return move_runs(access);
}

bool Storage::move_listed(Direction direction, std::span<iovec> pieces, std::int64_t offset) const noexcept {
  std::int64_t left = 0;
  for (const iovec& piece : pieces) left += std::int64_t(piece.iov_len);
  const bool needs_lock = direction == Direction::write && has_locks();
  const Guard guard(*this, needs_lock ? Sharing::run : Sharing::held, offset, offset + left);
  if (guard.reason() != 0) return false;
  const Writing writing(direction == Direction::write ? writers_ : nullptr, std::size_t(left));
  auto moved = writing.is_long()
                   ? ssize_t(writing.write_pages(descriptor_, pieces, offset, std::size_t(left) - kPageBytes,
                                                 pages_are(false)))
                   : 0;
  for (; left > 0; moved = 0) {
    if (moved == 0) moved = move_some(descriptor_, direction, pieces.data(), int(pieces.size()), offset);
    if (moved <= 0) return false;
    offset += moved;
    left -= moved;
    auto done = std::size_t(moved);
    for (; !pieces.empty() && done >= pieces.front().iov_len; pieces = pieces.subspan(1))
      done -= pieces.front().iov_len;
    if (done > 0) {
      iovec& first = pieces.front();
      first = {static_cast<std::byte*>(first.iov_base) + done, first.iov_len - done};
    }
  }
  return true;
}

bool Storage::try_queue(const Access& access, Read& read) const noexcept {
  const std::size_t bytes = access.memory.bytes();
  if (!has_offsets_ || !access.is_one_read() || bytes == 0 || bytes > kCallBytes) return false;
  read.descriptor = descriptor_;
  read.at = access.memory.at;
  read.bytes = bytes;
  read.offset = access.file.offset_of(access.position);
  return !takes_detour(Direction::read, read.at, bytes, read.offset) && io::try_queue(read);
}

void Storage::announce(const Access& access) const noexcept {
  const auto bytes = std::int64_t(access.memory.bytes());
  if (access.direction != Direction::read || bytes == 0 || !access.file.is_monotonic()) return;
  const std::int64_t from = access.file.offset_of(access.position);
  // An error is that of the read.
  (void)posix_fadvise(descriptor_, from, access.file.end_of(access.position, bytes) - from,
                      POSIX_FADV_WILLNEED);
}

/// One run of the file.
Outcome Storage::move_whole(const Access& access) const noexcept {
  Outcome outcome;
  const auto bytes = std::int64_t(access.memory.bytes());
  if (bytes == 0) return outcome;
  const std::int64_t from = access.file.offset_of(access.position);
  const Guard guard(*this, sharing_of(access), from, from + bytes);
  if (guard.reason() != 0) return {0, guard.reason(), from};
  if (access.memory.is_contiguous()) {
    outcome.bytes =
        std::int64_t(move_piece(access.direction, access.memory.at, std::size_t(bytes), from, outcome));
  } else {
    Cursor memory(access.memory.source());
    move_pieces(access, memory, from, std::size_t(bytes), outcome);
  }
  return outcome;
}

Outcome Storage::move_runs(const Access& access) const noexcept {
  if (access.file.is_contiguous()) return move_whole(access);
  Outcome outcome;
  Cursor memory(access.memory.source());
  const auto bytes = std::int64_t(memory.bytes());
  while (outcome.bytes < bytes) {
    Piece runs[kRunsMax];
    Cursor cursor = access.file.runs(access.position + outcome.bytes);
    const std::size_t n = cursor.pieces(runs, std::size_t(bytes - outcome.bytes));
    const auto listed = std::int64_t(cursor.position()) - access.position - outcome.bytes;
    const auto offset_of = [&](std::size_t i) { return reinterpret_cast<std::int64_t>(runs[i].address); };
    const std::int64_t span = offset_of(n - 1) + std::int64_t(runs[n - 1].bytes) - offset_of(0);
    const bool is_ordered = access.file.is_monotonic();  // else anywhere
    if (is_ordered && wants_window(access.direction, std::int64_t(n), listed, span)) {
      if (!sieve(access, bytes, outcome)) return outcome;
      continue;
    }
    const std::int64_t from = is_ordered ? offset_of(0) : 0, to = is_ordered ? from + span : 0;
    const Guard guard(*this, sharing_of(access), from, to);
    if (guard.reason() != 0) {
      outcome.reason = guard.reason();
      outcome.offset = from;
      return outcome;
    }
    memory.seek(std::size_t(outcome.bytes));
    std::size_t i = 0;
    const bool are_long = listed >= std::int64_t(n * kPagesBytesMin);  // then each finds its pages
    if (is_in_memory() && is_ordered && access.direction == Direction::write && !are_long) {
      make_large_pages_of(access, from, to, false);
      i = write_to_large_pages(access, memory, {runs, n}, outcome);
    }
    for (; i < n; ++i)
      if (!move_run(access, memory, offset_of(i), runs[i].bytes, outcome)) return outcome;
  }
  return outcome;
}

bool Storage::may_want_windows(std::int64_t run_bytes) const noexcept {
  const bool is_asked_for = read_sieving_ == Choice::enable || write_sieving_ == Choice::enable;
  return is_asked_for || run_bytes <= sieve_bytes.get() * (backing_ == Backing::disk ? kDiskPieces : 1);
}

bool Storage::wants_window(Direction direction, std::int64_t runs, std::int64_t bytes,
                           std::int64_t span) const noexcept {
  const Choice choice = direction == Direction::read ? read_sieving_ : write_sieving_;
  const bool is_possible = direction == Direction::read ? choice != Choice::disable : can_change();
  if (runs < 2 || !is_possible) return false;
  if (choice == Choice::enable) return true;
  const bool is_read = direction == Direction::read, is_disk = backing_ == Backing::disk;
  const bool are_folios = is_disk || (is_read && pages_are(false) == Pages::large);
  const std::int64_t longest = sieve_bytes.get() * (are_folios ? kDiskPieces : 1);
  const std::int64_t farthest = sieve_distance.get() * (is_disk && !is_read ? kDiskDistancesWritten : 1);
  return bytes <= longest * runs && span <= farthest * runs;
}

std::size_t Storage::move_piece(Direction direction, std::byte* at, std::size_t bytes, std::int64_t offset,
                                Outcome& outcome) const noexcept {
  const Writing writing(direction == Direction::write ? writers_ : nullptr, bytes);
  return writing.is_long() ? write_long(writing, at, bytes, offset, outcome)
                           : move_all(descriptor_, direction, at, bytes, offset, outcome);
}

/// One run of the file; false where it is not all there.  `memory` stands at its first byte, and goes on.
bool Storage::move_run(const Access& access, Cursor& memory, std::int64_t offset, std::size_t bytes,
                       Outcome& outcome) const noexcept {
  if (access.memory.is_contiguous()) {
    std::byte* const at = access.memory.at + memory.position();
    const std::size_t moved = move_piece(access.direction, at, bytes, offset, outcome);
    memory.seek(memory.position() + moved);
    outcome.bytes += std::int64_t(moved);
    return moved == bytes;
  }
  return move_pieces(access, memory, offset, bytes, outcome);
}

/// The same between a run of the file and many pieces of memory.
bool Storage::move_pieces(const Access& access, Cursor& memory, std::int64_t offset, std::size_t bytes,
                          Outcome& outcome) const noexcept {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t begin = memory.position();
    Piece pieces[kRunsMax];
    const std::size_t n = memory.pieces(pieces, std::min(bytes - done, kCallBytes));
    std::size_t moved = 0;
    if (memory.position() - begin >= n * kPieceBytes) {
      iovec vectors[kRunsMax];
      for (std::size_t i = 0; i < n; ++i) vectors[i] = {pieces[i].address, pieces[i].bytes};
      const std::int64_t at = offset + std::int64_t(done);
      const ssize_t result = move_some(descriptor_, access.direction, vectors, int(n), at);
      if (result < 0) return fails(outcome, at);
      moved = std::size_t(result);
      memory.seek(begin + moved);
    } else {
      memory.seek(begin);
      const std::size_t wanted = std::min(bytes - done, kPackBytes);
      std::byte* const packed = scratch(wanted, offset + std::int64_t(done));
      const bool is_write = access.direction == Direction::write;
      if (is_write) memory.pack(packed, wanted);
      moved = move_all(descriptor_, access.direction, packed, wanted, offset + std::int64_t(done), outcome);
      if (is_write)
        memory.seek(begin + moved);
      else
        memory.unpack(packed, moved);
      if (outcome.reason != 0) {
        outcome.bytes += std::int64_t(moved);
        return false;
      }
    }
    if (moved == 0) return false;
    done += moved;
    outcome.bytes += std::int64_t(moved);
  }
  return true;
}

/// Short runs: the next window of the file; `bytes` of the access in all.
bool Storage::sieve(const Access& access, std::int64_t bytes, Outcome& outcome) const noexcept {
  const std::int64_t position = access.position + outcome.bytes, end = access.position + bytes;
  const std::int64_t low = access.file.offset_of(position);
  const std::int64_t high = low + std::min<std::int64_t>(window_bytes.get(), INT64_MAX - low);
  const std::int64_t next = std::min(access.file.position_at(high), end);
  DUNLIN_ASSERT(next > position);
  if (access.direction == Direction::read) {
    Outcome read = outcome;
    const bool is_all_there = read_window(access, low, next - position, read);
    if (read.reason == 0) {
      outcome = read;
      return is_all_there;
    }
    // What is wrong may lie between the runs.
  } else {
    if (is_in_memory()) make_large_pages_of(access, low, high, true);
    if (try_write_window(access, low, next - position, outcome)) return true;
  }
  const Guard guard(*this, sharing_of(access), low, high);
  if (guard.reason() != 0) {
    outcome.reason = guard.reason();
    outcome.offset = low;
    return false;
  }
  Cursor memory(access.memory.source()), cursor = access.file.runs(position);
  memory.seek(std::size_t(outcome.bytes));
  for (std::int64_t left = next - position; left > 0;) {
    Piece run;
    cursor.pieces({&run, 1}, std::size_t(left));
    left -= std::int64_t(run.bytes);
    if (!move_run(access, memory, reinterpret_cast<std::int64_t>(run.address), run.bytes, outcome))
      return false;
  }
  return true;
}

bool Storage::read_window(const Access& access, std::int64_t low, std::int64_t bytes,
                          Outcome& outcome) const noexcept {
  const std::int64_t position = access.position + outcome.bytes;
  const auto span = std::size_t(access.file.end_of(position, bytes) - low);
  std::byte* const window = scratch(span, low);
  const std::size_t there = move_all(descriptor_, Direction::read, window, span, low, outcome);
  std::int64_t found = bytes;
  if (there < span) found = std::min(access.file.position_at(low + std::int64_t(there)) - position, bytes);
  copy_between(access.file.source(window - low), std::size_t(position), access.memory.target(),
               std::size_t(outcome.bytes), std::size_t(found));
  outcome.bytes += found;
  return found == bytes;
}

/// False: this window has to be written in another way, which finds what is wrong, if anything is.
bool Storage::try_write_window(const Access& access, std::int64_t low, std::int64_t bytes,
                               Outcome& outcome) const noexcept {
  const std::int64_t position = access.position + outcome.bytes;
  const std::int64_t high = access.file.end_of(position, bytes);
  const bool is_done = try_change(low, high, access.is_atomic, [&](std::byte* window) {
    copy_between(access.memory.source(), std::size_t(outcome.bytes), access.file.target(window - low),
                 std::size_t(position), std::size_t(bytes));
  });
  if (is_done) outcome.bytes += bytes;
  return is_done;
}

std::byte* Storage::read_all(std::int64_t low, std::int64_t high) const noexcept {
  const auto bytes = std::size_t(high - low);
  std::byte* const window = scratch(bytes, low);
  Outcome outcome;
  const std::size_t there = move_all(descriptor_, Direction::read, window, bytes, low, outcome);
  if (outcome.reason != 0) return nullptr;
  std::memset(window + there, 0, bytes - there);
  return window;
}

bool Storage::write_all(std::byte* window, std::int64_t low, std::int64_t high) const noexcept {
  Outcome outcome;
  const auto bytes = std::size_t(high - low);
  return move_all(descriptor_, Direction::write, window, bytes, low, outcome) == bytes;
}

Err error_of(int reason) noexcept {
  switch (reason) {
    case ENOENT:
      return Err::no_such_file;
    case EEXIST:
      return Err::file_exists;
    case EACCES:
    case EPERM:
      return Err::access;
    case EROFS:
      return Err::read_only;
    case ENOSPC:
      return Err::no_space;
    case EDQUOT:
      return Err::quota;
    case EBUSY:
    case ETXTBSY:
      return Err::file_in_use;
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
      return Err::bad_file;
    case ENOMEM:
      return Err::no_mem;
    default:
      return Err::io;
  }
}

}  // namespace dunlin::io
