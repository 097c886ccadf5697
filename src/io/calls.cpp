// The calls that read and write (MPI 5.0, 14.4): each is a row of a table, see io/transfer.hpp.
#include "io/functions.hpp"
#include "io/transfer.hpp"

namespace dunlin::io {
namespace {

Call reading(Way way, Pointer pointer, std::int64_t offset, void* buffer, std::int64_t count,
             const Datatype& type) noexcept {
  return {Direction::read, way, pointer, offset, buffer, count, &type};
}
Call writing(Way way, Pointer pointer, std::int64_t offset, const void* buffer, std::int64_t count,
             const Datatype& type) noexcept {
  return {Direction::write, way, pointer, offset, const_cast<void*>(buffer), count, &type};
}

}  // namespace

// --- with explicit offsets (14.4.2)
Err file_read_at(File& fh, MPI_Offset offset, void* buf, std::int64_t count, const Datatype& datatype,
                 MPI_Status* status) noexcept {
  return do_now(file_of(fh), reading(Way::independent, Pointer::none, offset, buf, count, datatype), status);
}
Err file_write_at(File& fh, MPI_Offset offset, const void* buf, std::int64_t count, const Datatype& datatype,
                  MPI_Status* status) noexcept {
  return do_now(file_of(fh), writing(Way::independent, Pointer::none, offset, buf, count, datatype), status);
}
Err file_read_at_all(File& fh, MPI_Offset offset, void* buf, std::int64_t count, const Datatype& datatype,
                     MPI_Status* status) noexcept {
  return do_now(file_of(fh), reading(Way::collective, Pointer::none, offset, buf, count, datatype), status);
}
Err file_write_at_all(File& fh, MPI_Offset offset, const void* buf, std::int64_t count,
                      const Datatype& datatype, MPI_Status* status) noexcept {
  return do_now(file_of(fh), writing(Way::collective, Pointer::none, offset, buf, count, datatype), status);
}
Err file_iread_at(File& fh, MPI_Offset offset, void* buf, std::int64_t count, const Datatype& datatype,
                  Request** request) noexcept {
  return begin(file_of(fh), reading(Way::independent, Pointer::none, offset, buf, count, datatype), request);
}
Err file_iwrite_at(File& fh, MPI_Offset offset, const void* buf, std::int64_t count, const Datatype& datatype,
                   Request** request) noexcept {
  return begin(file_of(fh), writing(Way::independent, Pointer::none, offset, buf, count, datatype), request);
}
Err file_iread_at_all(File& fh, MPI_Offset offset, void* buf, std::int64_t count, const Datatype& datatype,
                      Request** request) noexcept {
  return begin(file_of(fh), reading(Way::collective, Pointer::none, offset, buf, count, datatype), request);
}
Err file_iwrite_at_all(File& fh, MPI_Offset offset, const void* buf, std::int64_t count,
                       const Datatype& datatype, Request** request) noexcept {
  return begin(file_of(fh), writing(Way::collective, Pointer::none, offset, buf, count, datatype), request);
}
Err file_read_at_all_begin(File& fh, MPI_Offset offset, void* buf, std::int64_t count,
                           const Datatype& datatype) noexcept {
  return begin_split(file_of(fh), reading(Way::collective, Pointer::none, offset, buf, count, datatype),
                     "MPI_File_read_at_all_begin");
}
Err file_write_at_all_begin(File& fh, MPI_Offset offset, const void* buf, std::int64_t count,
                            const Datatype& datatype) noexcept {
  return begin_split(file_of(fh), writing(Way::collective, Pointer::none, offset, buf, count, datatype),
                     "MPI_File_write_at_all_begin");
}
Err file_read_at_all_end(File& fh, void*, MPI_Status* status) noexcept {
  return end_split(file_of(fh), "MPI_File_read_at_all_begin", status);
}
Err file_write_at_all_end(File& fh, const void*, MPI_Status* status) noexcept {
  return end_split(file_of(fh), "MPI_File_write_at_all_begin", status);
}

// --- with individual pointers (14.4.3)
Err file_read(File& fh, void* buf, std::int64_t count, const Datatype& datatype,
              MPI_Status* status) noexcept {
  return do_now(file_of(fh), reading(Way::independent, Pointer::individual, 0, buf, count, datatype), status);
}
Err file_write(File& fh, const void* buf, std::int64_t count, const Datatype& datatype,
               MPI_Status* status) noexcept {
  return do_now(file_of(fh), writing(Way::independent, Pointer::individual, 0, buf, count, datatype), status);
}
Err file_read_all(File& fh, void* buf, std::int64_t count, const Datatype& datatype,
                  MPI_Status* status) noexcept {
  return do_now(file_of(fh), reading(Way::collective, Pointer::individual, 0, buf, count, datatype), status);
}
Err file_write_all(File& fh, const void* buf, std::int64_t count, const Datatype& datatype,
                   MPI_Status* status) noexcept {
  return do_now(file_of(fh), writing(Way::collective, Pointer::individual, 0, buf, count, datatype), status);
}
Err file_iread(File& fh, void* buf, std::int64_t count, const Datatype& datatype,
               Request** request) noexcept {
  return begin(file_of(fh), reading(Way::independent, Pointer::individual, 0, buf, count, datatype), request);
}
Err file_iwrite(File& fh, const void* buf, std::int64_t count, const Datatype& datatype,
                Request** request) noexcept {
  return begin(file_of(fh), writing(Way::independent, Pointer::individual, 0, buf, count, datatype), request);
}
Err file_iread_all(File& fh, void* buf, std::int64_t count, const Datatype& datatype,
                   Request** request) noexcept {
  return begin(file_of(fh), reading(Way::collective, Pointer::individual, 0, buf, count, datatype), request);
}
Err file_iwrite_all(File& fh, const void* buf, std::int64_t count, const Datatype& datatype,
                    Request** request) noexcept {
  return begin(file_of(fh), writing(Way::collective, Pointer::individual, 0, buf, count, datatype), request);
}
Err file_read_all_begin(File& fh, void* buf, std::int64_t count, const Datatype& datatype) noexcept {
  return begin_split(file_of(fh), reading(Way::collective, Pointer::individual, 0, buf, count, datatype),
                     "MPI_File_read_all_begin");
}
Err file_write_all_begin(File& fh, const void* buf, std::int64_t count, const Datatype& datatype) noexcept {
  return begin_split(file_of(fh), writing(Way::collective, Pointer::individual, 0, buf, count, datatype),
                     "MPI_File_write_all_begin");
}
Err file_read_all_end(File& fh, void*, MPI_Status* status) noexcept {
  return end_split(file_of(fh), "MPI_File_read_all_begin", status);
}
Err file_write_all_end(File& fh, const void*, MPI_Status* status) noexcept {
  return end_split(file_of(fh), "MPI_File_write_all_begin", status);
}

// --- with the shared pointer (14.4.4)
Err file_read_shared(File& fh, void* buf, std::int64_t count, const Datatype& datatype,
                     MPI_Status* status) noexcept {
  return do_now(file_of(fh), reading(Way::independent, Pointer::shared, 0, buf, count, datatype), status);
}
Err file_write_shared(File& fh, const void* buf, std::int64_t count, const Datatype& datatype,
                      MPI_Status* status) noexcept {
  return do_now(file_of(fh), writing(Way::independent, Pointer::shared, 0, buf, count, datatype), status);
}
Err file_iread_shared(File& fh, void* buf, std::int64_t count, const Datatype& datatype,
                      Request** request) noexcept {
  return begin(file_of(fh), reading(Way::independent, Pointer::shared, 0, buf, count, datatype), request);
}
Err file_iwrite_shared(File& fh, const void* buf, std::int64_t count, const Datatype& datatype,
                       Request** request) noexcept {
  return begin(file_of(fh), writing(Way::independent, Pointer::shared, 0, buf, count, datatype), request);
}
Err file_read_ordered(File& fh, void* buf, std::int64_t count, const Datatype& datatype,
                      MPI_Status* status) noexcept {
  return do_now(file_of(fh), reading(Way::ordered, Pointer::shared, 0, buf, count, datatype), status);
}
Err file_write_ordered(File& fh, const void* buf, std::int64_t count, const Datatype& datatype,
                       MPI_Status* status) noexcept {
  return do_now(file_of(fh), writing(Way::ordered, Pointer::shared, 0, buf, count, datatype), status);
}
Err file_read_ordered_begin(File& fh, void* buf, std::int64_t count, const Datatype& datatype) noexcept {
  return begin_split(file_of(fh), reading(Way::ordered, Pointer::shared, 0, buf, count, datatype),
                     "MPI_File_read_ordered_begin");
}
Err file_write_ordered_begin(File& fh, const void* buf, std::int64_t count,
                             const Datatype& datatype) noexcept {
  return begin_split(file_of(fh), writing(Way::ordered, Pointer::shared, 0, buf, count, datatype),
                     "MPI_File_write_ordered_begin");
}
Err file_read_ordered_end(File& fh, void*, MPI_Status* status) noexcept {
  return end_split(file_of(fh), "MPI_File_read_ordered_begin", status);
}
Err file_write_ordered_end(File& fh, const void*, MPI_Status* status) noexcept {
  return end_split(file_of(fh), "MPI_File_write_ordered_begin", status);
}

}  // namespace dunlin::io
