// The functions of the standard's chapter "I/O" (MPI 5.0, chapter 14).
//
// Called by the generated C bindings, which have checked handles, counts, buffers and that datatypes are
// committed.  Conventions as in object/functions.hpp.  Offsets are in etypes of the view.
// Thread safety: all under base/big_lock.hpp.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/err.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "object/file.hpp"
#include "object/group.hpp"
#include "object/info.hpp"
#include "object/request.hpp"

namespace dunlin::io {

/// Of a rank whose arguments are wrong: `amode`, `disp` or a count.  It takes part in a collective call all
/// the same, for the others wait: with nothing, or so that they hear of it.  The bindings know what was
/// wrong.
inline constexpr int kRefused = -1;

// --- opening and closing (14.2).  Collective, but for file_delete.  open.cpp
Err file_open(Comm& comm, const char* filename, int amode, Info* info, File** fh) noexcept;
Err file_close(File& fh) noexcept;
Err file_delete(const char* filename, Info* info) noexcept;

// --- what a file is (14.2, 14.6); `size` in bytes.  inquiry.cpp
Err file_set_size(File& fh, MPI_Offset size) noexcept;
Err file_preallocate(File& fh, MPI_Offset size) noexcept;
Err file_get_size(File& fh, MPI_Offset* size) noexcept;
Err file_get_group(File& fh, Group** group) noexcept;
Err file_get_amode(File& fh, int* amode) noexcept;
Err file_set_info(File& fh, Info* info) noexcept;
Err file_get_info(File& fh, Info** info_used) noexcept;
Err file_set_atomicity(File& fh, bool flag) noexcept;
Err file_get_atomicity(File& fh, int* flag) noexcept;
Err file_sync(File& fh) noexcept;

// --- views (14.3, 14.5).  view.cpp
Err file_set_view(File& fh, MPI_Offset disp, Datatype& etype, Datatype& filetype, const char* datarep,
                  Info* info) noexcept;
/// `datarep` has room for MPI_MAX_DATAREP_STRING bytes.
Err file_get_view(File& fh, MPI_Offset* disp, Datatype** etype, Datatype** filetype, char* datarep) noexcept;
Err file_get_type_extent(File& fh, const Datatype& datatype, std::int64_t* extent) noexcept;

// --- data representations (14.5.3).  representation.cpp
/// MPI_Register_datarep and MPI_Register_datarep_c.
using LargeConversion = MPI_Datarep_conversion_function_c*;
Err register_datarep(const char* datarep, MPI_Datarep_conversion_function* read_conversion_fn,
                     MPI_Datarep_conversion_function* write_conversion_fn,
                     MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state) noexcept;
Err register_datarep(const char* datarep, LargeConversion read_conversion_fn,
                     LargeConversion write_conversion_fn, MPI_Datarep_extent_function* dtype_file_extent_fn,
                     void* extra_state) noexcept;

// --- pointers (14.4.3, 14.4.4).  pointers.cpp
Err file_seek(File& fh, MPI_Offset offset, int whence) noexcept;
Err file_get_position(File& fh, MPI_Offset* offset) noexcept;
/// `disp` in bytes of the file.
Err file_get_byte_offset(File& fh, MPI_Offset offset, MPI_Offset* disp) noexcept;
Err file_seek_shared(File& fh, MPI_Offset offset, int whence) noexcept;
Err file_get_position_shared(File& fh, MPI_Offset* offset) noexcept;

// --- reading and writing (14.4).  transfer.cpp
// With explicit offsets (14.4.2).
Err file_read_at(File& fh, MPI_Offset offset, void* buf, std::int64_t count, const Datatype& datatype,
                 MPI_Status* status) noexcept;
Err file_write_at(File& fh, MPI_Offset offset, const void* buf, std::int64_t count, const Datatype& datatype,
                  MPI_Status* status) noexcept;
Err file_read_at_all(File& fh, MPI_Offset offset, void* buf, std::int64_t count, const Datatype& datatype,
                     MPI_Status* status) noexcept;
Err file_write_at_all(File& fh, MPI_Offset offset, const void* buf, std::int64_t count,
                      const Datatype& datatype, MPI_Status* status) noexcept;
Err file_iread_at(File& fh, MPI_Offset offset, void* buf, std::int64_t count, const Datatype& datatype,
                  Request** request) noexcept;
Err file_iwrite_at(File& fh, MPI_Offset offset, const void* buf, std::int64_t count, const Datatype& datatype,
                   Request** request) noexcept;
Err file_iread_at_all(File& fh, MPI_Offset offset, void* buf, std::int64_t count, const Datatype& datatype,
                      Request** request) noexcept;
Err file_iwrite_at_all(File& fh, MPI_Offset offset, const void* buf, std::int64_t count,
                       const Datatype& datatype, Request** request) noexcept;
Err file_read_at_all_begin(File& fh, MPI_Offset offset, void* buf, std::int64_t count,
                           const Datatype& datatype) noexcept;
Err file_write_at_all_begin(File& fh, MPI_Offset offset, const void* buf, std::int64_t count,
                            const Datatype& datatype) noexcept;
Err file_read_at_all_end(File& fh, void* buf, MPI_Status* status) noexcept;
Err file_write_at_all_end(File& fh, const void* buf, MPI_Status* status) noexcept;
// With individual pointers (14.4.3).
Err file_read(File& fh, void* buf, std::int64_t count, const Datatype& datatype, MPI_Status* status) noexcept;
Err file_write(File& fh, const void* buf, std::int64_t count, const Datatype& datatype,
               MPI_Status* status) noexcept;
Err file_read_all(File& fh, void* buf, std::int64_t count, const Datatype& datatype,
                  MPI_Status* status) noexcept;
Err file_write_all(File& fh, const void* buf, std::int64_t count, const Datatype& datatype,
                   MPI_Status* status) noexcept;
Err file_iread(File& fh, void* buf, std::int64_t count, const Datatype& datatype, Request** request) noexcept;
Err file_iwrite(File& fh, const void* buf, std::int64_t count, const Datatype& datatype,
                Request** request) noexcept;
Err file_iread_all(File& fh, void* buf, std::int64_t count, const Datatype& datatype,
                   Request** request) noexcept;
Err file_iwrite_all(File& fh, const void* buf, std::int64_t count, const Datatype& datatype,
                    Request** request) noexcept;
Err file_read_all_begin(File& fh, void* buf, std::int64_t count, const Datatype& datatype) noexcept;
Err file_write_all_begin(File& fh, const void* buf, std::int64_t count, const Datatype& datatype) noexcept;
Err file_read_all_end(File& fh, void* buf, MPI_Status* status) noexcept;
Err file_write_all_end(File& fh, const void* buf, MPI_Status* status) noexcept;
// With shared pointers (14.4.4).
Err file_read_shared(File& fh, void* buf, std::int64_t count, const Datatype& datatype,
                     MPI_Status* status) noexcept;
Err file_write_shared(File& fh, const void* buf, std::int64_t count, const Datatype& datatype,
                      MPI_Status* status) noexcept;
Err file_iread_shared(File& fh, void* buf, std::int64_t count, const Datatype& datatype,
                      Request** request) noexcept;
Err file_iwrite_shared(File& fh, const void* buf, std::int64_t count, const Datatype& datatype,
                       Request** request) noexcept;
Err file_read_ordered(File& fh, void* buf, std::int64_t count, const Datatype& datatype,
                      MPI_Status* status) noexcept;
Err file_write_ordered(File& fh, const void* buf, std::int64_t count, const Datatype& datatype,
                       MPI_Status* status) noexcept;
Err file_read_ordered_begin(File& fh, void* buf, std::int64_t count, const Datatype& datatype) noexcept;
Err file_write_ordered_begin(File& fh, const void* buf, std::int64_t count,
                             const Datatype& datatype) noexcept;
Err file_read_ordered_end(File& fh, void* buf, MPI_Status* status) noexcept;
Err file_write_ordered_end(File& fh, const void* buf, MPI_Status* status) noexcept;

}  // namespace dunlin::io
