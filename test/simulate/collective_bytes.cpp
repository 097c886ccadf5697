// That collectives of one node move each byte once: by a ledger of all copies and sums (ledger.hpp).
//
// Results are compared, too: where as many bytes are moved as results have, each has been moved once.
#include <string>

#include "coll/functions.hpp"
#include "coll/shared_work.hpp"
#include "test/simulate/buffer.hpp"
#include "test/simulate/fibers.hpp"
#include "test/simulate/ledger.hpp"

namespace dunlin::test {
namespace {

constexpr std::int64_t kWord = sizeof(std::int64_t);

std::int64_t value(int rank, std::int64_t index) { return (rank + 1) * 1'000'003 + index; }

constexpr const char* kCalls[] = {
    "bcast",     "gather",               "scatter",        "allgather", "alltoall", "reduce",
    "allreduce", "reduce_scatter_block", "reduce_scatter", "scan",      "exscan"};
// clang-format off
enum Call {
  bcast, gather, scatter, allgather, alltoall,
  reduce, allreduce, reduce_scatter_block, reduce_scatter, scan, exscan
};
// clang-format on
constexpr Call kMovements[] = {bcast, gather, scatter, allgather, alltoall};
constexpr Call kReductions[] = {reduce, allreduce, reduce_scatter_block, reduce_scatter, scan, exscan};

/// One call of all ranks, with blocks of so many values; of a reduction operands of so many in all.
class Work {
 public:
  Work(World& world, Call call, std::int64_t values, int sent_layout = 0, int received_layout = 0)
      : world_(world), call_(call), size_(world.size()), root_(size_ - 1), values_(values) {
    for (int rank = 0; rank < size_; ++rank) {
      sent_.emplace_back(layout_of(sent_layout), values_sent());
      received_.emplace_back(layout_of(received_layout), values_received());
      for (std::int64_t i = 0; i < values_sent(); ++i) sent(rank).set(i, value(rank, i));
      const std::int64_t first = first_of(rank), count = first_of(rank + 1) - first;
      counts_.push_back(int(count));
      for (std::int64_t i = 0; i < results_of(rank); ++i) received(rank).expect_written(i);
      world.memory(rank).add_buffer(lowest(sent(rank)), bytes_sent());
      world.memory(rank).add_buffer(lowest(received(rank)), bytes_received());
    }
  }
  ~Work() {
    for (int rank = 0; rank < size_; ++rank) {
      world_.memory(rank).remove_buffer(lowest(sent(rank)));
      world_.memory(rank).remove_buffer(lowest(received(rank)));
    }
  }
  void enter_in(Ledger& ledger) {
    for (int rank = 0; rank < size_; ++rank) {
      ledger.add_sent(rank, lowest(sent(rank)), bytes_sent());
      ledger.add_received(rank, lowest(received(rank)), bytes_received());
    }
  }
  Start start() {
    return [this](int rank, Request** request) {
      return call_ < reduce ? start_movement(rank, request) : start_reduction(rank, request);
    };
  }
  void check() {
    for (int rank = 0; rank < size_; ++rank) {
      EXPECT_TRUE(received(rank).has_intact_gaps());
      for (std::int64_t i = 0; i < results_of(rank); ++i)
        ASSERT_SAME(received(rank).get(i), result(rank, i)) << "rank " << rank << ", value " << i;
    }
  }
  std::uint64_t bytes() const { return std::uint64_t(values_ * kWord); }
  int root() const { return root_; }

 private:
  Work(const Work&) = delete;
  std::int64_t values_sent() const {
    return call_ == scatter || call_ == alltoall ? size_ * values_ : values_;
  }
  std::int64_t values_received() const {
    return call_ == gather || call_ == allgather || call_ == alltoall ? size_ * values_ : values_;
  }
  /// Of a reduce-scatter: where a rank's part begins.  Rank 1 has none in the form with counts.
  std::int64_t first_of(int rank) const {
    const std::int64_t each = values_ / size_;
    if (call_ != reduce_scatter) return each * rank;
    return rank == size_ ? values_ : rank == 1 ? first_of(2) : each * rank / 2;
  }
  std::int64_t results_of(int rank) const {
    if (call_ == bcast) return rank == root_ ? 0 : values_;
    if (call_ == gather || call_ == reduce) return rank == root_ ? values_received() : 0;
    if (call_ == exscan) return rank == 0 ? 0 : values_;
    if (call_ == reduce_scatter_block || call_ == reduce_scatter) return counts_[std::size_t(rank)];
    return values_received();
  }
  std::int64_t result(int rank, std::int64_t i) const {
    if (call_ == bcast) return value(root_, i);
    if (call_ == scatter) return value(root_, rank * values_ + i);
    if (call_ == gather || call_ == allgather) return value(int(i / values_), i % values_);
    if (call_ == alltoall) return value(int(i / values_), rank * values_ + i % values_);
    if (call_ == reduce_scatter_block || call_ == reduce_scatter) i += first_of(rank);
    std::int64_t sum = 0;
    const int end = call_ == scan ? rank + 1 : call_ == exscan ? rank : size_;
    for (int each = 0; each < end; ++each) sum += value(each, i);
    return sum;
  }

