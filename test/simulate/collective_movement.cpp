// Cases of collectives that move data.
#include "test/simulate/collective_places.hpp"

namespace dunlin::test {
namespace {

class Barrier final : public Case {
 public:
  using Case::Case;
  const char* name() const override { return "barrier"; }
  void fill(int) override {}
  Err start(int rank, Mode mode, Request** request) override {
    if (mode == Mode::blocking) return coll::barrier(comm(rank));
    return mode == Mode::nonblocking ? coll::ibarrier(comm(rank), request)
                                     : coll::barrier_init(comm(rank), nullptr, request);
  }
  void check() override {}  // that nobody leaves early is a test of its own
  void each_buffer(const SeeBuffer&) const override {}
};

class Bcast final : public Case {
 public:
  Bcast(const Comms& comms, std::uint64_t seed)
      : Case(comms, seed), root_(int(roll(size()))), values_(any_values()) {
    for (int rank = 0; rank < size(); ++rank) buffers_.emplace_back(any_layout(), values_);
  }
  const char* name() const override { return "bcast"; }
  void fill(int round) override {
    for (int rank = 0; rank < size(); ++rank)
      for (std::int64_t i = 0; i < values_; ++i)
        buffers_[std::size_t(rank)].set(i, rank == root_ ? input(root_, i, round) : -1);
    round_ = round;
  }
  Err start(int rank, Mode mode, Request** request) override {
    Buffer& mine = buffers_[std::size_t(rank)];
    const std::int64_t count = values_ / mine.layout().values;
    if (mode == Mode::blocking) return coll::bcast(mine.at(), count, mine.type(), root_, comm(rank));
    if (mode == Mode::nonblocking)
      return coll::ibcast(mine.at(), count, mine.type(), root_, comm(rank), request);
    return coll::bcast_init(mine.at(), count, mine.type(), root_, comm(rank), nullptr, request);
  }
  void check() override {
    for (const Buffer& each : buffers_) {
      EXPECT_TRUE(each.has_intact_gaps());
      for (std::int64_t i = 0; i < values_; ++i) ASSERT_SAME(each.get(i), input(root_, i, round_)) << i;
    }
  }
  void each_buffer(const SeeBuffer& see) const override { see_all(see, buffers_); }

 private:
  const int root_;
  const std::int64_t values_;
  std::vector<Buffer> buffers_;
  int round_ = 0;
};

/// gather, gatherv, scatter, scatterv: blocks between every rank and a root.
class Rooted final : public Case {
 public:
  Rooted(const Comms& comms, std::uint64_t seed, bool is_gather, bool is_varied)
      : Case(comms, seed),
        is_gather_(is_gather),
        is_varied_(is_varied),
        root_(int(roll(size()))),
        in_place_(coin()) {
    const std::int64_t equal = any_values();
    for (int rank = 0; rank < size(); ++rank) {
      values_.push_back(is_varied ? any_values() : equal);
      small_.emplace_back(any_layout(), values_.back());
    }
    const Layout layout = any_layout();
    if (is_varied) {
      places_ = any_places(values_, layout.values, dice_);
    } else {
      for (int rank = 0; rank < size(); ++rank) {
        places_.counts.push_back(int(equal / layout.values));
        places_.displacements.push_back(int(rank * (equal / layout.values)));
      }
      places_.elements = size() * (equal / layout.values);
    }
    large_ = Buffer(layout, places_.elements);
  }
  const char* name() const override {
    if (is_varied_) return is_gather_ ? "gatherv" : "scatterv";
    return is_gather_ ? "gather" : "scatter";
  }
  void fill(int round) override {
    round_ = round;
    for (int rank = 0; rank < size(); ++rank)
      for (std::int64_t i = 0; i < values_[std::size_t(rank)]; ++i) {
        const bool is_already_there = in_place_ && rank == root_;
        const std::int64_t value = input(rank, i, round);
        small_[std::size_t(rank)].set(i, is_gather_ ? value : -1);
        large_.set(large_index(rank, i), !is_gather_ || is_already_there ? value : -1);
      }
  }
  Err start(int rank, Mode mode, Request** request) override {
    return is_gather_ ? start_gather(rank, mode, request) : start_scatter(rank, mode, request);
  }
  void check() override {
    for (int rank = 0; rank < size(); ++rank) {
      const Buffer& small = small_[std::size_t(rank)];
      EXPECT_TRUE(small.has_intact_gaps());
      if (!is_gather_ && in_place_ && rank == root_) continue;
      for (std::int64_t i = 0; i < values_[std::size_t(rank)]; ++i) {
        ASSERT_SAME(small.get(i), input(rank, i, round_)) << "rank " << rank << " value " << i;
        ASSERT_SAME(large_.get(large_index(rank, i)), input(rank, i, round_))
            << "rank " << rank << " value " << i;
      }
    }
    EXPECT_TRUE(large_.has_intact_gaps());
  }
  void each_buffer(const SeeBuffer& see) const override {
    see_all(see, small_);
    see(root_, large_);
  }

