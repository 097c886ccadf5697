// Whether a child process reaches its parent's heap, when the parent is dumpable or not: the ways in which
// descriptors are taken (docs/memory.md, "Generations").  DUNLIN_HEAP_DESCRIPTORS chooses the way;
// descriptors.sh runs all.
//
// usage: heap_descriptors dumpable|hidden   (prints "reached" or "not reached"; as root it becomes nobody,
// whom the kernel forbids more)
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "peer/peer_memory.hpp"

#include "heap/heap.hpp"

using namespace dunlin;
using namespace dunlin::peer;

namespace {

/// In the child: reads the parent's block, and writes an answer into it.
bool reaches(std::span<const std::byte> address, std::uint64_t at, std::size_t bytes) {
  const auto parent = connect(address);
  if (!parent) return false;
  const Mapping mapping = parent->map(at, bytes);
  if (!mapping) return false;
  for (std::size_t i = 0; i < bytes; ++i)
    if (mapping.at[i] != std::byte{7}) return false;
  mapping.at[0] = std::byte{9};
  return parent->is_still_valid(mapping);
}

}  // namespace

int main(int, char** arguments) {
  constexpr std::size_t kBytes = 1 << 20;
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0 && setuid(kNobody) != 0) return 2;
  if (prctl(PR_SET_DUMPABLE, std::strcmp(arguments[1], "dumpable") == 0) != 0) return 2;
  std::byte address[kPublishedBytesMax];
  const auto published = published_address();
  std::memcpy(address, published.data(), published.size());
  int go[2];
  int told[2];
  if (pipe(go) != 0 || pipe(told) != 0) return 2;
  const pid_t child = fork();
  if (child == 0) {
    std::uint64_t at = 0;  // a block of the generation after the fork
    if (read(go[0], &at, sizeof at) != sizeof at) return 2;
    return reaches({address, published.size()}, at, kBytes) ? 0 : 1;
  }
  auto* block = static_cast<std::byte*>(heap::allocate(kBytes));
  std::memset(block, 7, kBytes);
  const auto at = reinterpret_cast<std::uint64_t>(block);
  if (write(go[1], &at, sizeof at) != sizeof at) return 2;
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) return 2;
  const bool is_reached = WEXITSTATUS(status) == 0;
  if (is_reached != (block[0] == std::byte{9})) return 2;
  std::puts(is_reached ? "reached" : "not reached");
  heap::release(block);
  return 0;
}
