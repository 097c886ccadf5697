// Moving bytes between memory and an open file: everything that asks the kernel, and knows nothing of
// communicators.
//
// One access is one pass over the runs of the view and the pieces of the program's buffer.  Long runs are
// read and written in place, as many pieces at once as the kernel takes.  Where runs are short, a system call
// for each would cost more than the bytes: then a window of the file is read at once and picked from (data
// sieving), or changed and written back.  Meanwhile nobody else may write there: who changes a window holds
// an exclusive lock of the kernel on it, who writes runs a shared one on them, unless nobody changes windows.
// Who does what is told by locks, too, of two bytes behind all that a file can have (docs/files.md):
//
//   * who writes without locks holds a shared lock of the first;
//   * who may change windows holds a shared lock of the second, and changes none while others hold the first;
//   * each takes its own before it looks for the other: at least one of them sees the other.
//
// Where a server has the file, there are no windows.  Whoever shares it with processes of other machines
// holds a shared lock of the first byte: then this machine sends the server the bytes that were written,
// and not what lies beside them in its own pages, which others may have changed there.  Taking that lock
// again forgets those pages (docs/files.md).
//
// Thread safety: threads may read at once, and write at once without locks; with locks their writes to one
// Storage take turns, as the kernel's locks are those of the open file.
#pragma once

#include <fcntl.h>
#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>

#include "base/err.hpp"
#include "coll/block.hpp"
#include "io/hints.hpp"
#include "io/tiling.hpp"
#include "transport/shm/commons.hpp"

namespace dunlin::io {

struct Read;
class Writing;
enum class Pages : std::uint8_t;

enum class Direction : std::uint8_t { read, write };

/// What holds a file.  In memory and on a disk the locks of this machine's kernel are everybody's, and it may
/// be changed by windows.  A shared one has a server, and each machine keeps pages and lengths of its own.
enum class Backing : std::uint8_t { other, shared, memory, disk };

/// How far an access came.
struct Outcome {
  std::int64_t bytes = 0;   // moved; less than wanted at the end of the file, or after an error
  int reason = 0;           // errno; 0: no error
  std::int64_t offset = 0;  // in the file, where the error was
};

/// What is to be moved.
struct Access {
  Direction direction = Direction::read;
  coll::Block memory;
  Tiling file;
  std::int64_t position = 0;  // in `file`, of the first byte
  bool is_atomic = false;     // others see all of it or nothing
  /// From there on so many ranks, with this one, probably write what this view leaves out; INT64_MAX: nobody
  /// does.
  std::int64_t filled_from = INT64_MAX;
  int filled_by = 1;

  /// Of one piece of the file, to one of memory.
  bool is_one_read() const noexcept {
    return direction == Direction::read && memory.is_contiguous() && file.is_contiguous() && !is_atomic;
  }
};

/// An open file of this process.
class Storage {
 public:
  Storage() = default;
  Storage(const Storage&) = delete;
  ~Storage();

  /// `flags` and `permissions` as for open(2); the errno, or 0.
  int open(const char* name, int flags, unsigned permissions) noexcept;
  int close() noexcept;
  bool is_open() const noexcept { return descriptor_ >= 0; }
  int descriptor() const noexcept { return descriptor_; }
  /// -1 with errno where the file system does not say.
  std::int64_t size() const noexcept;
  /// The errno, or 0.
  int set_size(std::int64_t size) const noexcept;
  /// Brings to the disk, or to the server, what this machine has of the file; the errno, or 0.
  int sync() const noexcept;
  /// Of a shared one: processes of other machines may write to it.
  void set_apart() noexcept { is_apart_ = true; }
  /// From now on what other machines have brought to the server is seen.
  void look_again() const noexcept;

  /// Whether short runs are read and written by windows of the file; nobody may be using it.
  void set_sieving(Choice read, Choice write) noexcept { read_sieving_ = read, write_sieving_ = write; }

  /// Where the processes of this node that write long pieces to the file are counted.
  void set_writers(transport::shm::Number* writers) noexcept { writers_ = writers; }

  /// Whether the locks of this machine's kernel are everybody's.
  bool has_locks() const noexcept { return backing_ == Backing::memory || backing_ == Backing::disk; }
  bool is_shared() const noexcept { return backing_ == Backing::shared; }
  bool is_in_memory() const noexcept { return backing_ == Backing::memory; }
  /// From now on this process locks what it writes, and changes windows where it may; by other opens of the
  /// same file it locks, too.  Before the first window all ranks of the file have done so.
  void begin_windows() noexcept;

