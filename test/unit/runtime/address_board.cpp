// A peer's address is there whole, or not at all yet.
#include "runtime/address_board.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace dunlin::runtime {
namespace {

TEST(AddressBoard, NothingIsReadBeforeItIsWrittenWhole) {
  constexpr int kRanks = 500;
  const int fd = memfd_create("dunlin-test", MFD_CLOEXEC);
  AddressBoard ours, theirs;
  ASSERT_EQ(ours.open(fd, 0, kRanks), Err::ok);
  ASSERT_EQ(theirs.open(fd, 0, kRanks), Err::ok);
  EXPECT_TRUE(theirs.read(0).empty());
  std::thread writer([&] {
    for (int rank = 0; rank < kRanks; ++rank) {
      std::array<std::byte, peer::kPublishedBytesMax> address;
      address.fill(std::byte(rank));
      ours.write(rank, address);
    }
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    std::span<const std::byte> read;
    while ((read = theirs.read(rank)).empty()) std::this_thread::yield();
    EXPECT_EQ(read.size(), peer::kPublishedBytesMax);
    for (const std::byte each : read) EXPECT_EQ(each, std::byte(rank));
  }
  writer.join();
  close(fd);
}

}  // namespace
}  // namespace dunlin::runtime
