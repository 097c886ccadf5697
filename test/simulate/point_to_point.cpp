// Point-to-point traffic among simulated ranks: everything arrives once, whole, and in the order that the
// standard promises, whatever the weather, the eager limit and the limit for unexpected messages.
#include "pt2pt/functions.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/variable.hpp"
#include "copy/copy.hpp"
#include "datatype/functions.hpp"
#include "test/simulate/buffer.hpp"
#include "test/simulate/fibers.hpp"
#include "test/simulate/settings.hpp"
#include "test/simulate/world.hpp"

namespace dunlin::test {
namespace {

/// How the receives of a communicator name their messages; never mixed, or one could take what another needs.
enum class Naming { source_and_tag, any_source, any_tag, anything };
constexpr int kNamings = 4;

Settings limits(std::uint64_t eager_bytes, std::uint64_t unexpected_bytes) {
  return Settings({{"EAGER_BYTES", eager_bytes}, {"UNEXPECTED_BYTES", unexpected_bytes}});
}

struct Message {
  int from, to, naming, tag;
  std::int64_t number;  // of its sender, counting up
  Buffer buffer;
  std::int64_t values;
  bool is_synchronous;
  Request* request = nullptr;
};

struct Receive {
  int at, naming, source, tag;
  std::int64_t number;  // of its receiver, counting up
  Buffer buffer;
  Request* request = nullptr;
  bool accepts(const Message& message) const {
    return message.to == at && message.naming == naming &&
           (source == MPI_ANY_SOURCE || source == message.from) && (tag == MPI_ANY_TAG || tag == message.tag);
  }
};

constexpr std::int64_t kValuesMax = 2000;

class Traffic {
 public:
  Traffic(World& world, std::uint64_t seed) : world_(world), dice_(seed) {
    std::vector<int> everybody(std::size_t(world.size()));
    for (int rank = 0; rank < world.size(); ++rank) everybody[std::size_t(rank)] = rank;
    for (int naming = 0; naming < kNamings; ++naming)
      comms_.push_back(world.intra(everybody, std::uint64_t(naming + 1) << 20));
    const std::size_t count = 20 + dice_() % 300;
    for (std::size_t i = 0; i < count; ++i) add_message(std::int64_t(i));
  }

  /// Sends and receives are posted in random order among ranks, in order on each.
  void run() {
    std::vector<std::pair<bool, std::size_t>> order;
    for (std::size_t i = 0; i < messages_.size(); ++i) order.emplace_back(true, i);
    for (std::size_t i = 0; i < receives_.size(); ++i) order.emplace_back(false, i);
    std::shuffle(order.begin(), order.end(), dice_);
    if (dice_() % 3 == 0)  // all sends first: everything is unexpected
      std::stable_partition(order.begin(), order.end(), [](const auto& each) { return each.first; });
    std::int64_t number = 0;
    std::vector<Request*> requests;
    for (const auto& [is_send, index] : order) {
      if (is_send)
        send(messages_[index], ++number);
      else
        receive(receives_[index], ++number);
      requests.push_back(is_send ? messages_[index].request : receives_[index].request);
      if (dice_() % 2) world_.engine(int(dice_() % std::uint64_t(world_.size()))).poll();
    }
    world_.finish(requests);
    if (::testing::Test::HasFatalFailure()) return;
    check();
    for (Request* each : requests) give_back(each);
  }

 private:
  void add_message(std::int64_t number) {
    const auto size = std::uint64_t(world_.size());
    const std::int64_t values =
        dice_() % 4 == 0 ? 2 * std::int64_t(dice_() % (kValuesMax / 2)) : 2 * std::int64_t(dice_() % 30);
    Message message{int(dice_() % size),
                    int(dice_() % size),
                    int(dice_() % kNamings),
                    int(dice_() % 3),
                    0,
                    Buffer(layout_of(int(dice_() % 3)), values),
                    values,
                    dice_() % 5 == 0};
    for (std::int64_t i = 0; i < values; ++i) message.buffer.set(i, number * 1'000'000 + i);
    Receive receive{message.to,
                    message.naming,
                    message.from,
                    message.tag,
                    0,
                    Buffer(layout_of(int(dice_() % 3)), kValuesMax)};
    const auto naming = Naming(message.naming);
    if (naming == Naming::any_source || naming == Naming::anything) receive.source = MPI_ANY_SOURCE;
    if (naming == Naming::any_tag || naming == Naming::anything) receive.tag = MPI_ANY_TAG;
    for (std::int64_t i = 0; i < kValuesMax; ++i) receive.buffer.expect_written(i);
    messages_.push_back(std::move(message));
    receives_.push_back(std::move(receive));
  }

