// Windows of simulated ranks in random weather, against a sequential model: some memory maps, some can only
// be copied, maps and copies decline now and then, the rest goes by messages, so that one epoch mixes all
// ways.
//
// A seed draws nodes, weather, flavour, type of the elements, epochs and operations; the model is made before
// the ranks run.  DUNLIN_TEST_SEED=n runs one seed; else seeds are run from 1 on, until DUNLIN_TEST_SECONDS
// (5) are over.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "coll/functions.hpp"
#include "datatype/functions.hpp"
#include "os/clock.hpp"
#include "rma/functions.hpp"
#include "test/simulate/fibers.hpp"

namespace dunlin::test {
namespace {

using Dice = std::mt19937_64;
using Values = std::vector<std::int64_t>;

// Elements of each rank's memory: of each origin, what it puts and what it accumulates, then what all
// accumulate, then what nobody changes.
constexpr int kOwn = 12, kShared = 8, kConstants = 8, kOperations = 10, kEpochs = 3;

enum class What { put, get, accumulate, get_accumulate, fetch_and_op, compare_and_swap, share, rget, rput };
enum class Kind { fence, start, lock_all, lock };

struct Step {
  What what;
  MPI_Op op = MPI_SUM;
  int target = 0, first = 0, count = 1, stride = 1;  // elements there
  Values given, compared, wanted;                    // wanted: what comes back
};

struct EpochPlan {
  Kind kind;
  std::vector<std::vector<Step>> steps;  // by origin
  std::vector<Values> memory;            // of each rank, behind it
};

struct Plan {
  MPI_Datatype type;
  int flavor;
  bool is_cut;  // a dynamic window: two attachments that touch each other
  std::vector<Values> memory;
  std::vector<EpochPlan> epochs;
};

int elements(int ranks) { return ranks * 2 * kOwn + kShared + kConstants; }

template <class Use>
auto with_type(MPI_Datatype type, const Use& use) {
  if (type == MPI_INT16_T) return use(std::int16_t{});
  if (type == MPI_INT32_T) return use(std::int32_t{});
  if (type == MPI_DOUBLE) return use(double{});
  return use(std::int64_t{});
}
std::size_t size_of(MPI_Datatype type) {
  return with_type(type, [](auto zero) { return sizeof zero; });
}
void store(MPI_Datatype type, std::byte* at, std::int64_t value) {
  with_type(type, [&](auto zero) {
    zero = decltype(zero)(value);
    std::memcpy(at, &zero, sizeof zero);
  });
}
std::int64_t load(MPI_Datatype type, const std::byte* at) {
  return with_type(type, [&](auto zero) {
    std::memcpy(&zero, at, sizeof zero);
    return std::int64_t(zero);
  });
}
std::vector<std::byte> stored(MPI_Datatype type, const Values& values) {
  std::vector<std::byte> bytes(values.size() * size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) store(type, &bytes[i * size_of(type)], values[i]);
  return bytes;
}

int draw(Dice& dice, int below) { return int(dice() % std::uint64_t(below)); }

std::int64_t combined(MPI_Op op, std::int64_t there, std::int64_t given) {
  if (op == MPI_SUM) return there + given;
  if (op == MPI_MAX) return std::max(there, given);
  if (op == MPI_MIN) return std::min(there, given);
  return op == MPI_REPLACE ? given : there;
}

Step draw_step(Dice& dice, Kind epoch, int origin, int ranks, bool is_integer, Values& memory,
               std::vector<bool>& is_put) {
  const MPI_Op kOps[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_REPLACE, MPI_NO_OP};
  Step step;
  // The last two, with a request, are for passive epochs.
  step.what = What(draw(dice, epoch == Kind::lock || epoch == Kind::lock_all ? 9 : 7));
  if (step.what == What::compare_and_swap && !is_integer) step.what = What::fetch_and_op;
  const bool is_put_step = step.what == What::put || step.what == What::rput;
  const bool is_get_step = step.what == What::get || step.what == What::rget;
  const bool is_one = step.what == What::fetch_and_op || step.what == What::compare_and_swap;
  step.op = step.what == What::share ? MPI_SUM : kOps[draw(dice, step.what == What::accumulate ? 4 : 5)];
  step.stride = is_one ? 1 : 1 + draw(dice, 2);
  step.count = is_one ? 1 : 1 + draw(dice, 4);
  const int room = step.what == What::share ? kShared : is_get_step ? kConstants : kOwn;
  const int begin = step.what == What::share ? ranks * 2 * kOwn
                    : is_get_step            ? ranks * 2 * kOwn + kShared
                                             : (2 * origin + (is_put_step ? 0 : 1)) * kOwn;
  step.first = begin + draw(dice, room - (step.count - 1) * step.stride);
  for (int i = 0; i < step.count; ++i) {
    const int place = step.first + i * step.stride;
    std::int64_t& there = memory[std::size_t(place)];
    step.given.push_back(draw(dice, 50));
    step.wanted.push_back(there);
    step.compared.push_back(draw(dice, 2) ? there : there + 1);
    // Puts of one epoch are in no order.
    if (is_put_step && is_put[std::size_t(place)]) step.given.back() = there;
    if (is_put_step) is_put[std::size_t(place)] = true, there = step.given.back();
    if (step.what == What::compare_and_swap && step.compared.back() == there) there = step.given.back();
    const bool combines = step.what == What::accumulate || step.what == What::get_accumulate ||
                          step.what == What::fetch_and_op || step.what == What::share;
    if (combines) there = combined(step.op, there, step.given.back());
  }
  return step;
}

Plan draw_plan(Dice& dice, int ranks) {
  static constexpr int kFlavors[] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_DYNAMIC,
                                     MPI_WIN_FLAVOR_DYNAMIC, MPI_WIN_FLAVOR_ALLOCATE};
  const MPI_Datatype types[] = {MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_DOUBLE};
  Plan plan{types[draw(dice, 4)], kFlavors[draw(dice, 5)], draw(dice, 2) == 0, {}, {}};
  for (int rank = 0; rank < ranks; ++rank) {
    plan.memory.emplace_back();
    for (int i = 0; i < elements(ranks); ++i) plan.memory.back().push_back(draw(dice, 50));
  }
  std::vector<Values> memory = plan.memory;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    EpochPlan made{Kind(draw(dice, 4)), {}, {}};
    std::vector<std::vector<bool>> is_put(std::size_t(ranks),
                                          std::vector<bool>(std::size_t(elements(ranks)), false));
    for (int origin = 0; origin < ranks; ++origin) {
      made.steps.emplace_back();
      for (int i = draw(dice, kOperations); i > 0; --i) {
        const int target = draw(dice, ranks);
        const auto at = std::size_t(target);
        made.steps.back().push_back(
            draw_step(dice, made.kind, origin, ranks, plan.type != MPI_DOUBLE, memory[at], is_put[at]));
        made.steps.back().back().target = target;
      }
    }
    made.memory = memory;
    plan.epochs.push_back(std::move(made));
  }
  return plan;
}

