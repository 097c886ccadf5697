// Waiting for and testing requests of every kind (MPI 5.0, 3.7.3 to 3.7.6, 3.8.4).
//
// Null and inactive requests count as complete with the empty status.  A finished request is reported once:
// its handle becomes MPI_REQUEST_NULL, or it becomes inactive when it is persistent.
#include <cstdio>

#include "object/error_origin.hpp"
#include "object/status.hpp"
#include "pt2pt/internal.hpp"

namespace dunlin::pt2pt {
namespace {

/// The request of a handle, or nullptr for null and inactive ones, which nobody waits for.
Request* awaited(MPI_Request handle) noexcept {
  Request* request = from_handle<Request>(handle);
  return request && request->is_active ? request : nullptr;
}

Err check(MPI_Request handle, const char* argument, int index) noexcept {
  if (handle == MPI_REQUEST_NULL || from_handle<Request>(handle)) [[likely]]
    return Err::ok;
  return fail(Err::request, "argument %s[%d] is no valid request; was it freed or completed already?",
              argument, index);
}

Err check_all(int count, const MPI_Request* handles) noexcept {
  for (int i = 0; i < count; ++i)
    if (Err error = check(handles[i], "array_of_requests", i); error != Err::ok) return error;
  return Err::ok;
}

/// Fills `status` without ending the request.
inline Err peek(Request& request, MPI_Status* status) noexcept {
  if (request.has_own_status) [[unlikely]] {
    MPI_Status unwanted;  // the program's function needs a place to write to
    return request.query(status ? status : &unwanted);
  }
  if (!status) return request.completion.error;
  if (request.has_empty_status)
    set_empty_status(status, request.completion.is_cancelled);
  else
    set_status(status, request.completion);
  return request.completion.error;
}

/// Reports a complete request to the program and ends it.
inline Err report(MPI_Request* handle, Request& request, MPI_Status* status) noexcept {
  DUNLIN_ASSERT(request.is_complete);
  DUNLIN_ASSERT(!request.is_let_go);
  Err error = peek(request, status);
  if (error != Err::ok) [[unlikely]]
    set_error_origin(request.comm);
  if (request.has_own_status) [[unlikely]]
    if (const Err late = request.reported(); error == Err::ok) error = late;
  if (request.is_persistent) {
    request.is_active = false;
    return error;
  }
  *handle = MPI_REQUEST_NULL;
  if (!request.is_static) request.release();
  return error;
}

/// What the calls on arrays wait for: whether any or all of them are complete.
struct Awaited {
  int count;
  const MPI_Request* handles;

