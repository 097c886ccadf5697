#include "peer/peer_control.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>

#include "base/assert.hpp"
#include "base/variable.hpp"
#include "heap/heap.hpp"
#include "os/descriptor_server.hpp"
#include "peer/provider.hpp"

namespace dunlin::peer {

namespace {

enum Way : int { kAuto, kProc, kPidfd, kSocket };
WordVariable descriptors{
    "HEAP_DESCRIPTORS", "auto", "auto|proc|pidfd|socket",
    "how ranks take the descriptors of each other's heaps; socket: from a thread of the owner, which "
    "auto starts where /proc is closed to them"};

int take_by_proc(std::uint32_t pid, std::int32_t number) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%u/fd/%d", pid, number);
  return open(path, O_RDWR | O_CLOEXEC);
}

int take_by_pidfd(std::uint32_t pid, std::int32_t number) noexcept {
  const int process = int(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return -1;
  const int taken = int(syscall(SYS_pidfd_getfd, process, number, 0));
  const int saved_errno = errno;
  close(process);
  errno = saved_errno;
  return taken;
}

/// Whether `number` is one of the heap's own descriptors.
bool may_give(int number) noexcept {
  const heap::Control* control = heap::face().control();
  if (number < 0 || !control) return false;
  for (const heap::Region& each : control->regions)
    if (each.bytes && each.descriptor == number) return true;
  return number == heap::face().control_descriptor();
}

}  // namespace

bool serve_heap_descriptors() noexcept {
  const int way = descriptors.index();
  const bool is_wanted = way == kSocket || (way == kAuto && prctl(PR_GET_DUMPABLE) != 1);
  return is_wanted && os::serve_descriptors(heap::face().control()->nonce, may_give);
}

int PeerControl::take_descriptor(std::int32_t number) const noexcept {
  const int way = descriptors.index();
  int taken = -1;
  errno = EACCES;
  if (way == kAuto || way == kProc) taken = take_by_proc(pid_, number);
  if (taken < 0 && (way == kAuto || way == kPidfd)) taken = take_by_pidfd(pid_, number);
  if (taken < 0 && (way == kAuto || way == kSocket) && served_key_)
    taken = os::take_served_descriptor(served_key_, number);
  return taken;
}

PeerControl::PeerControl(const PublishedAddress& peer) noexcept
    : pid_(peer.pid), served_key_(peer.serves_descriptors ? peer.heap_nonce : 0) {}

std::shared_ptr<PeerControl> PeerControl::attach(const PublishedAddress& peer, const char** why) noexcept {
  *why = "the peer has no shared heap";
  if (peer.control_descriptor < 0) return nullptr;
  *why =
      "the peer's descriptors cannot be taken (other user, other container, or not dumpable and no socket)";
  std::shared_ptr<PeerControl> made(new PeerControl(peer));
  const int descriptor = made->take_descriptor(peer.control_descriptor);
  if (descriptor < 0) return nullptr;
  struct stat status {};
  void* mapped = MAP_FAILED;
  if (fstat(descriptor, &status) == 0 && std::size_t(status.st_size) >= sizeof(heap::Control))
    mapped = mmap(nullptr, std::size_t(status.st_size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                  descriptor, 0);
  close(descriptor);
  *why = "the peer's process number means another process here (another container)";
  if (mapped == MAP_FAILED) return nullptr;
  const std::size_t bytes = std::size_t(status.st_size);
  madvise(mapped, bytes, MADV_DONTFORK);
  auto* page = static_cast<heap::Control*>(mapped);
  if (page->magic != heap::Control::kMagic || page->nonce != peer.heap_nonce) {
    munmap(mapped, bytes);
    return nullptr;
  }
  *why = "";
  made->page_ = page;
  made->bytes_ = bytes;
  return made;
}

PeerControl::~PeerControl() {
  if (page_) munmap(page_, bytes_);
}

}  // namespace dunlin::peer
