#include "object/request.hpp"

#include <cstdio>
#include <new>

#include "object/comm.hpp"
#include "object/status.hpp"

namespace dunlin {

void Request::release_comm() noexcept {
  if (is_let_go) --comm->let_go_count, --all_let_go;
  comm->release();
}

void Request::mark_let_go() noexcept {
  DUNLIN_ASSERT(!is_let_go);
  is_let_go = true;
  if (is_comm_held_) ++comm->let_go_count, ++all_let_go;
}

Err Request::start() noexcept {
  if (!is_persistent) return fail(Err::request, "the request is not persistent and cannot be started");
  if (is_active) return fail(Err::request, "the persistent request was started before and is not complete");
  return begin_round();
}

alignas(64) unsigned char CompletedRequest::of_sends_[sizeof(CompletedRequest)];
[[maybe_unused]] static auto* const sends_made =
    ::new (&CompletedRequest::of_sends()) CompletedRequest(true, {});

Err Request::query(void*) noexcept { return completion.error; }

Err Request::ready(int partition) noexcept { return check_ready(partition); }

Err Request::check_ready(int) const noexcept {
  return fail(Err::request, "the request is no partitioned send, which MPI_Psend_init makes");
}

Err Request::arrived(int, int*) noexcept {
  return fail(Err::request, "the request is no partitioned receive, which MPI_Precv_init makes");
}

void Request::explain(WaitReason& reason) const noexcept {
  std::snprintf(reason.what, sizeof reason.what, "an operation");
}

}  // namespace dunlin
