// The functions of the standard's chapter "One-Sided Communications" (MPI 5.0, chapter 12).
//
// Called by the generated C bindings, which have checked handles, ranks, counts, buffers and that datatypes
// are committed.  Conventions as in object/functions.hpp.  Displacements are in units of the target's window.
// Thread safety: all under base/big_lock.hpp.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/err.hpp"
#include "datatype/datatype.hpp"
#include "object/comm.hpp"
#include "object/group.hpp"
#include "object/info.hpp"
#include "object/request.hpp"
#include "object/win.hpp"
#include "op/op.hpp"

namespace dunlin::rma {

// --- making windows (12.2); collective over `comm`.  create.cpp
/// `size` in bytes.
Err win_create(void* base, MPI_Aint size, std::int64_t disp_unit, Info* info, Comm& comm, Win** win) noexcept;
/// `baseptr` points to a void*.  The memory reads as zero and goes with the window.
Err win_allocate(MPI_Aint size, std::int64_t disp_unit, Info* info, Comm& comm, void* baseptr,
                 Win** win) noexcept;
Err win_allocate_shared(MPI_Aint size, std::int64_t disp_unit, Info* info, Comm& comm, void* baseptr,
                        Win** win) noexcept;
Err win_create_dynamic(Info* info, Comm& comm, Win** win) noexcept;
Err win_free(Win& win) noexcept;

// --- what a window is (12.2).  inquiry.cpp
/// `rank` may be MPI_PROC_NULL: the first rank with memory.  A size of 0 and a null pointer where the memory
/// of that rank is not shared.
Err win_shared_query(Win& win, int rank, MPI_Aint* size, std::int64_t* disp_unit, void* baseptr) noexcept;
Err win_attach(Win& win, void* base, MPI_Aint size) noexcept;
Err win_detach(Win& win, const void* base) noexcept;
Err win_get_group(Win& win, Group** group) noexcept;
Err win_set_info(Win& win, Info* info) noexcept;
Err win_get_info(Win& win, Info** info_used) noexcept;

// --- epochs in which the targets take part (12.5.1, 12.5.2).  active.cpp
Err win_fence(int assertions, Win& win) noexcept;
Err win_start(Group& group, int assertions, Win& win) noexcept;
Err win_complete(Win& win) noexcept;
Err win_post(Group& group, int assertions, Win& win) noexcept;
Err win_wait(Win& win) noexcept;
Err win_test(Win& win, int* flag) noexcept;

// --- epochs in which they do not (12.5.3, 12.5.4).  passive.cpp
Err win_lock(int lock_type, int rank, int assertions, Win& win) noexcept;
Err win_lock_all(int assertions, Win& win) noexcept;
Err win_unlock(int rank, Win& win) noexcept;
Err win_unlock_all(Win& win) noexcept;
Err win_flush(int rank, Win& win) noexcept;
Err win_flush_all(Win& win) noexcept;
Err win_flush_local(int rank, Win& win) noexcept;
Err win_flush_local_all(Win& win) noexcept;
Err win_sync(Win& win) noexcept;

// --- operations (12.3); `target_rank` may be MPI_PROC_NULL.  communication.cpp
Err put(const void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype, int target_rank,
        MPI_Aint target_disp, std::int64_t target_count, const Datatype& target_datatype, Win& win) noexcept;
Err get(void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype, int target_rank,
        MPI_Aint target_disp, std::int64_t target_count, const Datatype& target_datatype, Win& win) noexcept;
Err accumulate(const void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype,
               int target_rank, MPI_Aint target_disp, std::int64_t target_count,
               const Datatype& target_datatype, Op& op, Win& win) noexcept;
/// With MPI_NO_OP the origin's buffer, count and datatype mean nothing.
Err get_accumulate(const void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype,
                   void* result_addr, std::int64_t result_count, const Datatype& result_datatype,
                   int target_rank, MPI_Aint target_disp, std::int64_t target_count,
                   const Datatype& target_datatype, Op& op, Win& win) noexcept;
Err fetch_and_op(const void* origin_addr, void* result_addr, const Datatype& datatype, int target_rank,
                 MPI_Aint target_disp, Op& op, Win& win) noexcept;
Err compare_and_swap(const void* origin_addr, const void* compare_addr, void* result_addr,
                     const Datatype& datatype, int target_rank, MPI_Aint target_disp, Win& win) noexcept;
Err rput(const void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype, int target_rank,
         MPI_Aint target_disp, std::int64_t target_count, const Datatype& target_datatype, Win& win,
         Request** request) noexcept;
Err rget(void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype, int target_rank,
         MPI_Aint target_disp, std::int64_t target_count, const Datatype& target_datatype, Win& win,
         Request** request) noexcept;
Err raccumulate(const void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype,
                int target_rank, MPI_Aint target_disp, std::int64_t target_count,
                const Datatype& target_datatype, Op& op, Win& win, Request** request) noexcept;
Err rget_accumulate(const void* origin_addr, std::int64_t origin_count, const Datatype& origin_datatype,
                    void* result_addr, std::int64_t result_count, const Datatype& result_datatype,
                    int target_rank, MPI_Aint target_disp, std::int64_t target_count,
                    const Datatype& target_datatype, Op& op, Win& win, Request** request) noexcept;

}  // namespace dunlin::rma