 private:
  std::int64_t large_index(int rank, std::int64_t i) const {
    return places_.displacements[std::size_t(rank)] * large_.layout().values + i;
  }
  Err start_gather(int rank, Mode mode, Request** request) {
    Buffer& small = small_[std::size_t(rank)];
    const bool is_root = rank == root_;
    const bool is_bare = is_root && in_place_;
    const void* send = is_bare ? MPI_IN_PLACE : small.at();
    const std::int64_t count = values_[std::size_t(rank)] / small.layout().values;
    const Datatype* sendtype = is_bare ? nullptr : &small.type();
    const Datatype* recvtype = is_root ? &large_.type() : nullptr;
    void* recv = is_root ? large_.at() : nullptr;
    Comm& on = comm(rank);
    if (is_varied_) {
      const IntArray counts = is_root ? places_.counts_array() : IntArray{};
      const IntArray places = is_root ? places_.displacements_array() : IntArray{};
      switch (mode) {
        case Mode::blocking:
          return coll::gatherv(send, count, sendtype, recv, counts, places, recvtype, root_, on);
        case Mode::nonblocking:
          return coll::igatherv(send, count, sendtype, recv, counts, places, recvtype, root_, on, request);
        case Mode::persistent:
          return coll::gatherv_init(send, count, sendtype, recv, counts, places, recvtype, root_, on, nullptr,
                                    request);
      }
    }
    const std::int64_t each = is_root ? places_.counts[0] : 0;
    switch (mode) {
      case Mode::blocking:
        return coll::gather(send, count, sendtype, recv, each, recvtype, root_, on);
      case Mode::nonblocking:
        return coll::igather(send, count, sendtype, recv, each, recvtype, root_, on, request);
      case Mode::persistent:
        return coll::gather_init(send, count, sendtype, recv, each, recvtype, root_, on, nullptr, request);
    }
    return Err::intern;
  }
  Err start_scatter(int rank, Mode mode, Request** request) {
    Buffer& small = small_[std::size_t(rank)];
    const bool is_root = rank == root_;
    const bool is_bare = is_root && in_place_;
    void* recv = is_bare ? MPI_IN_PLACE : small.at();
    const std::int64_t count = values_[std::size_t(rank)] / small.layout().values;
    const Datatype* recvtype = is_bare ? nullptr : &small.type();
    const Datatype* sendtype = is_root ? &large_.type() : nullptr;
    const void* send = is_root ? large_.at() : nullptr;
    Comm& on = comm(rank);
    if (is_varied_) {
      const IntArray counts = is_root ? places_.counts_array() : IntArray{};
      const IntArray places = is_root ? places_.displacements_array() : IntArray{};
      switch (mode) {
        case Mode::blocking:
          return coll::scatterv(send, counts, places, sendtype, recv, count, recvtype, root_, on);
        case Mode::nonblocking:
          return coll::iscatterv(send, counts, places, sendtype, recv, count, recvtype, root_, on, request);
        case Mode::persistent:
          return coll::scatterv_init(send, counts, places, sendtype, recv, count, recvtype, root_, on,
                                     nullptr, request);
      }
    }
    const std::int64_t each = is_root ? places_.counts[0] : 0;
    switch (mode) {
      case Mode::blocking:
        return coll::scatter(send, each, sendtype, recv, count, recvtype, root_, on);
      case Mode::nonblocking:
        return coll::iscatter(send, each, sendtype, recv, count, recvtype, root_, on, request);
      case Mode::persistent:
        return coll::scatter_init(send, each, sendtype, recv, count, recvtype, root_, on, nullptr, request);
    }
    return Err::intern;
  }

