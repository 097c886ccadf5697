// The functions of MPI 5.0, chapters 3 and 4, as the C bindings call them; arguments are checked there.
//
// Above them the bindings try protocol/shortcut.hpp, which is the whole path of a small message.
// Thread safety: all under base/big_lock.hpp.
#pragma once

#include <cstdint>

#include "datatype/datatype.hpp"
#include "mpi.h"
#include "object/comm.hpp"
#include "object/request.hpp"
#include "progress/engine.hpp"

namespace dunlin::pt2pt {

// --- blocking
/// Takes a message that is there, or waits for it; `source` and `tag` may be match::kAny.  Also of coll.
Err receive(Comm& comm, Plane plane, const Target& data, int source, int tag,
            Completion& completion) noexcept;

Err send(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag,
         Comm& comm) noexcept;
Err bsend(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag,
          Comm& comm) noexcept;
Err ssend(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag,
          Comm& comm) noexcept;
Err rsend(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag,
          Comm& comm) noexcept;
Err recv(void* buf, std::int64_t count, const Datatype& datatype, int source, int tag, Comm& comm,
         MPI_Status* status) noexcept;
Err sendrecv(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, int dest, int sendtag,
             void* recvbuf, std::int64_t recvcount, const Datatype& recvtype, int source, int recvtag,
             Comm& comm, MPI_Status* status) noexcept;
Err sendrecv_replace(void* buf, std::int64_t count, const Datatype& datatype, int dest, int sendtag,
                     int source, int recvtag, Comm& comm, MPI_Status* status) noexcept;

// --- nonblocking
Err isend(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
          Request** request) noexcept;
Err ibsend(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
           Request** request) noexcept;
Err issend(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
           Request** request) noexcept;
Err irsend(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
           Request** request) noexcept;
Err irecv(void* buf, std::int64_t count, const Datatype& datatype, int source, int tag, Comm& comm,
          Request** request) noexcept;
Err isendrecv(const void* sendbuf, std::int64_t sendcount, const Datatype& sendtype, int dest, int sendtag,
              void* recvbuf, std::int64_t recvcount, const Datatype& recvtype, int source, int recvtag,
              Comm& comm, Request** request) noexcept;
Err isendrecv_replace(void* buf, std::int64_t count, const Datatype& datatype, int dest, int sendtag,
                      int source, int recvtag, Comm& comm, Request** request) noexcept;

// --- persistent
Err send_init(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
              Request** request) noexcept;
Err bsend_init(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
               Request** request) noexcept;
Err ssend_init(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
               Request** request) noexcept;
Err rsend_init(const void* buf, std::int64_t count, const Datatype& datatype, int dest, int tag, Comm& comm,
               Request** request) noexcept;
Err recv_init(void* buf, std::int64_t count, const Datatype& datatype, int source, int tag, Comm& comm,
              Request** request) noexcept;
Err start(Request& request) noexcept;
Err startall(int count, MPI_Request* array_of_requests) noexcept;

// --- partitioned (chapter 4.2)
Err psend_init(const void* buf, int partitions, std::int64_t count, const Datatype& datatype, int dest,
               int tag, Comm& comm, const Info* info, Request** request) noexcept;
Err precv_init(void* buf, int partitions, std::int64_t count, const Datatype& datatype, int source, int tag,
               Comm& comm, const Info* info, Request** request) noexcept;
Err pready(int partition, Request& request) noexcept;
Err pready_range(int partition_low, int partition_high, Request& request) noexcept;
Err pready_list(int length, const int* array_of_partitions, Request& request) noexcept;
Err parrived(MPI_Request request, int partition, int* flag) noexcept;

// --- completion; null and inactive requests are allowed and count as complete with the empty status
Err wait(MPI_Request* request, MPI_Status* status) noexcept;
Err test(MPI_Request* request, int* flag, MPI_Status* status) noexcept;
Err waitany(int count, MPI_Request* array_of_requests, int* index, MPI_Status* status) noexcept;
Err testany(int count, MPI_Request* array_of_requests, int* index, int* flag, MPI_Status* status) noexcept;
Err waitall(int count, MPI_Request* array_of_requests, MPI_Status* array_of_statuses) noexcept;
Err testall(int count, MPI_Request* array_of_requests, int* flag, MPI_Status* array_of_statuses) noexcept;
Err waitsome(int incount, MPI_Request* array_of_requests, int* outcount, int* array_of_indices,
             MPI_Status* array_of_statuses) noexcept;
Err testsome(int incount, MPI_Request* array_of_requests, int* outcount, int* array_of_indices,
             MPI_Status* array_of_statuses) noexcept;
Err request_free(MPI_Request* request) noexcept;
Err request_get_status(MPI_Request request, int* flag, MPI_Status* status) noexcept;
Err request_get_status_any(int count, const MPI_Request* array_of_requests, int* index, int* flag,
                           MPI_Status* status) noexcept;
Err request_get_status_all(int count, const MPI_Request* array_of_requests, int* flag,
                           MPI_Status* array_of_statuses) noexcept;
Err request_get_status_some(int incount, const MPI_Request* array_of_requests, int* outcount,
                            int* array_of_indices, MPI_Status* array_of_statuses) noexcept;
Err cancel(MPI_Request* request) noexcept;

// --- probe
Err probe(int source, int tag, Comm& comm, MPI_Status* status) noexcept;
Err iprobe(int source, int tag, Comm& comm, int* flag, MPI_Status* status) noexcept;
Err mprobe(int source, int tag, Comm& comm, MPI_Message* message, MPI_Status* status) noexcept;
Err improbe(int source, int tag, Comm& comm, int* flag, MPI_Message* message, MPI_Status* status) noexcept;
Err mrecv(void* buf, std::int64_t count, const Datatype& datatype, MPI_Message* message,
          MPI_Status* status) noexcept;
Err imrecv(void* buf, std::int64_t count, const Datatype& datatype, MPI_Message* message,
           Request** request) noexcept;

// --- buffers of buffered sends
Err buffer_attach(void* buffer, std::int64_t size) noexcept;
Err buffer_detach(void* buffer_addr, std::int64_t* size) noexcept;
Err buffer_flush() noexcept;
Err buffer_iflush(Request** request) noexcept;
Err comm_attach_buffer(Comm& comm, void* buffer, std::int64_t size) noexcept;
Err comm_detach_buffer(Comm& comm, void* buffer_addr, std::int64_t* size) noexcept;
Err comm_flush_buffer(Comm& comm) noexcept;
Err comm_iflush_buffer(Comm& comm, Request** request) noexcept;
Err session_attach_buffer(Session& session, void* buffer, std::int64_t size) noexcept;
Err session_detach_buffer(Session& session, void* buffer_addr, std::int64_t* size) noexcept;
Err session_flush_buffer(Session& session) noexcept;
Err session_iflush_buffer(Session& session, Request** request) noexcept;

// --- generalized requests (chapter 13)
Err grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                   MPI_Grequest_cancel_function* cancel_fn, void* extra_state, Request** request) noexcept;
Err grequest_complete(Request& request) noexcept;

}  // namespace dunlin::pt2pt