  Comm& comm(int naming, int rank) { return *comms_[std::size_t(naming)][std::size_t(rank)]; }

  void send(Message& message, std::int64_t number) {
    message.number = number;
    Buffer& data = message.buffer;
    const auto start = message.is_synchronous ? &pt2pt::issend : &pt2pt::isend;
    ASSERT_EQ(start(data.at(), message.values / data.layout().values, data.type(), message.to, message.tag,
                    comm(message.naming, message.from), &message.request),
              Err::ok);
  }
  void receive(Receive& receive, std::int64_t number) {
    receive.number = number;
    Buffer& data = receive.buffer;
    ASSERT_EQ(pt2pt::irecv(data.at(), kValuesMax / data.layout().values, data.type(), receive.source,
                           receive.tag, comm(receive.naming, receive.at), &receive.request),
              Err::ok);
  }

  /// The message that a receive got, told by its contents (or by elimination where it is empty).
  const Message* find(const Receive& receive, const std::vector<bool>& taken) const {
    const Completion& got = receive.request->completion;
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const Message& each = messages_[i];
      if (taken[i] || !receive.accepts(each) || each.from != got.source || each.tag != got.tag) continue;
      if (got.bytes != std::uint64_t(each.values) * 8) continue;
      if (each.values == 0 || receive.buffer.get(0) == each.buffer.get(0)) return &each;
    }
    return nullptr;
  }

