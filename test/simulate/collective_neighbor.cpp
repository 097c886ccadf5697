// Cases of neighborhood collectives.
#include "comm/functions.hpp"
#include "test/simulate/collective_places.hpp"

namespace dunlin::test {
namespace {

class Neighborly final : public Case {
 public:
  enum class Form { allgather, allgatherv, alltoall, alltoallv, alltoallw };
  Neighborly(const Comms& comms, const Neighbors& neighbors, std::uint64_t seed, Form form)
      : Case(comms, seed), who_(neighbors), form_(form) {
    const bool are_equal = form == Form::allgather || form == Form::alltoall;
    const std::int64_t equal = any_length();
    for (const auto& destinations : who_.destinations) {
      const std::int64_t same = are_equal ? equal : any_length();
      values_.emplace_back();
      for (std::size_t i = 0; i < destinations.size(); ++i)
        values_.back().push_back(are_equal || is_same_for_all() ? same : any_length());
      // What goes to several is one block; it is there also where there are no neighbors.
      sends_.push_back(make_blocks(any_layout(), is_same_for_all() ? std::vector{same} : values_.back(),
                                   are_equal || is_same_for_all(), dice_));
    }
    for (int rank = 0; rank < size(); ++rank) {
      std::vector<std::int64_t> lengths;
      for (std::size_t i = 0; i < sources(rank).size(); ++i)
        lengths.push_back(sources(rank)[i] == MPI_PROC_NULL ? equal : length_of(rank, i));
      receives_.push_back(make_blocks(any_layout(), lengths, are_equal, dice_));
      lengths_.push_back(std::move(lengths));
    }
  }
  const char* name() const override {
    constexpr const char* kNames[] = {"neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall",
                                      "neighbor_alltoallv", "neighbor_alltoallw"};
    return kNames[int(form_)];
  }
  void fill(int round) override {
    round_ = round;
    for (int rank = 0; rank < size(); ++rank) {
      BlocksOfRank &send = sends_[std::size_t(rank)], &receive = receives_[std::size_t(rank)];
      for (std::size_t block = 0; block < send.places.counts.size(); ++block)
        for (std::int64_t i = 0; i < send.values_of(block); ++i)
          send.buffer.set(send.index(int(block), i), sent(rank, int(block), i));
      for (std::size_t block = 0; block < sources(rank).size(); ++block)
        for (std::int64_t i = 0; i < receive.values_of(block); ++i)
          receive.buffer.set(receive.index(int(block), i), -1);
    }
  }
  Err start(int rank, Mode mode, Request** request) override {
    return form_ == Form::allgather || form_ == Form::alltoall ? start_equal(rank, mode, request)
                                                               : start_varied(rank, mode, request);
  }
  void check() override {
    for (int rank = 0; rank < size(); ++rank) {
      const BlocksOfRank& receive = receives_[std::size_t(rank)];
      EXPECT_TRUE(receive.buffer.has_intact_gaps());
      for (std::size_t block = 0; block < sources(rank).size(); ++block) {
        const int source = sources(rank)[block], number = who_.numbers[std::size_t(rank)][block];
        for (std::int64_t i = 0; i < lengths_[std::size_t(rank)][block]; ++i)
          ASSERT_SAME(receive.buffer.get(receive.index(int(block), i)),
                      source == MPI_PROC_NULL ? -1 : sent(source, is_same_for_all() ? 0 : number, i))
              << "rank " << rank << " block " << block << " from " << source << " value " << i;
      }
    }
  }
  void each_buffer(const SeeBuffer& see) const override {
    for (int rank = 0; rank < size(); ++rank) {
      see(rank, sends_[std::size_t(rank)].buffer);
      see(rank, receives_[std::size_t(rank)].buffer);
    }
  }