void expect_ok(Err error) { EXPECT_EQ(error, Err::ok); }

/// One rank of a run.
class Runner {
 public:
  Runner(World& world, const Plan& plan, int me)
      : world_(world), comm_(world.comm(me)), plan_(plan), me_(me) {}

  void run() {
    make_window();
    for (const EpochPlan& epoch : plan_.epochs) run(epoch);
    if (plan_.flavor == MPI_WIN_FLAVOR_DYNAMIC) {
      expect_ok(rma::win_detach(*win_, memory_));
      if (plan_.is_cut) expect_ok(rma::win_detach(*win_, memory_ + cut_));
    }
    EXPECT_EQ(rma::win_free(*win_), Err::ok);
    if (!own_.empty()) world_.memory(me_).remove_buffer(own_.data());
  }

 private:
  std::size_t bytes() const { return std::size_t(elements(world_.size())) * size_; }

  void make_window() {
    if (plan_.flavor == MPI_WIN_FLAVOR_ALLOCATE) {
      ASSERT_EQ(rma::win_allocate(MPI_Aint(bytes()), int(size_), nullptr, comm_, &memory_, &win_), Err::ok);
    } else {
      own_.resize(bytes());
      world_.memory(me_).add_buffer(own_.data(), own_.size());
      memory_ = own_.data();
    }
    for (int i = 0; i < elements(world_.size()); ++i)
      store(plan_.type, memory_ + std::size_t(i) * size_, plan_.memory[std::size_t(me_)][std::size_t(i)]);
    starts_.assign(std::size_t(world_.size()), 0);
    if (plan_.flavor == MPI_WIN_FLAVOR_CREATE) {
      ASSERT_EQ(rma::win_create(memory_, MPI_Aint(bytes()), int(size_), nullptr, comm_, &win_), Err::ok);
    } else if (plan_.flavor == MPI_WIN_FLAVOR_DYNAMIC) {
      ASSERT_EQ(rma::win_create_dynamic(nullptr, comm_, &win_), Err::ok);
      cut_ = plan_.is_cut ? bytes() / 3 : bytes();
      ASSERT_EQ(rma::win_attach(*win_, memory_, MPI_Aint(cut_)), Err::ok);
      if (plan_.is_cut) expect_ok(rma::win_attach(*win_, memory_ + cut_, MPI_Aint(bytes() - cut_)));
      const auto mine = reinterpret_cast<MPI_Aint>(memory_);
      const Datatype& address = *from_handle<Datatype>(MPI_AINT);
      ASSERT_EQ(coll::allgather(&mine, 1, &address, starts_.data(), 1, address, comm_), Err::ok);
    }
    ASSERT_EQ(coll::barrier(comm_), Err::ok);
  }

