// Tasks: what an algorithm may rely on, and the constructs that compilers are known to get wrong.
#include "coll/task.hpp"

#include <gtest/gtest.h>

#include <string>

#include "coll/steps.hpp"
#include "comm/process.hpp"
#include "progress/engine.hpp"
#include "transport/self/transport.hpp"

namespace dunlin::coll {
namespace {

std::string trace;  // what the tasks of a test did

struct Mark {  // a local whose destruction shows
  char name;
  explicit Mark(char name) : name(name) { trace += name; }
  ~Mark() { trace += char(name - 'a' + 'A'); }
};

class Tasks : public ::testing::Test {
 protected:
  Tasks() : messaging_(0, 1), engine_(messaging_), self_(0, messaging_) {
    messaging_.add(self_);
    engine_.add(self_);
    process_.messaging = &messaging_;
    process_.engine = &engine_;
    comm::create_world(process_);
    trace.clear();
  }
  ~Tasks() override {
    process_.world = {};
    process_.self = {};
  }

  Cx cx(coll::Run& run) {
    Cx cx;
    cx.run = &run;
    cx.comm = process_.world.get();
    cx.tag = 1;
    cx.size = 1;
    return cx;
  }
  /// Sends what a task that waits for a message of ours waits for.
  void deliver(std::int64_t value, std::size_t bytes = sizeof(std::int64_t)) {
    std::vector<std::int64_t> data(bytes / sizeof value, value);
    const Source source{reinterpret_cast<const std::byte*>(data.data()), bytes};
    ASSERT_TRUE(messaging_.try_send_now(*process_.world, Plane::collective, source, 0, 1));
  }

