// Start and end of MPI (MPI 5.0, 11.2 to 11.4) as the C bindings call them.
#pragma once

#include "base/err.hpp"
#include "mpi.h"
#include "object/comm.hpp"
#include "object/session.hpp"

namespace dunlin::runtime {

Err init(int* argc, char*** argv) noexcept;
Err init_thread(int* argc, char*** argv, int required, int* provided) noexcept;
Err initialized(int* flag) noexcept;
Err finalize() noexcept;
Err finalized(int* flag) noexcept;
Err query_thread(int* provided) noexcept;
Err is_thread_main(int* flag) noexcept;
/// Sessions (11.3): `info` may name a thread_level.  sessions.cpp
Err session_init(Info* info, Errhandler& errhandler, Session** session) noexcept;
Err session_finalize(Session& session) noexcept;
Err session_get_info(Session& session, Info** info_used) noexcept;
/// Ends all ranks; "rank N <sentence>" reaches standard error.
[[noreturn]] void end_job(int errorcode, const char* sentence) noexcept;
/// Does not return.
Err abort(Comm& comm, int errorcode) noexcept;

}  // namespace dunlin::runtime
