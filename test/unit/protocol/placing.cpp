// Data that the sender writes where the receive waits: only into that receive's buffer, and by another way
// where it cannot.  Two ranks in this process over real rings; memory that counts who maps it.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/variable.hpp"
#include "comm/process.hpp"
#include "heap/heap.hpp"
#include "peer/peer_memory.hpp"
#include "progress/engine.hpp"
#include "transport/shm/transport.hpp"

namespace dunlin::protocol {
namespace {

constexpr std::size_t kBytes = 512 << 10;

int maps = 0;            // by whoever sends
int valid_answers = -1;  // so many checks say "still valid", then none; -1: all do

/// The memory of the other rank, which is this process.
class OwnMemory final : public peer::PeerMemory {
 public:
  const char* name() const noexcept override { return "own"; }
  bool can_map() const noexcept override { return true; }
  bool can_copy_anywhere() const noexcept override { return false; }
  peer::Mapping map(std::uint64_t at, std::size_t) noexcept override {
    ++maps;
    return {reinterpret_cast<std::byte*>(at), 1};
  }
  bool is_still_valid(const peer::Mapping&) const noexcept override {
    return valid_answers < 0 || valid_answers-- > 0;
  }
  bool try_read(std::span<const peer::Piece>, std::span<const peer::RemotePiece>,
                std::uint64_t) noexcept override {
    return false;
  }
  bool try_write(std::span<const peer::RemotePiece>, std::span<const peer::Piece>,
                 std::uint64_t) noexcept override {
    return false;
  }
};

class OwnMemories final : public peer::Memories {
 public:
  std::unique_ptr<peer::PeerMemory> connect(int) noexcept override { return std::make_unique<OwnMemory>(); }
  bool is_shared(const void* at, std::size_t bytes) noexcept override { return heap::is_shared(at, bytes); }
};

struct Rank {
  Rank(int fd, int me) : engine(me, 2) {
    transport = std::move(*transport::shm::Transport::open({fd, 0, me, peers}));
    engine.add(*transport);
    engine.protocol.set_shared_memory(*transport);
    engine.protocol.set_memories(memories);
    process.engine = &engine;
    process.me = me;
    process.world_size = 2;
    process.node_peers = peers;
    comm::create_world(process);
  }
  ~Rank() { process.world = {}, process.self = {}; }
  Comm& comm() { return *process.world; }

  const std::vector<int> peers{0, 1};
  OwnMemories memories;
  progress::Engine engine;
  std::unique_ptr<transport::shm::Transport> transport;
  comm::Process process;
};

class Placing : public ::testing::Test {
 protected:
  explicit Placing(const char* ring_lines = "256") {
    setenv("DUNLIN_SHM_RING_LINES", ring_lines, 1);
    Variable::read_all_again();
    init_predefined_errhandlers();
    init_predefined_datatypes();
    maps = 0;
    valid_answers = -1;
    fd_ = memfd_create("dunlin-test", MFD_CLOEXEC);
    sender_ = std::make_unique<Rank>(fd_, 0);
    receiver_ = std::make_unique<Rank>(fd_, 1);
    to_ = static_cast<std::byte*>(heap::allocate(kBytes));
    for (std::size_t i = 0; i < kBytes; ++i) data_[i] = std::byte(i * 7 + i / 251);
    for (int i = 0; i < 8; ++i) pass_short();  // until the pair has its ring
    receiver_->engine.protocol.peer_of(0).incoming = receiver_->transport->reader_of(0);
  }
  ~Placing() override {
    heap::release(to_);
    sender_.reset();
    receiver_.reset();
    close(fd_);
    unsetenv("DUNLIN_SHM_RING_LINES");
    Variable::read_all_again();
  }

