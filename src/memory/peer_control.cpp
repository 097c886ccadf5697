#include "memory/peer_control.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>

#include "base/assert.hpp"
#include "memory/provider.hpp"

namespace dunlin::memory {

int take_peer_descriptor(std::uint32_t pid, std::int32_t number) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%u/fd/%d", pid, number);
  const int opened = open(path, O_RDWR | O_CLOEXEC);
  if (opened >= 0) return opened;
  const int process = int(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return -1;
  const int taken = int(syscall(SYS_pidfd_getfd, process, number, 0));
  const int saved_errno = errno;
  close(process);
  errno = saved_errno;
  return taken;
}

std::shared_ptr<PeerControl> PeerControl::attach(const PublishedAddress& peer, const char** why) noexcept {
  *why = "the peer has no shared heap";
  if (peer.control_descriptor < 0) return nullptr;
  *why =
      "the peer's descriptors cannot be opened through /proc (other user, other container, or not dumpable)";
  const int descriptor = take_peer_descriptor(peer.pid, peer.control_descriptor);
  if (descriptor < 0) return nullptr;
  struct stat status{};
  void* mapped = MAP_FAILED;
  if (fstat(descriptor, &status) == 0 && std::size_t(status.st_size) >= sizeof(HeapControl))
    mapped = mmap(nullptr, std::size_t(status.st_size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                  descriptor, 0);
  close(descriptor);
  *why = "the peer's process number means another process here (another container)";
  if (mapped == MAP_FAILED) return nullptr;
  const std::size_t bytes = std::size_t(status.st_size);
  madvise(mapped, bytes, MADV_DONTFORK);
  auto* page = static_cast<HeapControl*>(mapped);
  if (page->magic != HeapControl::kMagic || page->nonce != peer.heap_nonce) {
    munmap(mapped, bytes);
    return nullptr;
  }
  *why = "";
  return std::shared_ptr<PeerControl>(new PeerControl(page, bytes));
}

PeerControl::~PeerControl() { munmap(page_, bytes_); }

}  // namespace dunlin::memory
