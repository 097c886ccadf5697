// Collectives inside requests; see plan.hpp.
#include "coll/plan.hpp"

#include <cstdio>

#include <bit>

#include "base/variable.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "datatype/signature.hpp"
#include "object/status.hpp"

namespace dunlin::coll {

Cx everywhere(Comm& comm) noexcept {
  constexpr std::uint32_t kTags = 1u << 30;
  Cx cx;
  cx.comm = &comm;
  cx.tag = std::int32_t(comm.collective_count++ % kTags);
  cx.rank = comm.rank;
  cx.size = comm.size;
  cx.hierarchy = comm.hierarchy.get();
  cx.region = comm.region.get();
  return cx;
}

namespace {

WordVariable check{
    "CHECK", "none", "none|collectives",
    "collectives: before every collective the ranks compare call, root, operator, counts and types"};

/// Of the elements of a type, the same for types of the same sequence of elements: by its first ones.
class SignatureHash {
 public:
  void add(const datatype::Signature& signature) noexcept {
    for (const datatype::SignatureEntry& entry : signature.entries) {
      if (entry.type) {
        add(int(entry.type->basic()), entry.count);
        continue;
      }
      for (std::int64_t i = 0; i < entry.count && left_ > 0; ++i) add(*entry.inner);
    }
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  void add(int basic, std::int64_t count) noexcept {
    for (; count > 0 && left_ > 0; --count, --left_) value_ = (value_ ^ std::uint64_t(basic)) * 0x100000001b3;
  }
  int left_ = 256;                            // elements that are looked at
  std::uint64_t value_ = 0xcbf29ce484222325;  // FNV-1a
};

/// Which tracks are free for all members.
struct FreeTracks {
  Reduction sets;
  Task start(const Cx& cx) const noexcept { return allreduce_shared(cx, sets); }
};

}  // namespace

void Held::retain_types() const noexcept {
  for (int which = 0; which < 2; ++which)
    for (int i = 0; types[which] && i < type_counts[which]; ++i)
      if (auto* const type = from_handle<Datatype>(types[which][i])) type->retain();
}

void Held::release_types() const noexcept {
  for (int which = 0; which < 2; ++which)
    for (int i = 0; types[which] && i < type_counts[which]; ++i)
      if (auto* const type = from_handle<Datatype>(types[which][i])) type->release();
}

const bool are_collectives_checked = check.index() == 1;

Agreement Agreement::same(const Block& block) noexcept {
  Agreement agreement;
  agreement.bytes = std::int64_t(block.bytes());
  SignatureHash hash;
  // Repeated, so that one type of two elements is as good as two of one.
  for (int i = 0; block.type && i < 256 && i < block.count; ++i) hash.add(block.type->signature());
  agreement.signature = hash.value();
  return agreement;
}

Agreement Agreement::same(const Block& block, const Op& op) noexcept {
  Agreement agreement = same(block);
  agreement.operation = op.is_predefined() ? std::int32_t(op.handle_value()) : 0;
  return agreement;
}

Err compare(const Cx& cx, const Agreement& mine, const Agreement& theirs) noexcept {
  const int left = cx.wrapped(cx.rank - 1);
  char where[128], own[48], other[48];
  WaitReason reason;
  cx.comm->explain(reason);
  std::snprintf(where, sizeof where, "collective %d on %s", mine.number, reason.comm);
  if (!(mine.call == theirs.call)) {
    print(mine.call, own, sizeof own);
    print(theirs.call, other, sizeof other);
    return fail(Err::other, "rank %d called %s as %s, rank %d %s: all must call the same, in the same order",
                cx.rank, own, where, left, other);
  }
  if (mine.operation != theirs.operation)
    return fail(Err::op, "rank %d gave another operator than rank %d to %s", cx.rank, left, where);
  if (mine.bytes != theirs.bytes)
    return fail(Err::count, "rank %d gave %lld bytes to %s, rank %d %lld", cx.rank,
                static_cast<long long>(mine.bytes), where, left, static_cast<long long>(theirs.bytes));
  if (mine.signature != theirs.signature)
    return fail(Err::type, "rank %d gave other elements than rank %d to %s", cx.rank, left, where);
  return Err::ok;
}

Err agree_on_track(Cx& cx) noexcept {
  const std::uint64_t mine = cx.region->free_tracks();
  std::uint64_t all = 0;
  const FreeTracks sets{{reinterpret_cast<const std::byte*>(&mine), reinterpret_cast<std::byte*>(&all), 1,
                         from_handle<Datatype>(MPI_UINT64_T), from_handle<Op>(MPI_BAND)}};
  const Err error = run_steps(cx.hierarchy ? cx.domain(0) : cx, sets);
  if (error != Err::ok || all == 0) {
    cx.region = nullptr;
    return error;
  }
  cx.track = std::countr_zero(all);
  cx.region->take_track(cx.track);
  return Err::ok;
}

CollectiveRequest::CollectiveRequest(const Cx& cx, LastingRun* run, const char* name,
                                     bool calls_program) noexcept
    : run_(run), cx_(cx), name_(name), calls_program_(calls_program) {
  cx_.run = &run_->run;
  hold(*cx.comm);
  has_empty_status = true;
}

Err CollectiveRequest::begin_round() noexcept {
  is_active = true;
  is_complete = false;
  completion = Completion{};
  has_own_status = false;
  run_->run.reset();
  start_task(cx_);
  go_on();
  return Err::ok;
}

void CollectiveRequest::go_on() noexcept {
  progress::Engine& engine = run_->run.engine;
  if (!calls_program_) engine.expect_help(1);
  if (poll() != Outcome::finished) engine.add(*this);
}

progress::Pollable::Outcome CollectiveRequest::poll() noexcept {
  if (calls_program_ && progress::Helper::is_this_thread()) return Outcome::idle;
  Run& run = run_->run;
  const Run::Progress progress = run.advance();
  if (progress == Run::Progress::idle) return Outcome::idle;
  if (progress == Run::Progress::advanced) return Outcome::advanced;
  DUNLIN_ASSERT(!is_complete);
  completion.error = run.error;
  if (run.error != Err::ok) {
    error_text_ = error_detail(run.error);
    has_own_status = true;
    run.reset();  // its turn is left now: the program may call other collectives before it looks at this one
  }
  if (!calls_program_) run.engine.expect_help(-1);
  finish();  // may be the end of this object
  return Outcome::finished;
}

Err CollectiveRequest::query(void* status) noexcept {
  set_empty_status(status);
  return fail(completion.error, "%s", error_text_.c_str());
}

void CollectiveRequest::explain(WaitReason& reason) const noexcept {
  run_->run.explain(reason);
  std::snprintf(reason.what, sizeof reason.what, "a nonblocking %s", name_);
}

}  // namespace dunlin::coll