  Outcome move(const Access& access) const noexcept {
    return access.is_atomic ? move_atomic(access) : move_runs(access);
  }
  /// Pieces of memory, at most as many as the kernel takes, and what lies at `offset` of the file, in one
  /// call. False: not all were moved.
  bool move_listed(Direction direction, std::span<iovec> pieces, std::int64_t offset) const noexcept;
  /// Whether windows may be written, unless others write without locks.
  bool can_change() const noexcept {
    return begins_windows_ && has_locks() && is_readable_ && write_sieving_ != Choice::disable;
  }
  /// Whether runs that are nowhere shorter may be moved by windows.
  bool may_want_windows(std::int64_t run_bytes) const noexcept;
  /// Whether `runs` of `bytes` in all, from the first to the last `span` long, are moved by a window.
  /// Writing, never where locks may not reach everybody, and not where the program forbids it.
  bool wants_window(Direction direction, std::int64_t runs, std::int64_t bytes,
                    std::int64_t span) const noexcept;
  /// Reads bytes [low, high) of the file, has `change` change some of them in memory, and writes all of them;
  /// what the file does not have yet is 0.  False, with nothing noted: it did not come about.
  template <class Change>
  bool try_change(std::int64_t low, std::int64_t high, bool is_atomic, const Change& change) const noexcept {
    const Guard guard(*this, is_atomic ? Sharing::held : Sharing::exclusive, low, high);
    if (guard.reason() != 0 || !all_use_locks()) return false;
    std::byte* const window = read_all(low, high);
    if (!window) return false;
    change(window);
    return write_all(window, low, high);
  }
  /// Before all of [low, high) is written: where the file lies in memory and has nothing there yet, large
  /// pages are made, the first of which is that with this number, and each `step` behind it.
  void make_large_pages(std::int64_t low, std::int64_t high, int first, int step) const noexcept;
  /// Whether a read is one that the kernel's queue (io/read_queue.hpp) takes.
  bool try_queue(const Access& access, Read& read) const noexcept;
  /// Of a read whose turn will come: the disk is asked for its bytes now.
  void announce(const Access& access) const noexcept;

 private:
  Outcome move_atomic(const Access& access) const noexcept;
  Outcome move_runs(const Access& access) const noexcept;
  Outcome move_whole(const Access& access) const noexcept;
  /// Between a run of the file and one piece of memory; how many bytes.
  std::size_t move_piece(Direction direction, std::byte* at, std::size_t bytes, std::int64_t offset,
                         Outcome& outcome) const noexcept;
  bool move_run(const Access& access, Cursor& memory, std::int64_t offset, std::size_t bytes,
                Outcome& outcome) const noexcept;
  bool move_pieces(const Access& access, Cursor& memory, std::int64_t offset, std::size_t bytes,
                   Outcome& outcome) const noexcept;
  bool sieve(const Access& access, std::int64_t bytes, Outcome& outcome) const noexcept;
  bool read_window(const Access& access, std::int64_t low, std::int64_t bytes,
                   Outcome& outcome) const noexcept;
  bool try_write_window(const Access& access, std::int64_t low, std::int64_t bytes,
                        Outcome& outcome) const noexcept;
  void begin_without_locks() noexcept;
  void end_without_locks() noexcept;
  bool all_use_locks() const noexcept;
  bool lock(short kind, std::int64_t from, std::int64_t to) const noexcept;
  /// Bytes of the file in memory that lasts until the next such call of this thread; null after an error.
  std::byte* read_all(std::int64_t low, std::int64_t high) const noexcept;
  bool write_all(std::byte* window, std::int64_t low, std::int64_t high) const noexcept;

  enum class Sharing : std::uint8_t {
    held,  // by the caller, or nobody needs it
    run,   // shared, unless nobody changes windows
    shared,
    exclusive
  };
  /// A lock on bytes [from, to) as long as it lives; `to` as 0 is the end of the file.
  class Guard {
   public:
    Guard(const Storage& storage, Sharing sharing, std::int64_t from, std::int64_t to) noexcept
        : storage_(storage), from_(from), to_(to) {
      if (sharing != Sharing::held) lock(sharing);
    }
    ~Guard() {
      if (is_locked_) storage_.lock(F_UNLCK, from_, to_);
    }
    Guard(const Guard&) = delete;
    int reason() const noexcept { return reason_; }  // errno; 0: it is held

   private:
    void lock(Sharing sharing) noexcept;

    const Storage& storage_;
    const std::int64_t from_, to_;
    std::shared_lock<std::shared_mutex> no_turn_;
    std::unique_lock<std::shared_mutex> turn_;
    bool is_locked_ = false;
    int reason_ = 0;
  };
  /// Of runs that are moved one by one.
  Sharing sharing_of(const Access& access) const noexcept;
  bool make_large_page(std::int64_t at) const noexcept;
  void make_large_pages_of(const Access& access, std::int64_t low, std::int64_t high,
                           bool fills_gaps) const noexcept;
  std::size_t write_to_large_pages(const Access& access, Cursor& memory, std::span<const Piece> runs,
                                   Outcome& outcome) const noexcept;
  Pages pages_are(bool are_made) const noexcept;
  std::size_t write_long(const Writing& writing, std::byte* at, std::size_t bytes, std::int64_t offset,
                         Outcome& outcome) const noexcept;

  int descriptor_ = -1;
  Choice read_sieving_ = Choice::automatic, write_sieving_ = Choice::automatic;
  Backing backing_ = Backing::other;
  bool is_readable_ = false, is_apart_ = false;
  bool has_offsets_ = false;  // a file, or a disk itself: the kernel's queue would read pipes without
  bool begins_windows_ = false;
  std::uint64_t device_ = 0, inode_ = 0;
  mutable std::atomic<bool> has_large_pages_{false};  // made by this process
  transport::shm::Number* writers_ = nullptr;  // null: nobody else writes, or not known
  mutable std::shared_mutex turns_;  // of this process's threads at the kernel's locks
  // Changed by who has the turn:
  bool needs_no_locks_ = false;         // holds the lock of the first byte
  bool tells_of_windows_ = false;       // holds that of the second
  mutable bool all_use_locks_ = false;  // as was found while it held it, and so it remains

  friend class OpenStorages;
};

/// The class of errors that an errno belongs to (MPI 5.0, 14.8).
Err error_of(int reason) noexcept;

}  // namespace dunlin::io
