// Collectives inside requests; see plan.hpp.
#include "coll/plan.hpp"

#include <cstdio>

namespace dunlin::coll {

Cx everywhere(Comm& comm) noexcept {
  constexpr std::uint32_t kTags = 1u << 30;
  Cx cx;
  cx.comm = &comm;
  cx.tag = std::int32_t(comm.collective_count++ % kTags);
  cx.rank = comm.rank;
  cx.size = comm.size;
  cx.region = comm.region.get();
  return cx;
}

namespace {

/// Predefined objects count references like others, so no case distinction.
void retain(const Object* object) noexcept {
  if (object) const_cast<Object*>(object)->retain();
}
void release(const Object* object) noexcept {
  if (object) const_cast<Object*>(object)->release();
}

}  // namespace

void Held::retain() const noexcept {
  for (const Object* each : objects) coll::retain(each);
  for (int which = 0; which < 2; ++which)
    for (int i = 0; types[which] && i < type_counts[which]; ++i)
      coll::retain(from_handle<Datatype>(types[which][i]));
}

void Held::release() const noexcept {
  for (const Object* each : objects) coll::release(each);
  for (int which = 0; which < 2; ++which)
    for (int i = 0; types[which] && i < type_counts[which]; ++i)
      coll::release(from_handle<Datatype>(types[which][i]));
}

CollectiveRequest::CollectiveRequest(const Cx& cx, const char* name) noexcept
    : run_(*cx.comm->engine, false, memory_, sizeof memory_), cx_(cx), name_(name) {
  cx_.run = &run_;
  hold(*cx.comm);
  has_empty_status = true;
}

Err CollectiveRequest::start() noexcept {
  is_active = true;
  is_complete = false;
  completion = Completion{};
  run_.reset();
  start_task(cx_);
  if (poll() != Outcome::finished) run_.engine.add(*this);
  return Err::ok;
}

progress::Pollable::Outcome CollectiveRequest::poll() noexcept {
  const Run::Progress progress = run_.advance();
  if (progress == Run::Progress::idle) return Outcome::idle;
  if (progress == Run::Progress::advanced) return Outcome::advanced;
  DUNLIN_ASSERT(!is_complete);
  completion.error = run_.error;
  finish();  // may be the end of this object
  return Outcome::finished;
}

void CollectiveRequest::explain(WaitReason& reason) const noexcept {
  run_.explain(reason);
  std::snprintf(reason.what, sizeof reason.what, "a nonblocking %s", name_);
}

}  // namespace dunlin::coll