  void run(const EpochPlan& epoch) {
    Group& all = *comm_.group;
    const std::vector<Step>& steps = epoch.steps[std::size_t(me_)];
    if (epoch.kind == Kind::fence) expect_ok(rma::win_fence(0, *win_));
    if (epoch.kind == Kind::start) expect_ok(rma::win_post(all, 0, *win_));
    if (epoch.kind == Kind::start) expect_ok(rma::win_start(all, 0, *win_));
    if (epoch.kind == Kind::lock_all) expect_ok(rma::win_lock_all(0, *win_));
    std::vector<std::vector<std::byte>> results;
    for (const Step& step : steps) {
      const bool locks = epoch.kind == Kind::lock;
      const int type = (me_ + step.first) % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
      if (locks) expect_ok(rma::win_lock(type, step.target, 0, *win_));
      results.push_back(perform(step));
      if (locks) expect_ok(rma::win_unlock(step.target, *win_));
    }
    if (epoch.kind == Kind::fence) expect_ok(rma::win_fence(MPI_MODE_NOSUCCEED, *win_));
    if (epoch.kind == Kind::start) expect_ok(rma::win_complete(*win_));
    if (epoch.kind == Kind::start) expect_ok(rma::win_wait(*win_));
    if (epoch.kind == Kind::lock_all) expect_ok(rma::win_unlock_all(*win_));
    ASSERT_EQ(coll::barrier(comm_), Err::ok);
    for (std::size_t i = 0; i < steps.size(); ++i) check(steps[i], results[i]);
    const Values& wanted = epoch.memory[std::size_t(me_)];
    for (std::size_t i = 0; i < wanted.size(); ++i)
      ASSERT_EQ(load(plan_.type, memory_ + i * size_), wanted[i]) << "rank " << me_ << ", element " << i;
    ASSERT_EQ(coll::barrier(comm_), Err::ok);
  }