  Buffer& sent(int rank) { return sent_[std::size_t(rank)]; }
  Buffer& received(int rank) { return received_[std::size_t(rank)]; }
  /// With the gaps before and behind it.
  static const std::byte* lowest(Buffer& buffer) {
    return static_cast<const std::byte*>(buffer.at()) - kWord;
  }
  std::size_t bytes_sent() { return bytes_in_memory(sent(0), values_sent()); }
  std::size_t bytes_received() { return bytes_in_memory(received(0), values_received()); }
  static std::size_t bytes_in_memory(const Buffer& buffer, std::int64_t values) {
    return std::size_t(values / buffer.layout().values * buffer.layout().extent + 2 * kWord);
  }

  Err start_movement(int rank, Request** request) {
    void* const from = sent(rank).at();
    void* const to = received(rank).at();
    const std::int64_t given = values_ / sent(rank).layout().values;
    const std::int64_t got = values_ / received(rank).layout().values;
    const Datatype &of_given = sent(rank).type(), &of_got = received(rank).type();
    Comm& comm = world_.comm(rank);
    switch (call_) {
      case bcast:
        return rank == root_ ? coll::ibcast(from, given, of_given, root_, comm, request)
                             : coll::ibcast(to, got, of_got, root_, comm, request);
      case gather:
        return coll::igather(from, given, &of_given, to, got, &of_got, root_, comm, request);
      case scatter:
        return coll::iscatter(from, given, &of_given, to, got, &of_got, root_, comm, request);
      case allgather:
        return coll::iallgather(from, given, &of_given, to, got, of_got, comm, request);
      default:
        return coll::ialltoall(from, given, &of_given, to, got, of_got, comm, request);
    }
  }
  Err start_reduction(int rank, Request** request) {
    void* const from = sent(rank).at();
    void* const to = received(rank).at();
    const Datatype& type = sent(rank).type();
    const Op& sum = *from_handle<Op>(MPI_SUM);
    Comm& comm = world_.comm(rank);
    switch (call_) {
      case reduce:
        return coll::ireduce(from, to, values_, type, sum, root_, comm, request);
      case allreduce:
        return coll::iallreduce(from, to, values_, type, sum, comm, request);
      case reduce_scatter_block:
        return coll::ireduce_scatter_block(from, to, values_ / size_, type, sum, comm, request);
      case reduce_scatter:
        return coll::ireduce_scatter(from, to, {counts_.data(), false}, type, sum, comm, request);
      case scan:
        return coll::iscan(from, to, values_, type, sum, comm, request);
      default:
        return coll::iexscan(from, to, values_, type, sum, comm, request);
    }
  }