  const bool is_gather_, is_varied_;
  const int root_;
  const bool in_place_;
  std::vector<std::int64_t> values_;  // of each rank's block
  std::vector<Buffer> small_;         // by rank
  Places places_;
  Buffer large_;  // the root's
  int round_ = 0;
};

/// allgather and allgatherv.
class Allgather final : public Case {
 public:
  Allgather(const Comms& comms, std::uint64_t seed, bool is_varied)
      : Case(comms, seed), is_varied_(is_varied), in_place_(coin()) {
    const std::int64_t equal = any_values();
    for (int rank = 0; rank < size(); ++rank) values_.push_back(is_varied ? any_values() : equal);
    for (int rank = 0; rank < size(); ++rank) {
      small_.emplace_back(any_layout(), values_[std::size_t(rank)]);
      const Layout layout = any_layout();
      Places places = any_places(values_, layout.values, dice_);
      if (!is_varied) {
        places.elements = size() * (equal / layout.values);
        for (int i = 0; i < size(); ++i)
          places.displacements[std::size_t(i)] = int(i * (equal / layout.values));
      }
      large_.emplace_back(layout, places.elements);
      places_.push_back(std::move(places));
    }
  }
  const char* name() const override { return is_varied_ ? "allgatherv" : "allgather"; }
  void fill(int round) override {
    round_ = round;
    for (int rank = 0; rank < size(); ++rank) {
      for (std::int64_t i = 0; i < values_[std::size_t(rank)]; ++i)
        small_[std::size_t(rank)].set(i, input(rank, i, round));
      for (int from = 0; from < size(); ++from)
        for (std::int64_t i = 0; i < values_[std::size_t(from)]; ++i)
          large_[std::size_t(rank)].set(index(rank, from, i),
                                        in_place_ && from == rank ? input(rank, i, round) : -1);
    }
  }
  Err start(int rank, Mode mode, Request** request) override {
    const auto at = std::size_t(rank);
    Buffer &small = small_[at], &large = large_[at];
    const void* send = in_place_ ? MPI_IN_PLACE : small.at();
    const Datatype* sendtype = in_place_ ? nullptr : &small.type();
    const std::int64_t count = in_place_ ? 0 : values_[at] / small.layout().values;
    Comm& on = comm(rank);
    const IntArray counts = places_[at].counts_array(), places = places_[at].displacements_array();
    if (is_varied_) switch (mode) {
        case Mode::blocking:
          return coll::allgatherv(send, count, sendtype, large.at(), counts, places, large.type(), on);
        case Mode::nonblocking:
          return coll::iallgatherv(send, count, sendtype, large.at(), counts, places, large.type(), on,
                                   request);
        case Mode::persistent:
          return coll::allgatherv_init(send, count, sendtype, large.at(), counts, places, large.type(), on,
                                       nullptr, request);
      }
    const std::int64_t each = counts[0];
    switch (mode) {
      case Mode::blocking:
        return coll::allgather(send, count, sendtype, large.at(), each, large.type(), on);
      case Mode::nonblocking:
        return coll::iallgather(send, count, sendtype, large.at(), each, large.type(), on, request);
      case Mode::persistent:
        return coll::allgather_init(send, count, sendtype, large.at(), each, large.type(), on, nullptr,
                                    request);
    }
    return Err::intern;
  }
  void check() override {
    for (int rank = 0; rank < size(); ++rank) {
      EXPECT_TRUE(large_[std::size_t(rank)].has_intact_gaps());
      for (int from = 0; from < size(); ++from)
        for (std::int64_t i = 0; i < values_[std::size_t(from)]; ++i)
          ASSERT_SAME(large_[std::size_t(rank)].get(index(rank, from, i)), input(from, i, round_))
              << "rank " << rank << " from " << from << " value " << i;
    }
  }
  void each_buffer(const SeeBuffer& see) const override {
    see_all(see, small_);
    see_all(see, large_);
  }