  /// Index of a complete active request, MPI_UNDEFINED when none is active, -1 when none of the active is
  /// complete.
  int find_any() const noexcept {
    bool has_active = false;
    for (int i = 0; i < count; ++i) {
      const Request* request = awaited(handles[i]);
      if (!request) continue;
      if (request->is_complete) return i;
      has_active = true;
    }
    return has_active ? -1 : MPI_UNDEFINED;
  }
  /// The first that is not complete; nullptr: all are.
  const Request* first_missing() const noexcept {
    for (int i = 0; i < count; ++i)
      if (const Request* request = awaited(handles[i]); request && !request->is_complete) return request;
    return nullptr;
  }
  static bool is_any_found(const void* self) noexcept {
    return static_cast<const Awaited*>(self)->find_any() != -1;
  }
  /// As its one active request does; of several only their number.
  static void explain(const void* self, WaitReason& reason) noexcept {
    const auto& [count, handles] = *static_cast<const Awaited*>(self);
    int active = 0;
    for (int i = 0; i < count; ++i)
      if (const Request* request = awaited(handles[i]); request && ++active == 1) request->explain(reason);
    if (active < 2) return;
    reason = {};
    std::snprintf(reason.what, sizeof reason.what, "any of %d requests", active);
  }
};

progress::Engine& engine() noexcept { return *progress::Engine::of_process(); }

/// Ends all requests (all complete) in the way of MPI_Waitall: per-request errors go to the statuses.
Err report_all(int count, MPI_Request* handles, MPI_Status* statuses) noexcept {
  Err first = Err::ok;
  for (int i = 0; i < count; ++i) {
    MPI_Status* const status = statuses ? &statuses[i] : nullptr;
    Request* request = awaited(handles[i]);
    if (!request) {
      set_empty_status(status);
      continue;
    }
    const Err error = report(&handles[i], *request, status);
    if (status) status->MPI_ERROR = int(error);
    if (error != Err::ok && first == Err::ok) first = error;
  }
  if (first == Err::ok) [[likely]]
    return Err::ok;
  if (!statuses) return first;
  return fail(Err::in_status, "one of the %d requests failed; MPI_ERROR of its status says how", count);
}

/// Ends every complete request in the way of MPI_Waitsome.
Err report_some(int count, MPI_Request* handles, int* outcount, int* indices, MPI_Status* statuses) noexcept {
  Err first = Err::ok;
  int found = 0;
  bool has_active = false;
  for (int i = 0; i < count; ++i) {
    Request* request = awaited(handles[i]);
    if (!request) continue;
    has_active = true;
    if (!request->is_complete) continue;
    MPI_Status* const status = statuses ? &statuses[found] : nullptr;
    const Err error = report(&handles[i], *request, status);
    if (status) status->MPI_ERROR = int(error);
    if (error != Err::ok && first == Err::ok) first = error;
    indices[found++] = i;
  }
  DUNLIN_ASSERT(found <= count);
  *outcount = has_active ? found : MPI_UNDEFINED;
  if (first == Err::ok || !statuses) return first;
  return fail(Err::in_status, "one of the %d finished requests failed; MPI_ERROR of its status says how",
              found);
}

}  // namespace

Err wait(MPI_Request* request, MPI_Status* status) noexcept {
  Request* const awaited_request = awaited(*request);
  if (!awaited_request) [[unlikely]] {
    set_empty_status(status);
    return check(*request, "request", 0);
  }
  if (!awaited_request->is_complete) {
    awaited_request->look_first();
    engine().wait(*awaited_request);
  }
  return report(request, *awaited_request, status);
}

Err test(MPI_Request* request, int* flag, MPI_Status* status) noexcept {
  Request* const awaited_request = awaited(*request);
  if (!awaited_request) {
    *flag = 1;
    set_empty_status(status);
    return check(*request, "request", 0);
  }
  if (!awaited_request->is_complete) engine().poll_for_test(*awaited_request);
  *flag = awaited_request->is_complete;
  return *flag ? report(request, *awaited_request, status) : Err::ok;
}

Err waitany(int count, MPI_Request* array_of_requests, int* index, MPI_Status* status) noexcept {
  if (Err error = check_all(count, array_of_requests); error != Err::ok) return error;
  const Awaited all{count, array_of_requests};
  engine().wait_until(&Awaited::is_any_found, &all, &Awaited::explain);
  *index = all.find_any();
  if (*index == MPI_UNDEFINED) return set_empty_status(status), Err::ok;
  return report(&array_of_requests[*index], *awaited(array_of_requests[*index]), status);
}

Err testany(int count, MPI_Request* array_of_requests, int* index, int* flag, MPI_Status* status) noexcept {
  if (Err error = check_all(count, array_of_requests); error != Err::ok) return error;
  const Awaited all{count, array_of_requests};
  if (all.find_any() == -1) engine().poll_for_test(&all, &Awaited::explain);
  const int found = all.find_any();
  *flag = found != -1;
  *index = found == -1 ? MPI_UNDEFINED : found;
  if (*index != MPI_UNDEFINED)
    return report(&array_of_requests[found], *awaited(array_of_requests[found]), status);
  if (*flag) set_empty_status(status);
  return Err::ok;
}

Err waitall(int count, MPI_Request* array_of_requests, MPI_Status* array_of_statuses) noexcept {
  for (int i = 0; i < count; ++i) {
    const Request* const request = from_handle<Request>(array_of_requests[i]);
    if (!request) [[unlikely]] {
      if (Err error = check(array_of_requests[i], "array_of_requests", i); error != Err::ok) return error;
      continue;
    }
    if (!request->is_complete && request->is_active) engine().wait(*request);
  }
  return report_all(count, array_of_requests, array_of_statuses);
}

Err testall(int count, MPI_Request* array_of_requests, int* flag, MPI_Status* array_of_statuses) noexcept {
  if (Err error = check_all(count, array_of_requests); error != Err::ok) return error;
  const Awaited all{count, array_of_requests};
  if (const Request* missing = all.first_missing()) engine().poll_for_test(*missing);
  *flag = all.first_missing() == nullptr;
  return *flag ? report_all(count, array_of_requests, array_of_statuses) : Err::ok;
}

Err waitsome(int incount, MPI_Request* array_of_requests, int* outcount, int* array_of_indices,
             MPI_Status* array_of_statuses) noexcept {
  if (Err error = check_all(incount, array_of_requests); error != Err::ok) return error;
  const Awaited all{incount, array_of_requests};
  engine().wait_until(&Awaited::is_any_found, &all, &Awaited::explain);
  return report_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

Err testsome(int incount, MPI_Request* array_of_requests, int* outcount, int* array_of_indices,
             MPI_Status* array_of_statuses) noexcept {
  if (Err error = check_all(incount, array_of_requests); error != Err::ok) return error;
  const Awaited all{incount, array_of_requests};
  if (all.find_any() == -1) engine().poll_for_test(&all, &Awaited::explain);
  return report_some(incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

Err request_free(MPI_Request* request) noexcept {
  Request* const freed = from_handle<Request>(*request);
  if (!freed)
    return fail(Err::request, "argument request is no valid request; was it freed or completed already?");
  *request = MPI_REQUEST_NULL;
  if (!freed->is_static) freed->let_go();
  return Err::ok;
}

Err cancel(MPI_Request* request) noexcept {
  Request* const cancelled = from_handle<Request>(*request);
  if (!cancelled)
    return fail(Err::request, "argument request is no valid request; was it freed or completed already?");
  return cancelled->is_active ? cancelled->cancel() : Err::ok;
}

Err request_get_status(MPI_Request request, int* flag, MPI_Status* status) noexcept {
  return request_get_status_all(1, &request, flag, status);
}

Err request_get_status_any(int count, const MPI_Request* array_of_requests, int* index, int* flag,
                           MPI_Status* status) noexcept {
  if (Err error = check_all(count, array_of_requests); error != Err::ok) return error;
  const Awaited all{count, array_of_requests};
  if (all.find_any() == -1) engine().poll_for_test(&all, &Awaited::explain);
  const int found = all.find_any();
  *flag = found != -1;
  *index = found == -1 ? MPI_UNDEFINED : found;
  if (*index != MPI_UNDEFINED) return peek(*awaited(array_of_requests[found]), status);
  if (*flag) set_empty_status(status);
  return Err::ok;
}

Err request_get_status_all(int count, const MPI_Request* array_of_requests, int* flag,
                           MPI_Status* array_of_statuses) noexcept {
  if (Err error = check_all(count, array_of_requests); error != Err::ok) return error;
  const Awaited all{count, array_of_requests};
  if (const Request* missing = all.first_missing()) engine().poll_for_test(*missing);
  *flag = all.first_missing() == nullptr;
  for (int i = 0; *flag && i < count; ++i) {
    MPI_Status* const status = array_of_statuses ? &array_of_statuses[i] : nullptr;
    if (Request* request = awaited(array_of_requests[i]))
      (void)peek(*request, status);  // the operation's own error is reported when it ends
    else
      set_empty_status(status);
  }
  return Err::ok;
}

Err request_get_status_some(int incount, const MPI_Request* array_of_requests, int* outcount,
                            int* array_of_indices, MPI_Status* array_of_statuses) noexcept {
  if (Err error = check_all(incount, array_of_requests); error != Err::ok) return error;
  const Awaited all{incount, array_of_requests};
  if (all.find_any() == -1) engine().poll_for_test(&all, &Awaited::explain);
  const bool has_active = all.find_any() != MPI_UNDEFINED;
  int found = 0;
  for (int i = 0; i < incount; ++i) {
    Request* request = awaited(array_of_requests[i]);
    if (!request || !request->is_complete) continue;
    (void)peek(*request, array_of_statuses ? &array_of_statuses[found] : nullptr);  // as above
    array_of_indices[found++] = i;
  }
  *outcount = has_active ? found : MPI_UNDEFINED;
  return Err::ok;
}

}  // namespace dunlin::pt2pt