  /// What comes back is there when the epoch has ended.
  std::vector<std::byte> perform(const Step& step) {
    const Datatype& type = *from_handle<Datatype>(plan_.type);
    Datatype* there = nullptr;
    EXPECT_EQ(datatype::type_vector(step.count, 1, step.stride, type, false, &there), Err::ok);
    there->set_committed();
    const std::vector<std::byte> given = stored(plan_.type, step.given),
                                 compared = stored(plan_.type, step.compared);
    std::vector<std::byte> result(given.size());
    const bool is_dynamic = plan_.flavor == MPI_WIN_FLAVOR_DYNAMIC;
    const MPI_Aint at = starts_[std::size_t(step.target)] + step.first * MPI_Aint(is_dynamic ? size_ : 1);
    Op& op = *from_handle<Op>(step.op);
    Request* request = nullptr;
    Err error = Err::ok;
    switch (step.what) {
      case What::put:
        error = rma::put(given.data(), step.count, type, step.target, at, 1, *there, *win_);
        break;
      case What::rput:
        error = rma::rput(given.data(), step.count, type, step.target, at, 1, *there, *win_, &request);
        break;
      case What::get:
        error = rma::get(result.data(), step.count, type, step.target, at, 1, *there, *win_);
        break;
      case What::rget:
        error = rma::rget(result.data(), step.count, type, step.target, at, 1, *there, *win_, &request);
        break;
      case What::accumulate:
      case What::share:
        error = rma::accumulate(given.data(), step.count, type, step.target, at, 1, *there, op, *win_);
        break;
      case What::get_accumulate:
        error = rma::get_accumulate(given.data(), step.count, type, result.data(), step.count, type,
                                    step.target, at, 1, *there, op, *win_);
        break;
      case What::fetch_and_op:
        error = rma::fetch_and_op(given.data(), result.data(), type, step.target, at, op, *win_);
        break;
      case What::compare_and_swap:
        error =
            rma::compare_and_swap(given.data(), compared.data(), result.data(), type, step.target, at, *win_);
    }
    EXPECT_EQ(error, Err::ok);
    if (request) {
      comm_.engine->wait(*request);
      give_back(request);
    }
    there->release();
    return result;
  }

  void check(const Step& step, const std::vector<std::byte>& result) {
    if (step.what == What::put || step.what == What::rput || step.what == What::accumulate ||
        step.what == What::share)
      return;
    for (std::size_t i = 0; i < step.wanted.size(); ++i)
      EXPECT_EQ(load(plan_.type, &result[i * size_]), step.wanted[i]) << "of operation " << int(step.what);
  }

  World& world_;
  Comm& comm_;
  const Plan& plan_;
  const int me_;
  const std::size_t size_ = size_of(plan_.type);
  Win* win_ = nullptr;
  std::vector<std::byte> own_;
  std::byte* memory_ = nullptr;
  std::size_t cut_ = 0;
  std::vector<MPI_Aint> starts_;
};

void run_seed(std::uint64_t seed) {
  Dice dice(seed);
  const int ranks = 1 + draw(dice, 5), count = 1 + draw(dice, 2);
  Nodes nodes;
  for (int rank = 0; rank < ranks; ++rank) nodes.of_rank.push_back(draw(dice, std::min(count, ranks)));
  nodes.memory.maps = draw(dice, 3) > 0;
  nodes.memory.reads = draw(dice, 2) > 0;
  nodes.memory.shared = draw(dice, 2) ? 100 : 50;
  nodes.memory.decline = draw(dice, 2) ? 0 : 30;
  const Plan plan = draw_plan(dice, ranks);
  World world(nodes, weather_of(seed));
  Fibers fibers(world, [&](int rank) { Runner(world, plan, rank).run(); });
  fibers.run();
}

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(RandomWindows, AreAsTheModel) {
  setenv("DUNLIN_HELPER", "never", 1);  // a real thread has no place among simulated ranks
  const std::uint64_t one = number_from_environment("DUNLIN_TEST_SEED", 0);
  const std::int64_t seconds = std::int64_t(number_from_environment("DUNLIN_TEST_SECONDS", 5));
  const std::int64_t end_ns = os::now_ns() + seconds * 1'000'000'000;
  std::uint64_t seed = one ? one : 1;
  for (; (one ? seed == one : os::now_ns() < end_ns) && !HasFailure(); ++seed) {
    SCOPED_TRACE("DUNLIN_TEST_SEED=" + std::to_string(seed));
    run_seed(seed);
  }
  unsetenv("DUNLIN_HELPER");
  std::printf("%llu seeds\n", static_cast<unsigned long long>(seed - 1));
}

}  // namespace
}  // namespace dunlin::test
