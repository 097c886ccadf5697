// An open file: what its processes share, the view and the pointers of this one (docs/files.md).
//
// Made by io/open.cpp; views are io/view.cpp, pointers io/pointers.cpp, reading and writing io/transfer.cpp.
// Thread safety: under base/big_lock.hpp.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>

#include "coll/hierarchy.hpp"
#include "datatype/datatype.hpp"
#include "io/common.hpp"
#include "io/hints.hpp"
#include "io/representation.hpp"
#include "io/storage.hpp"
#include "io/tiling.hpp"
#include "object/comm.hpp"
#include "object/file.hpp"
#include "object/info.hpp"
#include "object/request.hpp"
#include "object/win.hpp"
#include "transport/shm/commons.hpp"

namespace dunlin::io {

/// Which part of the file a process sees (MPI 5.0, 14.3).
struct View {
  std::int64_t displacement = 0;  // bytes
  Ref<Datatype> etype, filetype;  // as the program gave them
  const Representation* representation = nullptr;
  Ref<Datatype> filetype_in_file;  // with the lengths of the representation; `tiling` names it
  Tiling tiling;
  std::int64_t etype_bytes = 1;  // in the file
  /// From there on the views of all ranks together leave nothing out; INT64_MAX: not known to.
  std::int64_t filled_from = INT64_MAX;

  /// Offsets and pointers count etypes; everything below counts bytes.  An error where `etypes` of them from
  /// `offset` on do not lie below byte 2^63 of the file.
  Err find_position(std::int64_t offset, std::int64_t etypes, std::int64_t* position) const noexcept;
};

class OpenFile final : public File {
 public:
  OpenFile() noexcept;

  std::string name;
  std::string path;  // absolute: by which it is deleted on close
  int amode = 0;     // MPI_MODE_...
  Storage storage;
  View view;
  std::int64_t pointer = 0;  // the individual one, etypes of the view
  bool is_atomic = false;
  bool all_have_locks = false;  // of all ranks' storage: else no window is changed
  bool are_apart = false;       // several machines keep pages of it: the same on all ranks
  bool has_written = false;     // since the last MPI_File_sync
  Ref<Info> given;              // hints, as the program gave them
  Hints hints;
  std::shared_ptr<Common> common;  // the shared pointer lies there
  Ref<Comm> comm;                  // the file's own

  // Collective accesses together (io/together.hpp):
  // The same on all ranks:
  bool may_go_together = false;
  bool one_run_goes_alone = false;  // and its rank asks nobody; all have long runs
  std::unique_ptr<const coll::Hierarchy> nodes;
  Ref<Win> buffers;  // of this node's ranks, this much of each; empty until a view needs them
  std::size_t buffer_bytes = 0;
  std::int64_t buffer_window_bytes = 0;  // the length of the windows in them
  // Those that are under way at once use the same buffers: they take turns, in the order of calls.
  std::uint64_t turns_taken = 0;
  transport::shm::Number turns_ended{0};

  int under_way = 0;  // nonblocking accesses
  /// A split collective that has begun.
  Ref<Request> split;
  const char* split_call = nullptr;  // by this call

  bool can_read() const noexcept { return !(amode & MPI_MODE_WRONLY); }
  bool can_write() const noexcept { return !(amode & MPI_MODE_RDONLY); }
  bool is_sequential() const noexcept { return amode & MPI_MODE_SEQUENTIAL; }

  /// The sentence for an access, or another call, that failed: `what` as in "could not write".
  Err error(int reason, const char* what, std::int64_t offset) const noexcept;
  Err error(int reason, const char* what) const noexcept;

 private:
  ~OpenFile() override;
};

/// The file behind a File: there are no others that a program could name.
inline OpenFile& file_of(File& file) noexcept { return static_cast<OpenFile&>(file); }

/// The view that a file is opened with: bytes from its beginning.
View plain_view() noexcept;

/// Waits for nonblocking accesses: the program may have let their requests go.
void finish_accesses(const OpenFile& file) noexcept;
/// Writes to the disk what this process has written; an errno.
int sync_storage(OpenFile& file) noexcept;
/// Collective: the error of the first rank that has one, for all; `reason` is an errno, `what` as in "could
/// not write".
Err agree(const OpenFile& file, int reason, const char* what) noexcept;

/// Takes over hints; null: none.
void take_hints(OpenFile& file, const Info* info) noexcept;

// The shared pointer, in etypes of the view.  Any process at any time.  pointers.cpp
Err read_shared_pointer(OpenFile& file, std::int64_t* value) noexcept;
Err write_shared_pointer(OpenFile& file, std::int64_t value) noexcept;
/// `*before` is the value to which `by` was added.
Err add_to_shared_pointer(OpenFile& file, std::int64_t by, std::int64_t* before) noexcept;

}  // namespace dunlin::io
