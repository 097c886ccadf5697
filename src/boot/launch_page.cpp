// The launch page of a node segment; see launch_page.hpp.
#include "boot/launch_page.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>

#include "base/assert.hpp"
#include "os/grow_file.hpp"

namespace dunlin::boot {
namespace {

constexpr std::size_t kLine = 64;

std::size_t waits_at(std::size_t node_size) noexcept {
  return (sizeof(LaunchPage) + node_size + kLine - 1) & ~(kLine - 1);
}

}  // namespace

RankState LaunchPage::state(int node_rank) noexcept {
  DUNLIN_ASSERT(node_rank >= 0);
  // Relaxed: whoever reads it has seen the rank's end, or only reports it.
  return RankState(states()[node_rank].load(std::memory_order_relaxed));
}

RankWaits& LaunchPage::waits(int node_rank, int ranks) noexcept {
  DUNLIN_ASSERT(node_rank >= 0 && node_rank < ranks);
  std::byte* const first = reinterpret_cast<std::byte*>(this) + waits_at(std::size_t(ranks));
  return reinterpret_cast<RankWaits*>(first)[node_rank];
}

void LaunchPage::set_state(int node_rank, RankState state) noexcept {
  DUNLIN_ASSERT(node_rank >= 0);
  states()[node_rank].store(std::uint8_t(state), std::memory_order_relaxed);
}

bool LaunchPage::try_begin(int node_rank) noexcept {
  DUNLIN_ASSERT(node_rank >= 0);
  std::uint8_t expected = std::uint8_t(RankState::started);
  // Relaxed: one byte that carries no other data; the exchange alone decides between two programs.
  return states()[node_rank].compare_exchange_strong(expected, std::uint8_t(RankState::initialized),
                                                     std::memory_order_relaxed);
}

void LaunchPage::record_abort(int world_rank, int code, const char* message) noexcept {
  std::int32_t nobody = kNobody;
  // Relaxed: only elects the one writer of the fields below; W1 publishes them.
  if (!abort_rank.compare_exchange_strong(nobody, world_rank, std::memory_order_relaxed)) return;
  abort_code = code;
  std::snprintf(abort_message, sizeof abort_message, "%s", message);
  // W1 (pairs with R1 in is_aborted): code and message are visible to whoever sees the 1; without it mpirun
  // could print half a sentence.
  abort_told.store(1, std::memory_order_release);
}

std::size_t launch_page_bytes(int node_size) noexcept {
  DUNLIN_ASSERT(node_size > 0);
  const std::size_t bytes = waits_at(std::size_t(node_size)) + std::size_t(node_size) * sizeof(RankWaits);
  return (bytes + 4095) & ~std::size_t{4095};
}

int make_node_segment(int node_size, int cpus_usable, os::NearRanks near) noexcept {
  const int fd = ::memfd_create("dunlin-node", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);  // who maps what has been cut off dies of SIGBUS
  ::fchmod(fd, S_IRUSR | S_IWUSR);  // a memfd can be opened through /proc, and begins with all permissions
  const std::size_t bytes = launch_page_bytes(node_size);
  void* memory = MAP_FAILED;
  if (os::try_grow_file(fd, bytes))
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    const int reason = errno;
    ::close(fd);
    errno = reason;
    return -1;
  }
  auto* page = new (memory) LaunchPage{};
  page->node_size = std::uint32_t(node_size);
  page->cpus_usable = std::uint32_t(cpus_usable);
  page->near = near;
  page->abort_rank.store(LaunchPage::kNobody, std::memory_order_relaxed);  // nobody else has it yet
  page->magic = LaunchPage::kMagic;
  ::munmap(memory, bytes);
  return fd;
}

LaunchPage* map_launch_page(int fd, int node_size) noexcept {
  if (node_size <= 0) return nullptr;
  const std::size_t bytes = launch_page_bytes(node_size);
  struct stat status;
  if (::fstat(fd, &status) != 0 || status.st_size < off_t(bytes)) return nullptr;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* page = static_cast<LaunchPage*>(memory);
  if (page->magic == LaunchPage::kMagic && page->node_size == std::uint32_t(node_size)) return page;
  ::munmap(memory, bytes);
  return nullptr;
}

void unmap_launch_page(LaunchPage* page, int node_size) noexcept {
  if (page) ::munmap(page, launch_page_bytes(node_size));
}

}  // namespace dunlin::boot