 private:
  bool is_same_for_all() const { return form_ == Form::allgather || form_ == Form::allgatherv; }
  const std::vector<int>& sources(int rank) const { return who_.sources[std::size_t(rank)]; }
  /// Mostly few values; some of tens of KiB, where they are not too many.
  std::int64_t any_length() {
    const auto kind = roll(size() <= 8 ? 10 : 40);
    return any_values_below(kind == 0 ? 5000 : kind < 3 ? 200 : 12);
  }
  std::int64_t length_of(int rank, std::size_t block) const {
    const auto source = std::size_t(sources(rank)[block]);
    return values_[source][std::size_t(who_.numbers[std::size_t(rank)][block])];
  }
  std::int64_t sent(int from, int block, std::int64_t i) const {
    return narrow(input(from, i, round_) + block * 31);
  }
  Err start_equal(int rank, Mode mode, Request** request) {
    BlocksOfRank &out = sends_[std::size_t(rank)], &in = receives_[std::size_t(rank)];
    const Datatype &st = out.buffer.type(), &rt = in.buffer.type();
    // Of a rank without neighbors any count will do.
    const std::int64_t sc = out.places.counts.empty() ? 0 : out.places.counts[0];
    const std::int64_t rc = in.places.counts.empty() ? 0 : in.places.counts[0];
    void *const send = out.buffer.at(), *const recv = in.buffer.at();
    Comm& on = comm(rank);
    if (form_ == Form::allgather) switch (mode) {
        case Mode::blocking:
          return comm::neighbor_allgather(send, sc, st, recv, rc, rt, on);
        case Mode::nonblocking:
          return comm::ineighbor_allgather(send, sc, st, recv, rc, rt, on, request);
        case Mode::persistent:
          return comm::neighbor_allgather_init(send, sc, st, recv, rc, rt, on, nullptr, request);
      }
    switch (mode) {
      case Mode::blocking:
        return comm::neighbor_alltoall(send, sc, st, recv, rc, rt, on);
      case Mode::nonblocking:
        return comm::ineighbor_alltoall(send, sc, st, recv, rc, rt, on, request);
      case Mode::persistent:
        return comm::neighbor_alltoall_init(send, sc, st, recv, rc, rt, on, nullptr, request);
    }
    return Err::intern;
  }
  Err start_varied(int rank, Mode mode, Request** request) {
    BlocksOfRank &out = sends_[std::size_t(rank)], &in = receives_[std::size_t(rank)];
    const Datatype &st = out.buffer.type(), &rt = in.buffer.type();
    const IntArray sc = out.places.counts_array(), sd = out.places.displacements_array();
    const IntArray rc = in.places.counts_array(), rd = in.places.displacements_array();
    void *const send = out.buffer.at(), *const recv = in.buffer.at();
    Comm& on = comm(rank);
    if (form_ == Form::allgatherv) switch (mode) {
        case Mode::blocking:
          return comm::neighbor_allgatherv(send, sc[0], st, recv, rc, rd, rt, on);
        case Mode::nonblocking:
          return comm::ineighbor_allgatherv(send, sc[0], st, recv, rc, rd, rt, on, request);
        case Mode::persistent:
          return comm::neighbor_allgatherv_init(send, sc[0], st, recv, rc, rd, rt, on, nullptr, request);
      }
    if (form_ == Form::alltoallv) switch (mode) {
        case Mode::blocking:
          return comm::neighbor_alltoallv(send, sc, sd, st, recv, rc, rd, rt, on);
        case Mode::nonblocking:
          return comm::ineighbor_alltoallv(send, sc, sd, st, recv, rc, rd, rt, on, request);
        case Mode::persistent:
          return comm::neighbor_alltoallv_init(send, sc, sd, st, recv, rc, rd, rt, on, nullptr, request);
      }
    const MPI_Datatype *const sts = out.types.data(), *const rts = in.types.data();
    const IntArray sb{out.bytes.data(), false}, rb{in.bytes.data(), false};
    switch (mode) {
      case Mode::blocking:
        return comm::neighbor_alltoallw(send, sc, sb, sts, recv, rc, rb, rts, on);
      case Mode::nonblocking:
        return comm::ineighbor_alltoallw(send, sc, sb, sts, recv, rc, rb, rts, on, request);
      case Mode::persistent:
        return comm::neighbor_alltoallw_init(send, sc, sb, sts, recv, rc, rb, rts, on, nullptr, request);
    }
    return Err::intern;
  }

  const Neighbors& who_;
  const Form form_;
  std::vector<std::vector<std::int64_t>> values_;   // of each rank's blocks by destination
  std::vector<std::vector<std::int64_t>> lengths_;  // the same by source
  std::vector<BlocksOfRank> sends_, receives_;
  int round_ = 0;
};

}  // namespace

std::unique_ptr<Case> make_neighbor(int kind, const Comms& comms, const Neighbors& neighbors,
                                    std::uint64_t seed) {
  return std::make_unique<Neighborly>(comms, neighbors, seed, Neighborly::Form(kind));
}

}  // namespace dunlin::test