  alignas(16) std::byte memory_[1024];
  protocol::Messaging messaging_;
  progress::Engine engine_;
  transport::self::Transport self_;
  comm::Process process_;
};

Task receive_into(Cx cx, std::int64_t* value) {
  const Mark mark('c');
  const Block room = Block::of_bytes(value, sizeof *value);
  co_await cx.recv(room.target(), 0);
  trace += '1';
  co_return Err::ok;
}

Task middle(Cx cx, std::int64_t* value) {
  const Mark mark('b');
  co_await receive_into(cx, value);
  trace += '2';
  co_return Err::ok;
}

Task outer(Cx cx, std::int64_t* value) {
  const Mark mark('a');
  co_await middle(cx, value);
  trace += '3';
  co_return Err::ok;
}

Task quick(Cx) { co_return Err::ok; }

Task failing(Cx) {
  const Mark mark('c');
  co_return Err::op;
}

Task around_failing(Cx cx) {
  const Mark mark('b');
  co_await failing(cx);
  trace += "not reached";
  co_return Err::ok;
}

TEST_F(Tasks, ThatNeedsNothingEndsAtOnce) {
  coll::Run run(engine_, false, memory_, sizeof memory_);
  const Task task = quick(cx(run));
  EXPECT_TRUE(task.is_done());
  EXPECT_EQ(run.advance(), coll::Run::Progress::ended);
  EXPECT_EQ(run.error, Err::ok);
}

TEST_F(Tasks, SuspendAtAStepAndGoOnThroughAllWhoAwait) {
  coll::Run run(engine_, false, memory_, sizeof memory_);
  std::int64_t value = 0;
  (void)outer(cx(run), &value);
  EXPECT_EQ(trace, "abc");
  EXPECT_EQ(run.advance(), coll::Run::Progress::idle);
  deliver(17);
  EXPECT_EQ(trace, "abc") << "nothing is resumed from inside a delivery";
  EXPECT_EQ(run.advance(), coll::Run::Progress::ended);
  EXPECT_EQ(run.error, Err::ok);
  EXPECT_EQ(value, 17);
  EXPECT_EQ(trace, "abc1C2B3A");
}

TEST_F(Tasks, KnowTheLineTheyWaitIn) {
  coll::Run run(engine_, false, memory_, sizeof memory_);
  std::int64_t value = 0;
  (void)receive_into(cx(run), &value);
  EXPECT_GT(run.where, 60);
  EXPECT_LT(run.where, 80) << "the co_await of receive_into is there";
  deliver(1);
  EXPECT_EQ(run.advance(), coll::Run::Progress::ended);
}

TEST_F(Tasks, AnErrorEndsAllAndDestroysTheYoungestFirst) {
  {
    coll::Run run(engine_, false, memory_, sizeof memory_);
    (void)around_failing(cx(run));
    EXPECT_EQ(run.advance(), coll::Run::Progress::ended);
    EXPECT_EQ(run.error, Err::op);
    EXPECT_EQ(trace, "bcC");
  }
  EXPECT_EQ(trace, "bcCB");
}

TEST_F(Tasks, AFailedStepEndsAtItsAwait) {
  {
    coll::Run run(engine_, false, memory_, sizeof memory_);
    std::int64_t value = 0;
    (void)outer(cx(run), &value);
    run.set_error(Err::proc_aborted);
    EXPECT_EQ(run.advance(), coll::Run::Progress::ended);
    EXPECT_EQ(run.error, Err::proc_aborted);
    EXPECT_EQ(trace, "abc");
  }
  EXPECT_EQ(trace, "abcCBA");
}

TEST_F(Tasks, DataOfAWrongLengthIsAnErrorAtTheEnd) {
  coll::Run run(engine_, false, memory_, sizeof memory_);
  std::int64_t value = 0;
  (void)outer(cx(run), &value);
  deliver(3, 64);  // more than there is room for
  EXPECT_EQ(run.advance(), coll::Run::Progress::ended);
  EXPECT_EQ(trace, "abc1C2B3A") << "others may wait for what comes after";
  EXPECT_EQ(run.error, Err::truncate);
  EXPECT_NE(error_detail(Err::truncate)[0], '\0');
  run.reset();
  EXPECT_EQ(run.conclude(), Err::ok) << "another round knows nothing of it";
}

Task two_receives(Cx cx, std::int64_t* values) {
  const Block first = Block::of_bytes(&values[0], 8), second = Block::of_bytes(&values[1], 8);
  cx.post_recv(first.target(), 0);
  cx.post_recv(second.target(), 0);
  co_await cx.all();
  trace += "both";
  co_return Err::ok;
}

TEST_F(Tasks, AWrongLengthLeavesOtherReceivesAlone) {
  coll::Run run(engine_, false, memory_, sizeof memory_);
  std::int64_t values[2] = {};
  (void)two_receives(cx(run), values);
  deliver(3, 64);
  EXPECT_EQ(run.advance(), coll::Run::Progress::idle);
  deliver(4);
  EXPECT_EQ(run.advance(), coll::Run::Progress::ended);
  EXPECT_EQ(run.error, Err::truncate);
  EXPECT_EQ(trace, "both");
  EXPECT_EQ(values[1], 4);
}

TEST_F(Tasks, AfterAnErrorReceivesThatNobodyServesAreTakenBack) {
  coll::Run run(engine_, false, memory_, sizeof memory_);
  std::int64_t values[2] = {};
  (void)two_receives(cx(run), values);
  run.set_error(Err::proc_aborted);
  EXPECT_EQ(run.advance(), coll::Run::Progress::ended) << "the receives must not keep the run alive";
  EXPECT_EQ(run.error, Err::proc_aborted);
  EXPECT_EQ(trace, "");
  EXPECT_TRUE(messaging_.matcher().posted().is_empty());
}

Task needs_too_much(Cx cx) {
  std::byte* memory = cx.take(SIZE_MAX / 2);
  if (memory) trace += "not possible";
  co_await cx.all();
  trace += "not reached";
  co_return Err::ok;
}

TEST_F(Tasks, ScratchThatCannotBeHadEndsAtTheNextStep) {
  for (const bool is_blocking : {false, true}) {
    coll::Run run(engine_, is_blocking, memory_, sizeof memory_);
    (void)needs_too_much(cx(run));
    if (!is_blocking) {
      EXPECT_EQ(run.advance(), coll::Run::Progress::ended);
    }
    EXPECT_EQ(run.error, Err::no_mem);
    EXPECT_EQ(trace, "");
  }
}

TEST_F(Tasks, RunAgainOnTheSameMemory) {
  coll::Run run(engine_, false, memory_, sizeof memory_);
  std::int64_t value = 0;
  const Frame* first = nullptr;
  for (int round = 1; round <= 3; ++round) {
    run.reset();
    (void)outer(cx(run), &value);
    if (!first) first = run.newest;
    EXPECT_EQ(run.newest, first) << "round " << round;
    deliver(round);
    EXPECT_EQ(run.advance(), coll::Run::Progress::ended);
    EXPECT_EQ(value, round);
  }
}

// --- constructs that have broken compilers

struct Pair {
  std::int64_t first, second;
};

Task choose(Cx cx, std::int64_t* value, bool which) {
  which ? co_await receive_into(cx, value) : co_await quick(cx);
  co_return Err::ok;
}

Task switching(Cx cx, std::int64_t* values, Pair bounds) {
  for (std::int64_t i = bounds.first; i < bounds.second; ++i) switch (i % 3) {
      case 0: {
        const Block room = Block::of_bytes(&values[i], 8);
        co_await cx.recv(room.target(), 0);
        break;
      }
      case 1:
        co_await receive_into(cx, &values[i]);
        break;
      default:
        continue;
    }
  co_return Err::ok;
}

TEST_F(Tasks, AwaitInsideAConditionalExpression) {
  for (const bool which : {false, true}) {
    coll::Run run(engine_, false, memory_, sizeof memory_);
    std::int64_t value = 0;
    (void)choose(cx(run), &value, which);
    EXPECT_EQ(run.advance(), which ? coll::Run::Progress::idle : coll::Run::Progress::ended);
    if (which) deliver(5);
    EXPECT_EQ(run.advance(), coll::Run::Progress::ended);
    EXPECT_EQ(value, which ? 5 : 0);
  }
}

TEST_F(Tasks, AwaitInsideSwitchAndLoopWithAggregatesByValue) {
  coll::Run run(engine_, false, memory_, sizeof memory_);
  std::int64_t values[9] = {};
  (void)switching(cx(run), values, {0, 9});
  for (int i = 1; i <= 6; ++i) {
    EXPECT_EQ(run.advance(), coll::Run::Progress::idle);
    deliver(i);
    if (i < 6) {
      EXPECT_EQ(run.advance(), coll::Run::Progress::advanced);
    }
  }
  EXPECT_EQ(run.advance(), coll::Run::Progress::ended);
  const std::int64_t expected[9] = {1, 2, 0, 3, 4, 0, 5, 6, 0};
  for (int i = 0; i < 9; ++i) EXPECT_EQ(values[i], expected[i]);
}

Task many(Cx cx, int count, std::uintptr_t* lowest, std::uintptr_t* highest) {
  for (int i = 0; i < count; ++i) {
    std::int64_t value;
    const Block room = Block::of_bytes(&value, sizeof value);
    co_await cx.recv(room.target(), 0);
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    *lowest = here < *lowest ? here : *lowest;
    *highest = here > *highest ? here : *highest;
  }
  co_return Err::ok;
}

TEST_F(Tasks, TheStackDoesNotGrowWithTheNumberOfSteps) {
  coll::Run run(engine_, false, memory_, sizeof memory_);
  std::uintptr_t lowest = UINTPTR_MAX, highest = 0;
  constexpr int kSteps = 10'000;
  (void)many(cx(run), kSteps, &lowest, &highest);
  for (int i = 0; i < kSteps; ++i) deliver(i);
  while (run.advance() != coll::Run::Progress::ended) {
  }
  EXPECT_LT(highest - lowest, 4096u);
}

}  // namespace
}  // namespace dunlin::coll
