// Generalized requests: operations that the program defines and completes itself (MPI 5.0, 13.2).
#include <cstdio>

#include "base/callback.hpp"
#include "pt2pt/internal.hpp"

namespace dunlin::pt2pt {
namespace {

/// What a function of the program returned.
Err answered(int code, const char* function) noexcept {
  if (code == MPI_SUCCESS) return Err::ok;
  return fail(Err(code), "the %s function of the generalized request answered %d", function, code);
}

class GeneralizedRequest final : public Request {
 public:
  GeneralizedRequest(MPI_Grequest_query_function* query, MPI_Grequest_free_function* free,
                     MPI_Grequest_cancel_function* cancel, void* extra_state) noexcept
      : query_(query), free_(free), cancel_(cancel), extra_state_(extra_state) {
    has_own_status = true;
  }

  Err cancel() noexcept override {
    const Callback callback;
    return answered(cancel_(extra_state_, is_complete), "cancel");
  }
  Err query(void* status) noexcept override {
    const Callback callback;
    return answered(query_(extra_state_, static_cast<MPI_Status*>(status)), "query");
  }
  Err reported() noexcept override { return free_state(); }
  void explain(WaitReason& reason) const noexcept override;

 private:
  ~GeneralizedRequest() override { (void)free_state(); }  // after MPI_Request_free nobody asks for the code
  Err free_state() noexcept {
    if (!free_) return Err::ok;
    auto* const free = free_;
    free_ = nullptr;
    const Callback callback;
    return answered(free(extra_state_), "free");
  }

  MPI_Grequest_query_function* const query_;
  MPI_Grequest_free_function* free_;  // null once called
  MPI_Grequest_cancel_function* const cancel_;
  void* const extra_state_;
};

void GeneralizedRequest::explain(WaitReason& reason) const noexcept {
  std::snprintf(reason.what, sizeof reason.what, "a generalized request, which the program completes itself");
}

}  // namespace

Err grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                   MPI_Grequest_cancel_function* cancel_fn, void* extra_state, Request** request) noexcept {
  *request = new GeneralizedRequest(query_fn, free_fn, cancel_fn, extra_state);
  return Err::ok;
}

Err grequest_complete(Request& request) noexcept {
  request.finish();
  return Err::ok;
}

}  // namespace dunlin::pt2pt