  void check() {
    std::vector<bool> taken(messages_.size(), false);
    std::vector<const Message*> matched;
    std::sort(receives_.begin(), receives_.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
    std::sort(messages_.begin(), messages_.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
    for (const Receive& receive : receives_) {
      ASSERT_EQ(receive.request->completion.error, Err::ok);
      const Message* message = find(receive, taken);
      ASSERT_TRUE(message) << "rank " << receive.at << " got something that nobody sent";
      taken[std::size_t(message - messages_.data())] = true;
      EXPECT_TRUE(receive.buffer.has_intact_gaps());
      for (std::int64_t i = 0; i < message->values; ++i)
        ASSERT_SAME(receive.buffer.get(i), message->buffer.get(i)) << i;
      matched.push_back(message);
    }
    // MPI 5.0, 3.5: of two messages that a receive could take from one sender, it takes the one sent first.
    for (std::size_t early = 0; early < receives_.size(); ++early)
      for (std::size_t late = early + 1; late < receives_.size(); ++late) {
        const Message &first = *matched[early], &second = *matched[late];
        if (receives_[early].at != receives_[late].at || first.from != second.from) continue;
        if (first.values == 0 || second.values == 0) continue;  // which of the empty ones it was is a guess
        EXPECT_FALSE(second.number < first.number && receives_[early].accepts(second))
            << "rank " << receives_[early].at << ": a message from rank " << first.from << " was overtaken";
      }
  }

  World& world_;
  std::mt19937_64 dice_;
  std::vector<std::vector<Ref<Comm>>> comms_;  // by naming, by rank
  std::vector<Message> messages_;
  std::vector<Receive> receives_;
};

TEST(SimulatedPointToPoint, EverythingArrivesOnceAndInOrder) {
  const char* one = std::getenv("DUNLIN_TEST_SEED");
  const std::uint64_t first = one ? std::strtoull(one, nullptr, 10) : 1;
  for (std::uint64_t seed = first; seed <= (one ? first : 400) && !HasFailure(); ++seed) {
    SCOPED_TRACE("DUNLIN_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 dice(seed);
    constexpr std::uint64_t kEager[] = {1, 64, 1000, 16384}, kUnexpected[] = {0, 200, 5000, 1 << 30};
    const Settings settings = limits(kEager[dice() % 4], kUnexpected[dice() % 4]);
    World world(int(1 + dice() % 9), weather_of(seed));
    Traffic(world, seed).run();
    world.settle();
    EXPECT_EQ(world.network().under_way(), 0u);
  }
}

TEST(SimulatedPointToPoint, AnOfferThatNobodyReachesComesInPieces) {
  constexpr std::size_t kValues = 1000;
  const Settings settings = limits(16384, 1 << 30);
  const Datatype& type = predefined(MPI_INT64_T);
  for (const std::size_t room : {kValues, kValues / 2, std::size_t{0}}) {
    SCOPED_TRACE(room);
    transport::sim::Weather weather;
    weather.messages_max = 3;  // the rest of the pieces waits for room
    weather.bytes_max = 512;
    World world(2, weather);
    protocol::Messaging& receiver = world.messaging(1);
    std::vector<std::int64_t> sent(kValues), received(kValues, -1), last(1, -1);
    for (std::size_t i = 0; i < kValues; ++i) sent[i] = std::int64_t(i);
    std::vector<Request*> requests;
    const auto send = [&](std::size_t values, int tag) {
      ASSERT_EQ(pt2pt::isend(sent.data(), std::int64_t(values), type, 1, tag, world.comm(0),
                             &requests.emplace_back()),
                Err::ok);
    };
    const auto receive = [&](std::vector<std::int64_t>& to, std::size_t values, int tag) {
      ASSERT_EQ(pt2pt::irecv(to.data(), std::int64_t(values), type, 0, tag, world.comm(1),
                             &requests.emplace_back()),
                Err::ok);
    };
    send(kValues, 0);
    send(1, 1);
    while (!receiver.matcher().first_arrived()) world.engine(1).poll();
    match::Unexpected* const found = receiver.probe(world.comm(1), Plane::point_to_point, 0, 0);
    ASSERT_TRUE(found);
    EXPECT_EQ(receiver.message_bytes(*found), kValues * 8) << "of the whole message";
    EXPECT_FALSE(requests[0]->is_complete) << "most of it has not left";
    receive(received, room, 0);
    EXPECT_EQ(requests.back()->is_complete, room == 0) << "nothing is wanted";
    receive(last, 1, 1);
    world.finish(requests);
    EXPECT_EQ(requests[2]->completion.error, room < kValues ? Err::truncate : Err::ok);
    EXPECT_EQ(requests[2]->completion.bytes, room * 8);
    for (std::size_t i = 0; i < kValues; ++i) ASSERT_EQ(received[i], i < room ? std::int64_t(i) : -1) << i;
    EXPECT_EQ(last[0], 0);
    for (Request* each : requests) give_back(each);
  }
}

TEST(SimulatedPointToPoint, AFloodIsHeldBackAndNothingIsLost) {
  constexpr std::uint64_t kLimit = 20'000, kOffer = 40;
  constexpr int kMessages = 2000, kValues = 125;
  const Settings settings = limits(16384, kLimit);
  transport::sim::Weather weather;
  weather.messages_max = 10;
  World world(2, weather);
  std::vector<std::int64_t> sent(kMessages * kValues), received(kMessages * kValues, -1);
  std::vector<Request*> requests;
  const Datatype& type = predefined(MPI_INT64_T);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = std::int64_t(i);
  for (std::size_t i = 0; i < sent.size(); i += kValues) {
    ASSERT_EQ(pt2pt::isend(&sent[i], kValues, type, 1, 0, world.comm(0), &requests.emplace_back()), Err::ok);
    world.engine(1).poll();
    world.engine(0).poll();
  }
  world.settle();
  EXPECT_TRUE(world.messaging(0).peers.of(1).is_held_back);
  std::uint64_t kept = 0;
  const auto* first = world.messaging(1).matcher().first_arrived();
  for (const auto* each = first; each; each = each->next_arrived) kept += each->bytes;
  // What was under way when the limit was reached still comes in, later messages only as offers.
  EXPECT_LE(kept, kLimit + (weather.messages_max + 1) * kValues * 8 + kMessages * kOffer);
  for (std::size_t i = 0; i < sent.size(); i += kValues)
    ASSERT_EQ(pt2pt::irecv(&received[i], kValues, type, 0, 0, world.comm(1), &requests.emplace_back()),
              Err::ok);
  world.finish(requests);
  EXPECT_EQ(sent, received);
  world.settle();
  EXPECT_FALSE(world.messaging(0).peers.of(1).is_held_back);  // what comes next is pushed again
  for (Request* each : requests) give_back(each);
}

TEST(SimulatedPointToPoint, AStatusNamesTheMessage) {
  World world(3, {});
  const std::int64_t sent[2] = {1, 2};
  std::int64_t received[4] = {};
  Request *send = nullptr, *receive = nullptr;
  const Datatype& type = predefined(MPI_INT64_T);
  ASSERT_EQ(pt2pt::irecv(received, 4, type, MPI_ANY_SOURCE, MPI_ANY_TAG, world.comm(0), &receive), Err::ok);
  ASSERT_EQ(pt2pt::isend(sent, 2, type, 0, 7, world.comm(2), &send), Err::ok);
  Request* const requests[] = {send, receive};
  world.finish(requests);
  give_back(send);
  MPI_Request handle = to_handle<MPI_Request>(*receive);
  MPI_Status status{};
  EXPECT_EQ(pt2pt::wait(&handle, &status), Err::ok);
  EXPECT_EQ(status.MPI_SOURCE, 2);
  EXPECT_EQ(status.MPI_TAG, 7);
  EXPECT_EQ(handle, MPI_REQUEST_NULL);
}

// The word that holds the other back must not wait behind this rank's own backlog, which is as long; only
// behind what fills the channel already.
TEST(SimulatedPointToPoint, TwoFloodsThatMeetAreHeldBack) {
  constexpr std::uint64_t kLimit = 20'000, kOffer = 40;
  constexpr int kMessages = 1000, kValues = 125;
  const Settings settings = limits(16384, kLimit);
  transport::sim::Weather weather;
  weather.messages_max = 10;
  World world(2, weather);
  std::vector<std::int64_t> sent(kMessages * kValues), received[2];
  std::vector<Request*> requests;
  const Datatype& type = predefined(MPI_INT64_T);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = std::int64_t(i);
  for (int rank = 0; rank < 2; ++rank)
    for (std::size_t i = 0; i < sent.size(); i += kValues)
      ASSERT_EQ(
          pt2pt::isend(&sent[i], kValues, type, 1 - rank, 0, world.comm(rank), &requests.emplace_back()),
          Err::ok);
  world.settle();
  for (int rank = 0; rank < 2; ++rank) {
    std::uint64_t kept = 0;
    const auto* first = world.messaging(rank).matcher().first_arrived();
    for (const auto* each = first; each; each = each->next_arrived) kept += each->bytes;
    EXPECT_LE(kept, kLimit + 4 * weather.messages_max * kValues * 8 + kMessages * kOffer) << rank;
  }
  for (int rank = 0; rank < 2; ++rank) {
    received[rank].assign(sent.size(), -1);
    for (std::size_t i = 0; i < sent.size(); i += kValues)
      ASSERT_EQ(pt2pt::irecv(&received[rank][i], kValues, type, 1 - rank, 0, world.comm(rank),
                             &requests.emplace_back()),
                Err::ok);
  }
  world.finish(requests);
  EXPECT_EQ(received[0], sent);
  EXPECT_EQ(received[1], sent);
  for (Request* each : requests) give_back(each);
}

TEST(SimulatedPointToPoint, ASendToARankThatIsGoneFails) {
  World world(2, {});
  world.network().cut(0, 1);
  const std::int64_t value = 1;
  Request* request = nullptr;
  ASSERT_EQ(pt2pt::isend(&value, 1, predefined(MPI_INT64_T), 1, 0, world.comm(0), &request), Err::ok);
  Request* const requests[] = {request};
  world.finish(requests);
  EXPECT_EQ(request->completion.error, Err::proc_aborted);
  give_back(request);
}

/// A first large message may come before its peer has told how its memory is reached: it goes another way,
/// and later ones are copied straight all the same.
TEST(SimulatedPointToPoint, AMessageBeforeThePeerHasPublishedDoesNotLoseItsMemory) {
  constexpr int kValues = 1000, kMessages = 300;
  const Settings settings({{"EAGER_BYTES", 64}, {"SHARED_COPY_BYTES", 64}});
  const Nodes one_node{.of_rank = {0, 0}, .memory = {.maps = true, .late = 95}};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(one_node, weather_of(seed));
    Fibers fibers(world, [&](int rank) {
      const Datatype& type = predefined(MPI_INT64_T);
      std::int64_t message[kValues] = {};
      for (int i = 0; i < kMessages; ++i) {
        if (rank == 0) {
          message[kValues - 1] = i;
          EXPECT_EQ(pt2pt::send(message, kValues, type, 1, 0, world.comm(rank)), Err::ok);
        } else {
          EXPECT_EQ(pt2pt::recv(message, kValues, type, 0, 0, world.comm(rank), MPI_STATUS_IGNORE), Err::ok);
          EXPECT_EQ(message[kValues - 1], i);
        }
      }
    });
    fibers.run();
    world.settle();
    EXPECT_GT(world.memory(0).copies(), 0u);
  }
}

/// Where lines move slowly between two ranks, what their caches hold goes through the channel as long as it
/// goes whole, for a copy needs only one of the two; not where ranks share CPUs.
TEST(SimulatedPointToPoint, FarRanksShareNoCopyOfWhatTheirCachesHold) {
  constexpr int kValues = 1000;
  const Nodes one_node{.of_rank = {0, 0}, .memory = {.maps = true}};
  for (const char* const distance : {"near", "far"})
    for (const bool have_own_cpus : {true, false})
      for (const std::uint64_t eager_bytes : {64, 16384}) {
        SCOPED_TRACE(testing::Message() << distance << ", " << have_own_cpus << ", " << eager_bytes);
        setenv("DUNLIN_DISTANCE", distance, 1);
        const Settings settings({{"EAGER_BYTES", eager_bytes}, {"SHARED_COPY_BYTES", 64}});
        World world(one_node, weather_of(1));
        world.messaging(0).set_have_own_cpus(have_own_cpus);
        Fibers fibers(world, [&](int rank) {
          const Datatype& type = predefined(MPI_INT64_T);
          std::int64_t message[kValues] = {};
          message[kValues - 1] = rank == 0 ? 7 : 0;
          if (rank == 0)
            EXPECT_EQ(pt2pt::send(message, kValues, type, 1, 0, world.comm(rank)), Err::ok);
          else
            EXPECT_EQ(pt2pt::recv(message, kValues, type, 0, 0, world.comm(rank), MPI_STATUS_IGNORE),
                      Err::ok);
          EXPECT_EQ(message[kValues - 1], 7);
        });
        fibers.run();
        world.settle();
        const bool is_far = std::string_view(distance) == "far";
        constexpr std::size_t kBytes = kValues * sizeof(std::int64_t);
        const bool goes_around = is_far && have_own_cpus && kBytes <= eager_bytes && copy::takes_over(kBytes);
        EXPECT_EQ(world.messaging(0).rendezvous.copies(), goes_around ? 0u : 1u);
      }
  unsetenv("DUNLIN_DISTANCE");
  Variable::read_all_again();
}

/// Data with gaps are shared from half the size on: a column goes by shared copy where as many bytes in one
/// run go through the channel.  By blocking sends and by nonblocking ones.
TEST(SimulatedPointToPoint, AColumnIsSharedWhereARunOfItsBytesIsNot) {
  constexpr int kRows = 1000, kColumns = 3;
  const Nodes one_node{.of_rank = {0, 0}, .memory = {.maps = true}};
  const Settings settings({{"EAGER_BYTES", 16384}, {"SHARED_COPY_BYTES", 8001}});
  Datatype* column = nullptr;
  ASSERT_EQ(datatype::type_vector(kRows, 1, kColumns, predefined(MPI_INT64_T), false, &column), Err::ok);
  ASSERT_EQ(datatype::type_commit(*column), Err::ok);
  for (const bool is_column : {false, true})
    for (const bool is_blocking : {false, true}) {
      SCOPED_TRACE(testing::Message() << is_column << ", " << is_blocking);
      World world(one_node, weather_of(1));
      const Datatype& type = is_column ? *column : predefined(MPI_INT64_T);
      const int count = is_column ? 1 : kRows;
      Fibers fibers(world, [&](int rank) {
        std::vector<std::int64_t> values(kRows * kColumns, rank == 0 ? 7 : 0);
        Comm& comm = world.comm(rank);
        if (rank == 1) {
          EXPECT_EQ(pt2pt::recv(values.data(), count, type, 0, 0, comm, MPI_STATUS_IGNORE), Err::ok);
        } else if (is_blocking) {
          EXPECT_EQ(pt2pt::send(values.data(), count, type, 1, 0, comm), Err::ok);
        } else {
          Request* sent = nullptr;
          EXPECT_EQ(pt2pt::isend(values.data(), count, type, 1, 0, comm, &sent), Err::ok);
          auto request = to_handle<MPI_Request>(*sent);
          EXPECT_EQ(pt2pt::wait(&request, MPI_STATUS_IGNORE), Err::ok);
        }
        EXPECT_EQ(values[std::size_t(is_column ? (kRows - 1) * kColumns : kRows - 1)], 7);
      });
      fibers.run();
      world.settle();
      EXPECT_EQ(world.messaging(0).rendezvous.copies(), is_column ? 1u : 0u);
    }
  EXPECT_EQ(datatype::type_free(*column), Err::ok);
}

/// MPI 5.0, 3.6: what the program knows to be received has left the attached buffer.  Rank 1 sends its word
/// right after the receive: whatever the library has to say of the received message comes before it.
TEST(SimulatedPointToPoint, AReceivedMessageLeavesItsBufferBeforeTheReceiversNextWord) {
  constexpr int kValues = 100, kRounds = 20;
  const Settings settings({{"EAGER_BYTES", 64}, {"SHARED_COPY_BYTES", 64}});
  const Nodes one_node{.of_rank = {0, 0}, .memory = {.reads = true}};
  for (std::uint64_t seed = 1; seed <= 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(one_node, weather_of(seed));
    std::vector<std::byte> buffer(kValues * sizeof(std::int64_t) + MPI_BSEND_OVERHEAD);
    ASSERT_EQ(pt2pt::comm_attach_buffer(world.comm(0), buffer.data(), std::int64_t(buffer.size())), Err::ok);
    progress::Engine::set_of_process(&world.engine(0));  // flushing waits there
    Fibers fibers(world, [&](int rank) {
      const Datatype& type = predefined(MPI_INT64_T);
      Comm& comm = world.comm(rank);
      std::int64_t message[kValues] = {}, word = 0;
      for (int round = 0; round < kRounds; ++round) {
        if (rank == 1) {
          EXPECT_EQ(pt2pt::recv(message, kValues, type, 0, 1, comm, MPI_STATUS_IGNORE), Err::ok);
          EXPECT_EQ(pt2pt::send(&word, 1, type, 0, 2, comm), Err::ok);
          continue;
        }
        EXPECT_EQ(pt2pt::bsend(message, kValues, type, 1, 1, comm), Err::ok);
        EXPECT_EQ(pt2pt::recv(&word, 1, type, 1, 2, comm, MPI_STATUS_IGNORE), Err::ok);
        Request* flush = nullptr;  // complete at once where the buffer is empty
        EXPECT_EQ(pt2pt::comm_iflush_buffer(comm, &flush), Err::ok);
        EXPECT_TRUE(flush->is_complete) << "round " << round;
        comm.engine->wait(*flush);
        give_back(flush);
      }
    });
    fibers.run();
    world.settle();
    void* detached = nullptr;
    std::int64_t size = 0;
    EXPECT_EQ(pt2pt::comm_detach_buffer(world.comm(0), &detached, &size), Err::ok);
    progress::Engine::set_of_process(nullptr);
  }
}

/// The same in one process: the word of a message to oneself waits until its delivery is over.
TEST(SimulatedPointToPoint, AReceivedMessageToOneselfLeavesItsBuffer) {
  const Settings settings = limits(64, 1 << 30);
  World world(1, {});
  Comm& comm = world.comm(0);
  constexpr int kValues = 100;
  const Datatype& type = predefined(MPI_INT64_T);
  std::int64_t message[kValues] = {}, received[kValues];
  std::vector<std::byte> buffer(sizeof message + MPI_BSEND_OVERHEAD);
  ASSERT_EQ(pt2pt::comm_attach_buffer(comm, buffer.data(), std::int64_t(buffer.size())), Err::ok);
  for (int round = 0; round < 3; ++round) {
    message[0] = round;
    Request* request = nullptr;
    ASSERT_EQ(pt2pt::irecv(received, kValues, type, 0, 1, comm, &request), Err::ok);
    ASSERT_EQ(pt2pt::bsend(message, kValues, type, 0, 1, comm), Err::ok);
    ASSERT_TRUE(request->is_complete);
    EXPECT_EQ(received[0], round);
    give_back(request);
  }
  world.settle();
  void* detached = nullptr;
  std::int64_t size = 0;
  EXPECT_EQ(pt2pt::comm_detach_buffer(comm, &detached, &size), Err::ok);
}

TEST(SimulatedPointToPoint, BlockingRing) {
  for (int size = 1; size <= 33; size += 4) {
    World world(size, weather_of(std::uint64_t(size)));
    std::vector<std::int64_t> got(std::size_t(size), -1);
    Fibers fibers(world, [&](int rank) {
      const Datatype& type = predefined(MPI_INT64_T);
      const int right = (rank + 1) % size, left = (rank - 1 + size) % size;
      std::int64_t mine = rank;
      for (int step = 0; step < size; ++step)  // once round: each ends with its own
        EXPECT_EQ(
            pt2pt::sendrecv_replace(&mine, 1, type, right, 7, left, 7, world.comm(rank), MPI_STATUS_IGNORE),
            Err::ok);
      got[std::size_t(rank)] = mine;
    });
    fibers.run();
    for (int rank = 0; rank < size; ++rank) EXPECT_EQ(got[std::size_t(rank)], rank);
  }
}

}  // namespace
}  // namespace dunlin::test
