// Moving bytes between memory and an open file: everything that asks the kernel, and knows nothing of
// communicators.
//
// One access is one pass over the runs of the view and the pieces of the program's buffer.  Long runs are
// read and written in place, as many pieces at once as the kernel takes.  Where runs are short, a system call
// for each would cost more than the bytes: then a piece of the file is read at once and picked from (data
// sieving), and written through a mapping, which changes the bytes of the access and no others, so that
// nobody has to be locked out (docs/files.md).
//
// Thread safety: one access uses nothing but its arguments, so threads may do several at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/err.hpp"
#include "coll/block.hpp"
#include "io/hints.hpp"
#include "io/tiling.hpp"

namespace dunlin::io {

enum class Direction : std::uint8_t { read, write };

/// What holds a file whose mappings may be written to: all processes see stores into them at once.
enum class Backing : std::uint8_t { other, memory, ext4 };

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
};

/// An open file of this process.
class Storage {
 public:
  Storage() = default;
  Storage(Storage&& other) noexcept;
  Storage& operator=(Storage&& other) noexcept;
  ~Storage();

  /// `flags` and `permissions` as for open(2); the errno, or 0.
  int open(const char* name, int flags, unsigned permissions) noexcept;
  int close() noexcept;
  bool is_open() const noexcept { return descriptor_ >= 0; }
  int descriptor() const noexcept { return descriptor_; }
  /// Whether short runs are written through a mapping.
  bool can_map() const noexcept { return backing_ != Backing::other; }
  /// -1 with errno where the file system does not say.
  std::int64_t size() const noexcept;

  /// Whether short runs are read and written by windows of the file; nobody may be using it.
  void set_sieving(Choice read, Choice write) noexcept { read_sieving_ = read, write_sieving_ = write; }

  Outcome move(const Access& access) const noexcept;
  /// Of a read that has to wait for others: the disk is asked for its bytes now.
  void announce(const Access& access) const noexcept;

 private:
  Outcome move_runs(const Access& access) const noexcept;
  bool move_run(const Access& access, Cursor& memory, std::int64_t offset, std::size_t bytes,
                Outcome& outcome) const noexcept;
  bool move_pieces(const Access& access, Cursor& memory, std::int64_t offset, std::size_t bytes,
                   Outcome& outcome) const noexcept;
  bool sieve(const Access& access, std::int64_t bytes, Outcome& outcome) const noexcept;
  bool read_window(const Access& access, std::int64_t low, std::int64_t bytes,
                   Outcome& outcome) const noexcept;
  bool try_write_window(const Access& access, std::int64_t low, std::int64_t bytes,
                        Outcome& outcome) const noexcept;
  std::int64_t distance_max(Direction direction) const noexcept;
  bool lock(short kind, std::int64_t from, std::int64_t to) const noexcept;

  int descriptor_ = -1;
  Choice read_sieving_ = Choice::automatic, write_sieving_ = Choice::automatic;
  Backing backing_ = Backing::other;
};

/// The class of errors that an errno belongs to (MPI 5.0, 14.8).
Err error_of(int reason) noexcept;

}  // namespace dunlin::io