 private:
  std::int64_t index(int rank, int from, std::int64_t i) const {
    const auto at = std::size_t(rank);
    return places_[at].displacements[std::size_t(from)] * large_[at].layout().values + i;
  }
  const bool is_varied_, in_place_;
  std::vector<std::int64_t> values_;
  std::vector<Buffer> small_, large_;
  std::vector<Places> places_;
  int round_ = 0;
};

/// alltoall, alltoallv and alltoallw.
class Alltoall final : public Case {
 public:
  enum class Form { equal, varied, mixed };
  Alltoall(const Comms& comms, std::uint64_t seed, Form form)
      : Case(comms, seed), form_(form), in_place_(coin()) {
    const std::int64_t equal = any_values_below(roll(4) == 0 ? 600 : 16);
    values_.assign(std::size_t(size()), std::vector<std::int64_t>(std::size_t(size()), equal));
    for (int from = 0; from < size() && form != Form::equal; ++from)
      for (int to = 0; to < size(); ++to) {
        // In place, what is sent and what is received have the same place and therefore the same size.
        const bool is_mirrored = in_place_ && to < from;
        values_[std::size_t(from)][std::size_t(to)] =
            is_mirrored ? values_[std::size_t(to)][std::size_t(from)] : any_values_below(24);
      }
    for (int rank = 0; rank < size(); ++rank) {
      std::vector<std::int64_t> in;
      for (int from = 0; from < size(); ++from) in.push_back(values_[std::size_t(from)][std::size_t(rank)]);
      sends_.push_back(make_blocks(any_layout(), values_[std::size_t(rank)], form == Form::equal, dice_));
      receives_.push_back(make_blocks(any_layout(), in, form == Form::equal, dice_));
    }
  }
  const char* name() const override {
    return form_ == Form::equal ? "alltoall" : form_ == Form::varied ? "alltoallv" : "alltoallw";
  }
  void fill(int round) override {
    round_ = round;
    for (int rank = 0; rank < size(); ++rank)
      for (int other = 0; other < size(); ++other) {
        BlocksOfRank &send = sends_[std::size_t(rank)], &receive = receives_[std::size_t(rank)];
        for (std::int64_t i = 0; i < values_[std::size_t(rank)][std::size_t(other)]; ++i) {
          send.buffer.set(send.index(other, i), sent(rank, other, i));
          if (in_place_) receive.buffer.set(receive.index(other, i), sent(rank, other, i));
        }
        for (std::int64_t i = 0; i < values_[std::size_t(other)][std::size_t(rank)] && !in_place_; ++i)
          receive.buffer.set(receive.index(other, i), -1);
      }
  }
  Err start(int rank, Mode mode, Request** request) override {
    BlocksOfRank &out = sends_[std::size_t(rank)], &in = receives_[std::size_t(rank)];
    const void* send = in_place_ ? MPI_IN_PLACE : out.buffer.at();
    const Datatype* sendtype = in_place_ ? nullptr : &out.buffer.type();
    void* recv = in.buffer.at();
    const Datatype& recvtype = in.buffer.type();
    Comm& on = comm(rank);
    const IntArray sc = out.places.counts_array(), sd = out.places.displacements_array();
    const IntArray rc = in.places.counts_array(), rd = in.places.displacements_array();
    if (form_ == Form::equal) switch (mode) {
        case Mode::blocking:
          return coll::alltoall(send, sc[0], sendtype, recv, rc[0], recvtype, on);
        case Mode::nonblocking:
          return coll::ialltoall(send, sc[0], sendtype, recv, rc[0], recvtype, on, request);
        case Mode::persistent:
          return coll::alltoall_init(send, sc[0], sendtype, recv, rc[0], recvtype, on, nullptr, request);
      }
    if (form_ == Form::varied) switch (mode) {
        case Mode::blocking:
          return coll::alltoallv(send, sc, sd, sendtype, recv, rc, rd, recvtype, on);
        case Mode::nonblocking:
          return coll::ialltoallv(send, sc, sd, sendtype, recv, rc, rd, recvtype, on, request);
        case Mode::persistent:
          return coll::alltoallv_init(send, sc, sd, sendtype, recv, rc, rd, recvtype, on, nullptr, request);
      }
    const MPI_Datatype* st = in_place_ ? nullptr : out.types.data();
    const MPI_Datatype* rt = in.types.data();
    const IntArray sb{out.bytes.data(), false}, rb{in.bytes.data(), false};
    switch (mode) {
      case Mode::blocking:
        return coll::alltoallw(send, sc, sb, st, recv, rc, rb, rt, on);
      case Mode::nonblocking:
        return coll::ialltoallw(send, sc, sb, st, recv, rc, rb, rt, on, request);
      case Mode::persistent:
        return coll::alltoallw_init(send, sc, sb, st, recv, rc, rb, rt, on, nullptr, request);
    }
    return Err::intern;
  }
  void check() override {
    for (int rank = 0; rank < size(); ++rank) {
      const BlocksOfRank& in = receives_[std::size_t(rank)];
      EXPECT_TRUE(in.buffer.has_intact_gaps());
      for (int from = 0; from < size(); ++from)
        for (std::int64_t i = 0; i < values_[std::size_t(from)][std::size_t(rank)]; ++i)
          ASSERT_SAME(in.buffer.get(in.index(from, i)), sent(from, rank, i))
              << "rank " << rank << " from " << from << " value " << i;
    }
  }