  World& world_;
  const Call call_;
  const int size_, root_;
  const std::int64_t values_;
  std::vector<Buffer> sent_, received_;  // by rank
  std::vector<int> counts_;              // of a reduce-scatter
};

/// Bytes of all results, where blocks have `bytes`, of which none has to be moved more than once.
std::uint64_t bytes_of_results(Call call, int size, std::uint64_t bytes) {
  const auto p = std::uint64_t(size);
  switch (call) {
    case bcast:
    case exscan:
      return bytes * (p - 1);
    case gather:
    case scatter:
    case allreduce:
    case scan:
      return bytes * p;
    case allgather:
    case alltoall:
      return bytes * p * p;
    default:  // reductions that leave each element at one rank
      return bytes;
  }
}

/// All of it goes into the ledger.
void do_without_messages(World& world, Work& work, Ledger& ledger) {
  work.enter_in(ledger);
  const std::uint64_t before = messages(world);
  do_together(world, work.start());
  work.check();
  EXPECT_EQ(messages(world), before);
}

std::string describe(Call call, int size) {
  return std::string(kCalls[call]) + " of " + std::to_string(size) + " ranks";
}

// Without messages, and from the sender's buffer straight into the receiver's, whatever their layouts; also
// where members copy what they give, not what they get, as far ones do.
TEST(CollectiveBytes, LongBlocksAreCopiedOnce) {
  struct Shape {
    std::int64_t values;
    int sent, received;
    bool is_far;
  };
  // 600 KB: two pieces; 200 KB, and 80 KB with gaps: one or two.
  constexpr Shape kShapes[] = {{75'001, 0, 0, false},
                               {25'001, 0, 0, true},
                               {10'001, 2, 2, false},
                               {10'001, 2, 0, false},
                               {10'001, 0, 2, true}};
  for (const Shape& shape : kShapes)
    for (int size = 2; size <= 5; ++size) {
      const auto made = make_node(size, true, shape.is_far);
      World& world = *made;
      for (const Call call : kMovements) {
        SCOPED_TRACE(describe(call, size));
        Work work(world, call, shape.values, shape.sent, shape.received);
        Ledger ledger(world);
        do_without_messages(world, work, ledger);
        const std::uint64_t least = bytes_of_results(call, size, work.bytes());
        EXPECT_EQ(ledger.copied(Ledger::sent, Ledger::received), least);
        EXPECT_EQ(ledger.copied(), least);
      }
    }
}

/// What a direct reduction of operands of `bytes` moves, no more and no less.
void expect_least(Call call, int size, std::uint64_t bytes, const Ledger& ledger,
                  const coll::Traffic& noted) {
  const auto p = std::uint64_t(size);
  // Of an exscan nobody wants the last operand, and the first rank gets nothing.
  const std::uint64_t operands = call == exscan ? p - 1 : p;
  const std::uint64_t results = bytes_of_results(call, size, bytes);
  // A scan begins with a copy of the first operand.
  const bool is_scan = call == scan || call == exscan;
  const std::uint64_t first = is_scan ? bytes : 0;
  // What several get is combined once and copied to the others; what a rank of a scan gets is an operand of
  // the next, but for the last.  Both happen strip by strip, so that no load goes further than to the
  // first-level cache.
  const std::uint64_t copied_on = call == allreduce ? bytes * (p - 1) : 0;
  const std::uint64_t combined_on = is_scan ? bytes * (operands - 1) : 0;
  EXPECT_EQ(ledger.loaded(Ledger::sent), bytes * operands - first);
  EXPECT_EQ(ledger.loaded(Ledger::received), combined_on);
  EXPECT_EQ(ledger.loaded(Ledger::elsewhere), 0u);
  EXPECT_EQ(ledger.stored(Ledger::received), results - first - copied_on);
  EXPECT_EQ(ledger.stored(Ledger::sent) + ledger.stored(Ledger::elsewhere), 0u);
  EXPECT_EQ(ledger.copied(Ledger::sent, Ledger::received), first);
  EXPECT_EQ(ledger.copied(Ledger::received, Ledger::received), copied_on);
  EXPECT_EQ(ledger.copied(), first + copied_on);
  EXPECT_EQ(ledger.loaded_late(), 0u);
  // What DUNLIN_VERBOSE=1 tells.
  EXPECT_EQ(noted.loaded, bytes * operands);
  EXPECT_EQ(noted.stored, results);
}

// Every byte of an operand is loaded once, straight from the buffer of its owner, and every byte of a result
// stored once, straight into that of who gets it.
TEST(CollectiveBytes, LongOperandsAreLoadedOnceAndResultsStoredOnce) {
  for (int size = 2; size <= 5; ++size) {
    const auto made = make_node(size);
    World& world = *made;
    for (const Call call : kReductions) {
      SCOPED_TRACE(describe(call, size));
      Work work(world, call, 60 * 2'501);  // 1.2 MB, for 2 to 5 ranks the same parts
      Ledger ledger(world);
      const coll::Traffic noted = coll::traffic;
      do_without_messages(world, work, ledger);
      coll::Traffic moved;
      moved.loaded = coll::traffic.loaded - noted.loaded;
      moved.stored = coll::traffic.stored - noted.stored;
      expect_least(call, size, work.bytes(), ledger, moved);
    }
  }
}

/// No two members load from one buffer at a time; where members copy what they give (far ones), none store
/// into one.
void expect_no_contention(const Ledger& ledger, bool is_far) {
  const auto& all = ledger.transfers();
  EXPECT_FALSE(all.empty());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Ledger::Transfer &one = all[i], &other = all[j];
      if (one.by == other.by || one.end <= other.begin || other.end <= one.begin) continue;
      if (is_far)
        ASSERT_NE(one.to, other.to) << one.by << " and " << other.by;
      else
        ASSERT_NE(one.from, other.from) << one.by << " and " << other.by;
    }
}

// Members that are equally fast do equal shares, and never load from the same member at the same time.
TEST(CollectiveBytes, MembersCopyEqualSharesFromDifferentSources) {
  constexpr std::int64_t kValues = 96 << 10, kPiece = 256 << 10;  // 3 pieces
  for (const int size : {2, 3, 5})
    for (const Call call : {allgather, alltoall})
      for (const bool is_far : {false, true}) {
        SCOPED_TRACE(describe(call, size) + (is_far ? ", far" : ""));
        const auto made = make_node(size, true, is_far);
        Work work(*made, call, kValues);
        Ledger ledger(*made, true);
        work.enter_in(ledger);
        do_in_step(*made, work.start());
        work.check();
        const double share = double(bytes_of_results(call, size, work.bytes())) / size;
        for (int rank = 0; rank < size; ++rank)
          EXPECT_NEAR(double(ledger.done_by(rank)), share, kPiece) << "rank " << rank;
        expect_no_contention(ledger, is_far);
      }
}

TEST(CollectiveBytes, MembersCombineEqualShares) {
  constexpr std::int64_t kValues = 30 << 12, kPiece = 128 << 10;
  for (const int size : {2, 3, 5})
    for (const Call call : kReductions) {
      SCOPED_TRACE(describe(call, size));
      if (call == reduce_scatter) continue;  // parts are as unequal as the program says
      const auto made = make_node(size);
      Work work(*made, call, kValues);
      Ledger ledger(*made, true);
      work.enter_in(ledger);
      do_in_step(*made, work.start());
      work.check();
      const std::uint64_t all = bytes_of_results(call, size, work.bytes());
      const double piece = double(kPiece) * double(all / work.bytes());  // stored for so many
      for (int rank = 0; rank < size; ++rank)
        EXPECT_NEAR(double(ledger.done_by(rank)), double(all) / size, piece) << "rank " << rank;
    }
}

// The root does pieces of what others get from it, or give to it: where there is one other, both do the same,
// its own block included.
TEST(CollectiveBytes, TheRootHelps) {
  constexpr std::int64_t kValues = 1 << 17;  // 4 pieces
  for (const int size : {2, 3, 5})
    for (const Call call : {bcast, gather, scatter}) {
      SCOPED_TRACE(describe(call, size));
      const auto made = make_node(size);
      Work work(*made, call, kValues);
      Ledger ledger(*made, true);
      work.enter_in(ledger);
      do_in_step(*made, work.start());
      work.check();
      const double block = double(work.bytes()), piece = block / 4;
      const double all = double(bytes_of_results(call, size, work.bytes()));
      const auto by_root = double(ledger.done_by(work.root()));
      double by_others = 0;
      for (int rank = 0; rank < work.root(); ++rank) {
        EXPECT_LE(double(ledger.done_by(rank)), block);
        by_others += double(ledger.done_by(rank));
      }
      EXPECT_EQ(by_root + by_others, all);
      if (size == 2)
        EXPECT_NEAR(by_root, all / 2, piece);
      else
        EXPECT_GE(by_root, call == bcast ? piece : block);
    }
}

/// What a collective by the rooms of a region moves: into them, out of them, and from user to user.
struct ByRooms {
  std::uint64_t in, out, own, loaded_there, loaded_own;
};
/// Each byte is put in once, and copied out once by each reader; kernels read it there.  A member's own
/// operand is read where it comes from.
ByRooms by_rooms(Call call, int size, std::uint64_t n) {
  const auto p = std::uint64_t(size), others = p - 1;
  switch (call) {
    case bcast:
      return {n, n * others, 0, 0, 0};
    case gather:
    case scatter:
      return {n * others, n * others, n, 0, 0};
    case allgather:
      return {n * p, n * p * others, n * p, 0, 0};
    case alltoall:
      return {n * p * others, n * p * others, n * p, 0, 0};
    case allreduce:  // as a whole, at each rank
      return {n * p, 0, 0, n * p * others, n * p};
    case scan:
      return {n * p, 0, 0, n * p * others / 2, n * p};
    case exscan:
      return {n * p, 0, 0, n * p * others / 2, 0};
    default:
      return {n * p, 0, 0, n * others, n};
  }
}

// Blocks that nobody can map, and that fit a room.
TEST(CollectiveBytes, ShortBlocksGoIntoARoomOnceAndOutOncePerReader) {
  for (int size = 2; size <= 5; ++size) {
    const auto made = make_node(size, false);
    World& world = *made;
    for (int i = bcast; i <= exscan; ++i) {
      const auto call = Call(i);
      SCOPED_TRACE(describe(call, size));
      Work work(world, call, call < reduce ? 2'000 : 240);  // 16,000 bytes; 1920: each combines the whole
      Ledger ledger(world);
      do_without_messages(world, work, ledger);
      const ByRooms must = by_rooms(call, size, work.bytes());
      // An allgather puts in the block that it has copied into the result before.
      const Ledger::Where from = call == allgather ? Ledger::received : Ledger::sent;
      EXPECT_EQ(ledger.copied(from, Ledger::elsewhere), must.in);
      EXPECT_EQ(ledger.copied(Ledger::elsewhere, Ledger::received), must.out);
      EXPECT_EQ(ledger.copied(Ledger::sent, Ledger::received), must.own);
      EXPECT_EQ(ledger.copied(), must.in + must.out + must.own);
      EXPECT_EQ(ledger.loaded(Ledger::elsewhere), must.loaded_there);
      EXPECT_EQ(ledger.loaded(Ledger::sent), must.loaded_own);
      EXPECT_EQ(ledger.stored(Ledger::elsewhere), 0u);
    }
  }
}

// Longer ones that nobody can map go into the room of their owner, from there into that of who gets them, and
// out; too long ones are messages.
TEST(CollectiveBytes, LongBlocksThatCannotBeMappedGoThroughTheRoomsOfBothEnds) {
  for (int size = 2; size <= 5; ++size) {
    const auto made = make_node(size, false);
    World& world = *made;
    for (const std::int64_t values : {8'000, 40'000}) {
      SCOPED_TRACE(describe(bcast, size));
      Work work(world, bcast, values);
      Ledger ledger(world);
      work.enter_in(ledger);
      const std::uint64_t before = messages(world), n = work.bytes(), others = std::uint64_t(size - 1);
      do_together(world, work.start());
      work.check();
      if (values == 40'000) {
        EXPECT_GT(messages(world), before);
        continue;
      }
      EXPECT_EQ(messages(world), before);
      // Into the own room, and from there, or by the root itself, into those of the others.
      const std::uint64_t by_others = ledger.copied(Ledger::elsewhere, Ledger::elsewhere);
      EXPECT_EQ(ledger.copied(Ledger::sent, Ledger::elsewhere) + by_others, n + n * others);
      EXPECT_EQ(ledger.copied(Ledger::elsewhere, Ledger::received), n * others);
      EXPECT_EQ(ledger.copied(), n + 2 * n * others);
    }
  }
}

// Of blocks that fit a room, too.  The own ones are copied by plain stores.
TEST(CollectiveBytes, BlocksThatCannotBeMappedAreCopiedOnceByTheKernel) {
  for (int size = 2; size <= 5; ++size) {
    const auto made = make_node(size, false, false, true);
    World& world = *made;
    const auto by_kernel = [&] {
      std::uint64_t bytes = 0;
      for (int rank = 0; rank < size; ++rank) bytes += world.memory(rank).bytes_by_kernel();
      return bytes;
    };
    for (const std::int64_t values : {8'000, 75'001})
      for (const Call call : kMovements) {
        SCOPED_TRACE(describe(call, size));
        Work work(world, call, values);
        Ledger ledger(world);
        const std::uint64_t before = by_kernel();
        do_without_messages(world, work, ledger);
        const bool has_root = call == gather || call == scatter;
        const std::uint64_t own = call == bcast ? 0 : work.bytes() * (has_root ? 1 : std::uint64_t(size));
        EXPECT_EQ(ledger.copied(), own);
        EXPECT_EQ(by_kernel() - before, bytes_of_results(call, size, work.bytes()) - own);
      }
  }
}

/// What copies and sums have stored for the program.
std::uint64_t done(const Ledger& ledger) { return ledger.copied() + ledger.stored(Ledger::received); }

// Three come, and find nothing to do; the last one does all, without any help, and the others have only to
// look.  With a root each other member copies what is its own as soon as the root is there, and nobody else
// does: where ranks share CPUs the root does not help.
TEST(CollectiveBytes, TheLastToComeDoesTheWorkOfAllWhereRanksShareCpus) {
  constexpr int kSize = 4;
  struct Late {
    Call call;
    int rank;
    std::uint64_t before, by_it, after;  // blocks done before it comes, by it, and when the others get on
  };
  // The own blocks of an allgather are copied by who begins it; the root is rank 3.
  constexpr Late kLate[] = {{allreduce, 1, 0, 4, 0}, {allreduce, 3, 0, 4, 0}, {allgather, 2, 3, 13, 0},
                            {scan, 0, 0, 4, 0},      {bcast, 0, 2, 1, 0},     {bcast, 3, 0, 0, 3}};
  for (const Late& late : kLate) {
    SCOPED_TRACE(describe(late.call, kSize) + ", rank " + std::to_string(late.rank) + " comes last");
    const auto made = make_node(kSize);
    World& world = *made;
    for (int rank = 0; rank < kSize; ++rank) {
      world.engine(rank).set_oversubscribed(true);
      world.engine(rank).set_job_shares_cores(true);
    }
    Work work(world, late.call, 75'000);
    Ledger ledger(world);
    work.enter_in(ledger);
    const Start start = work.start();
    std::vector<Request*> requests(kSize, nullptr);
    for (int rank = 0; rank < kSize; ++rank) {
      if (rank == late.rank) continue;
      ASSERT_EQ(start(rank, &requests[std::size_t(rank)]), Err::ok);
    }
    world.settle();
    EXPECT_EQ(done(ledger), late.before * work.bytes());
    Request*& last = requests[std::size_t(late.rank)];
    ASSERT_EQ(start(late.rank, &last), Err::ok);
    for (int i = 0; i < 1000; ++i) world.engine(late.rank).poll();
    EXPECT_EQ(last->is_complete, late.after == 0);
    EXPECT_EQ(done(ledger), (late.before + late.by_it) * work.bytes());
    world.finish(requests);
    EXPECT_EQ(done(ledger), (late.before + late.by_it + late.after) * work.bytes());
    for (Request* each : requests) give_back(each);
    work.check();
  }
}

// Where mapping costs something (peer/xpmem.cpp), it does so in the first round only.
TEST(CollectiveBytes, APersistentAllreduceAttachesMemoryInItsFirstRoundOnly) {
  constexpr int kSize = 4;
  constexpr std::size_t kValues = 75'000;
  const auto made = make_node(kSize);
  World& world = *made;
  std::vector<std::int64_t> sent[kSize], received[kSize];
  std::vector<Request*> requests(kSize, nullptr);
  const Datatype& type = predefined(MPI_INT64_T);
  const auto in_fibers = [&](const std::function<void(int rank)>& body) { Fibers(world, body).run(); };
  in_fibers([&](int rank) {
    const auto at = std::size_t(rank);
    sent[rank].assign(kValues, 0);
    received[rank].assign(kValues, -1);
    ASSERT_EQ(coll::allreduce_init(sent[rank].data(), received[rank].data(), std::int64_t(kValues), type,
                                   *from_handle<Op>(MPI_SUM), world.comm(rank), nullptr, &requests[at]),
              Err::ok);
  });
  const auto attached = [&] {
    std::uint64_t all = 0;
    for (int rank = 0; rank < kSize; ++rank) all += world.memory(rank).attached();
    return all;
  };
  const std::uint64_t before = attached();
  std::uint64_t after_first = 0;
  for (int round = 0; round < 5; ++round) {
    for (int rank = 0; rank < kSize; ++rank) sent[rank].assign(kValues, rank * round);
    Ledger ledger(world, true);  // in step: each does its own share in each round
    in_fibers([&](int rank) {
      ASSERT_EQ(requests[std::size_t(rank)]->start(), Err::ok);
      world.engine(rank).wait(*requests[std::size_t(rank)]);
    });
    for (Request* each : requests) each->is_active = false;
    for (const auto& sum : received) ASSERT_EQ(sum, std::vector<std::int64_t>(kValues, 6 * round));
    if (round == 0) after_first = attached();
    EXPECT_GT(after_first, before);
    EXPECT_EQ(attached(), after_first) << "round " << round;
  }
  for (Request* each : requests) each->let_go();
}

}  // namespace
}  // namespace dunlin::test
