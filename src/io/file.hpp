// An open file: what its processes share, the view and the pointers of this one (docs/files.md).
//
// Made by io/open.cpp; views are io/view.cpp, pointers io/pointers.cpp, reading and writing io/transfer.cpp.
// Thread safety: under base/big_lock.hpp.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "datatype/datatype.hpp"
#include "io/representation.hpp"
#include "io/storage.hpp"
#include "io/tiling.hpp"
#include "object/comm.hpp"
#include "object/file.hpp"
#include "object/info.hpp"
#include "object/request.hpp"
#include "object/win.hpp"

namespace dunlin::io {

/// Which part of the file a process sees (MPI 5.0, 14.3).
struct View {
  std::int64_t displacement = 0;  // bytes
  Ref<Datatype> etype, filetype;  // as the program gave them
  const Representation* representation = nullptr;
  Ref<Datatype> filetype_in_file;  // with the lengths of the representation; `tiling` names it
  Tiling tiling;
  std::int64_t etype_bytes = 1;  // in the file

  /// Offsets and pointers count etypes; everything below counts bytes.
  std::int64_t position_of(std::int64_t offset) const noexcept { return offset * etype_bytes; }
};

class OpenFile final : public File {
 public:
  OpenFile() noexcept;

  std::string name;
  int amode = 0;  // MPI_MODE_...
  Storage storage;
  View view;
  std::int64_t pointer = 0;  // the individual one, etypes of the view
  bool is_atomic = false;
  bool has_written = false;  // since the last MPI_File_sync
  Ref<Info> info;
  Ref<Win> shared;              // what the processes share: one word, the shared pointer, at rank 0
  Ref<Comm> comm;               // the file's own
  Ref<Win> buffers;             // of collective accesses; empty until one needs them
  bool has_no_buffers = false;  // they could not be made

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

/// Writes to the disk what this process has written; an errno.
int sync_storage(OpenFile& file) noexcept;
/// Collective: the error of the first rank that has one, for all; `reason` is an errno, `what` as in "could
/// not write".
Err agree(const OpenFile& file, int reason, const char* what) noexcept;

/// Takes over hints; null: none.
void set_hints(OpenFile& file, const Info* info) noexcept;

// The shared pointer, in etypes of the view.  Any process at any time.  pointers.cpp
Err read_shared_pointer(OpenFile& file, std::int64_t* value) noexcept;
Err write_shared_pointer(OpenFile& file, std::int64_t value) noexcept;
/// `*before` is the value to which `by` was added.
Err add_to_shared_pointer(OpenFile& file, std::int64_t by, std::int64_t* before) noexcept;

}  // namespace dunlin::io