  void pass_short() {
    ReceiveRequest receive;
    receiver_->engine.protocol.receive(receive, receiver_->comm(), Plane::point_to_point, {to_, 8}, 0, 9);
    send(9, 8);
    finish(receive);
    std::memset(to_, 0, kBytes);
  }
  /// What MPI_Recv does until it waits.
  void wait_for(ReceiveRequest& receive, int tag, std::size_t room) {
    Completion none;
    EXPECT_FALSE(receiver_->engine.protocol.try_receive_now(receiver_->comm(), Plane::point_to_point,
                                                            {to_, room}, 0, tag, none));
    receiver_->engine.protocol.receive(receive, receiver_->comm(), Plane::point_to_point, {to_, room}, 0,
                                       tag);
  }
  /// From memory that the receiver cannot map: nothing to ask for, it is pushed, or placed.
  void send(int tag, std::size_t bytes) {
    sends_.push_back(std::make_unique<SendRequest>());
    sender_->engine.protocol.send(*sends_.back(), sender_->comm(), Plane::point_to_point,
                                  {data_.data(), bytes}, 1, tag, Mode::standard);
  }
  void poll() {
    for (int i = 0; i < 100; ++i) sender_->engine.poll(), receiver_->engine.poll();
  }
  void finish(const ReceiveRequest& receive) {
    poll();
    EXPECT_TRUE(receive.is_complete);
    for (const auto& each : sends_) EXPECT_TRUE(each->is_complete);
  }
  void expect_arrived(const ReceiveRequest& receive, std::size_t bytes) {
    finish(receive);
    EXPECT_EQ(receive.completion.error, Err::ok);
    EXPECT_EQ(receive.completion.bytes, bytes);
    EXPECT_EQ(std::memcmp(to_, data_.data(), bytes), 0);
  }
  /// Makes the receiver believe that the sender is far away.
  void make_distant() {
    setenv("DUNLIN_COPY_SLOW_LINES_NS", "1", 1);
    Variable::read_all_again();
    for (int i = 0; i < 8; ++i) receiver_->engine.protocol.peer_of(0).sources.learn(1, kBytes, to_, true);
    EXPECT_TRUE(receiver_->engine.protocol.peer_of(0).sources.is_distant());
    unsetenv("DUNLIN_COPY_SLOW_LINES_NS");
    Variable::read_all_again();
  }

