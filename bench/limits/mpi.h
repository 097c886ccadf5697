// What the transfer programs call, done by plain processes that know both addresses: no matching, no tags,
// no status.  A program compiled with this header and processes.c moves the same data in the same pattern as
// under an MPI; its figures are the limits in the tables of docs/benchmarks.md.
//
// --ranks=2        processes
// --way=halves     each side copies half from buffer to buffer
// --way=streaming  the same, contiguous data by stores that pass the caches by
// --way=receiver   the receiver copies all; --way=sender: the sender does
// --way=bulk       through a ring, in pieces of up to 16 KiB, each announced by a line
// --way=lines      through a ring whose every line of 64 bytes carries its own flag
// Memory that MPI_Alloc_mem did not give is private to a process and goes by lines or, above 512 bytes, bulk.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int MPI_Comm;
typedef int MPI_Op;
typedef int MPI_Info;
typedef int MPI_Request;
typedef int MPI_Status;
typedef ptrdiff_t MPI_Aint;

/// Where the data of one element lies: `count` blocks of `block` bytes, `stride` bytes apart or at `places`
/// (counted in blocks), or, with a mask, single bytes of a record of `stride` bytes.
typedef struct {
  size_t count, block, stride;
  const int* places;
  const unsigned char* mask;
} Shape;
typedef const Shape* MPI_Datatype;

extern const Shape limits_byte, limits_int, limits_long, limits_double;
#define MPI_BYTE (&limits_byte)
#define MPI_CHAR (&limits_byte)
#define MPI_INT (&limits_int)
#define MPI_LONG (&limits_long)
#define MPI_DOUBLE (&limits_double)
enum { MPI_COMM_WORLD, MPI_INFO_NULL = 0, MPI_MAX, MPI_SUM };
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)

enum { MPI_THREAD_SINGLE };
int MPI_Init_thread(int* argc, char*** argv, int level, int* provided);
int MPI_Finalize(void);
int MPI_Abort(MPI_Comm comm, int code);
int MPI_Comm_rank(MPI_Comm comm, int* rank);
int MPI_Comm_size(MPI_Comm comm, int* size);
/// Memory that every process reaches at the same address, in large pages where there are any; never freed.
/// All processes ask for the same.
int MPI_Alloc_mem(MPI_Aint bytes, MPI_Info info, void* result);

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status* status);
int MPI_Sendrecv(const void* sent, int sent_count, MPI_Datatype sent_type, int to, int sent_tag,
                 void* received, int received_count, MPI_Datatype received_type, int from, int received_tag,
                 MPI_Comm comm, MPI_Status* status);
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request);
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request);
/// Waits for everything that was started, whatever is listed.
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses);

/// Of one element of up to 8 bytes.
int MPI_Barrier(MPI_Comm comm);
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Reduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm);
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);

int MPI_Type_vector(int count, int block, int stride, MPI_Datatype of, MPI_Datatype* result);
int MPI_Type_create_indexed_block(int count, int block, const int* places, MPI_Datatype of,
                                  MPI_Datatype* result);
int MPI_Type_create_struct(int count, const int* lengths, const MPI_Aint* places, const MPI_Datatype* types,
                           MPI_Datatype* result);
int MPI_Type_create_resized(MPI_Datatype of, MPI_Aint begin, MPI_Aint extent, MPI_Datatype* result);
int MPI_Type_commit(MPI_Datatype* type);
int MPI_Type_size(MPI_Datatype type, int* bytes);
int MPI_Type_free(MPI_Datatype* type);