  void each_buffer(const SeeBuffer& see) const override {
    for (int rank = 0; rank < size(); ++rank) {
      see(rank, sends_[std::size_t(rank)].buffer);
      see(rank, receives_[std::size_t(rank)].buffer);
    }
  }

 private:
  std::int64_t sent(int from, int to, std::int64_t i) const {
    return narrow(input(from, i, round_) + to * 31);
  }

  const Form form_;
  const bool in_place_;
  std::vector<std::vector<std::int64_t>> values_;  // [from][to]
  std::vector<BlocksOfRank> sends_, receives_;
  int round_ = 0;
};

}  // namespace

std::unique_ptr<Case> make_movement(int kind, const Comms& comms, std::uint64_t seed) {
  switch (kind) {
    case 0:
      return std::make_unique<Barrier>(comms, seed);
    case 1:
      return std::make_unique<Bcast>(comms, seed);
    case 2:
      return std::make_unique<Rooted>(comms, seed, true, false);
    case 3:
      return std::make_unique<Rooted>(comms, seed, true, true);
    case 4:
      return std::make_unique<Rooted>(comms, seed, false, false);
    case 5:
      return std::make_unique<Rooted>(comms, seed, false, true);
    case 6:
      return std::make_unique<Allgather>(comms, seed, false);
    case 7:
      return std::make_unique<Allgather>(comms, seed, true);
    case 8:
      return std::make_unique<Alltoall>(comms, seed, Alltoall::Form::equal);
    case 9:
      return std::make_unique<Alltoall>(comms, seed, Alltoall::Form::varied);
    default:
      return std::make_unique<Alltoall>(comms, seed, Alltoall::Form::mixed);
  }
}

}  // namespace dunlin::test