  int fd_;
  std::unique_ptr<Rank> sender_, receiver_;
  std::vector<std::byte> data_ = std::vector<std::byte>(kBytes);
  std::byte* to_;
  std::vector<std::unique_ptr<SendRequest>> sends_;
};

TEST_F(Placing, DataGoesStraightIntoTheWaitingBuffer) {
  if (!heap::is_shared(to_, kBytes)) GTEST_SKIP() << "no shared heap here";
  for (const std::size_t bytes : {16384, 16385, 100'000, int(kBytes)}) {
    std::memset(to_, 0, kBytes);
    const int before = maps;
    ReceiveRequest receive;
    wait_for(receive, 5, kBytes);
    send(5, bytes);
    EXPECT_TRUE(sends_.back()->is_complete);
    EXPECT_EQ(std::memcmp(to_, data_.data(), bytes), 0);  // there before the receiver looks
    EXPECT_EQ(maps, before + 1);
    EXPECT_FALSE(receive.is_complete);
    expect_arrived(receive, bytes);
  }
}

TEST_F(Placing, AnotherMessageLeavesTheBufferAlone) {
  ReceiveRequest receive, other;
  wait_for(receive, 5, kBytes);
  std::vector<std::byte> elsewhere(kBytes);
  send(6, 50'000);
  EXPECT_EQ(maps, 0);
  poll();
  EXPECT_EQ(to_[1], std::byte{0});
  // The receiver's word counted for the message before this one.
  send(5, 50'000);
  EXPECT_EQ(maps, 0);
  expect_arrived(receive, 50'000);
  receiver_->engine.protocol.receive(other, receiver_->comm(), Plane::point_to_point,
                                     {elsewhere.data(), kBytes}, 0, 6);
  finish(other);
  EXPECT_EQ(other.completion.bytes, 50'000u);
}

TEST_F(Placing, NothingIsPlacedThatMessagesBeforeItMayNeed) {
  ReceiveRequest first, second;
  receiver_->engine.protocol.receive(first, receiver_->comm(), Plane::point_to_point, {to_, 100'000}, 0,
                                     match::kAny);
  ReceiveRequest receive;
  std::vector<std::byte> elsewhere(kBytes);
  Completion none;
  EXPECT_FALSE(receiver_->engine.protocol.try_receive_now(receiver_->comm(), Plane::point_to_point,
                                                          {elsewhere.data(), kBytes}, 0, 5, none));
  send(5, 60'000);
  EXPECT_EQ(maps, 0);
  expect_arrived(first, 60'000);
}

TEST_F(Placing, TooLongAMessageIsTruncatedAsEver) {
  ReceiveRequest receive;
  wait_for(receive, 5, 20'000);
  send(5, 30'000);
  EXPECT_EQ(maps, 0);
  finish(receive);
  EXPECT_EQ(receive.completion.error, Err::truncate);
  EXPECT_EQ(std::memcmp(to_, data_.data(), 20'000), 0);
  EXPECT_EQ(to_[20'001], std::byte{0});
}

TEST_F(Placing, MemoryThatChangedItsBackingIsSentAgain) {
  if (!heap::is_shared(to_, kBytes)) GTEST_SKIP() << "no shared heap here";
  ReceiveRequest receive;
  wait_for(receive, 5, kBytes);
  valid_answers = 0;
  send(5, 60'000);
  EXPECT_EQ(maps, 1);
  std::memset(to_, 0, kBytes);  // what was placed went elsewhere
  expect_arrived(receive, 60'000);
}

TEST_F(Placing, ADistantReceiverFollowsInPieces) {
  if (!heap::is_shared(to_, kBytes)) GTEST_SKIP() << "no shared heap here";
  make_distant();
  for (const std::size_t bytes : {16384, 65536, 65537, 200'000, int(kBytes)}) {
    std::memset(to_, 0, kBytes);
    const int before = maps;
    ReceiveRequest receive;
    wait_for(receive, 5, kBytes);
    send(5, bytes);
    EXPECT_EQ(maps - before, bytes < 65536 ? 0 : 1);
    expect_arrived(receive, bytes);
  }
}

/// The receiver forks after two of eight pieces: the others go through the channel.
TEST_F(Placing, TheRestGoesThroughTheChannel) {
  if (!heap::is_shared(to_, kBytes)) GTEST_SKIP() << "no shared heap here";
  make_distant();
  ReceiveRequest receive;
  wait_for(receive, 5, kBytes);
  valid_answers = 2;
  send(5, kBytes);
  std::memset(to_ + kBytes / 4, 0, kBytes / 4 * 3);
  expect_arrived(receive, kBytes);
  ReceiveRequest next;
  wait_for(next, 5, kBytes);
  valid_answers = -1;
  send(5, 70'000);
  expect_arrived(next, 70'000);
}

class PlacingInATinyRing : public Placing {
 protected:
  PlacingInATinyRing() : Placing("4") {}
};

/// The receiver sleeps, so that it does not hear of all pieces, and forks: what it has not heard of comes
/// again.
TEST_F(PlacingInATinyRing, TheRestBeginsWhereTheReceiverKnows) {
  if (!heap::is_shared(to_, kBytes)) GTEST_SKIP() << "no shared heap here";
  make_distant();
  ReceiveRequest receive;
  wait_for(receive, 5, kBytes);
  valid_answers = 6;
  send(5, kBytes);
  std::memset(to_ + kBytes / 8 * 6, 0, kBytes / 8 * 2);
  expect_arrived(receive, kBytes);
}

}  // namespace
}  // namespace dunlin::protocol
