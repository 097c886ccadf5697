// Copies of one rank that several threads advance: for ThreadSanitizer.
#include "protocol/shared_copy.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/big_lock.hpp"
#include "protocol/peers.hpp"
#include "transport/shm/transport.hpp"

namespace dunlin::protocol {
namespace {

/// A peer's memory that lies where it says.
struct SameMemory final : peer::PeerMemory {
  const char* name() const noexcept override { return "same"; }
  bool can_map() const noexcept override { return true; }
  bool can_copy_anywhere() const noexcept override { return false; }
  peer::Mapping map(std::uint64_t at, std::size_t) noexcept override {
    return {reinterpret_cast<std::byte*>(at), 0, &open_windows};
  }
  bool is_still_valid(const peer::Mapping&) const noexcept override { return true; }
  bool try_read(std::span<const peer::Piece>, std::span<const peer::RemotePiece>,
                std::uint64_t) noexcept override {
    return false;
  }
  bool try_write(std::span<const peer::RemotePiece>, std::span<const peer::Piece>,
                 std::uint64_t) noexcept override {
    return false;
  }
  const std::atomic<std::uint32_t> open_windows = 0;
};

TEST(SharedCopies, AreJoinedByOneThreadWhileAnotherCopies) {
  constexpr int kPeer = 11;
  constexpr std::uint32_t kCopies = 20;
  constexpr std::size_t kBytes = 4 << 20;
  const int fd = memfd_create("dunlin-test", MFD_CLOEXEC);
  const std::array<int, 2> ranks = {10, kPeer};
  const std::unique_ptr<transport::shm::Transport> receiver =
      std::move(*transport::shm::Transport::open({fd, 4096, 0, ranks}));
  const std::unique_ptr<transport::shm::Transport> sender =
      std::move(*transport::shm::Transport::open({fd, 4096, 1, ranks}));
  Peer peer;
  peer.index = kPeer;
  peer.channel = peer.shm = receiver->connect(kPeer);
  peer.memory = std::make_unique<SameMemory>();
  std::byte* const transfers = receiver->shared_lines(kPeer);

  const std::vector<std::byte> sent(kBytes, std::byte{7});
  std::vector<std::byte> received(kBytes);
  std::deque<ReceiveRequest> requests(kCopies);
  SharedCopies copies;
  std::thread program([&] {
    auto* const lines = reinterpret_cast<transport::shm::Transfer*>(transfers);
    for (std::uint32_t i = 0; i < kCopies; ++i) {
      // Behind the one whose second half is being copied.
      while (i > 0 && lines[i - 1].progress(CopySide::receiver).chunks == 0) std::this_thread::yield();
      const BigLock::Guard guard;
      const RemoteBuffer theirs{reinterpret_cast<std::uint64_t>(sent.data()), kBytes};
      lines[i].begin(1);
      copies.join(requests[i], peer, {received.data(), kBytes}, kBytes, kBytes, Chunks::kHalves, transfers,
                  std::uint64_t{1} << 32 | i, peer.layouts.map(*peer.memory, theirs), {}, false);
    }
  });
  for (std::uint32_t finished = 0; finished < kCopies;) {
    const BigLock::Guard guard;
    const SharedCopies::Round round = copies.advance(true);
    if (!round.finished) continue;
    copies.close(*round.finished);
    ++finished;
  }
  program.join();
  EXPECT_EQ(received, sent);
  close(fd);
}

}  // namespace
}  // namespace dunlin::protocol
