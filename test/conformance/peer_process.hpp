// A second process whose memory the tests of peer memory reach: this program started again with a filter that
// runs one disabled test, which obeys commands from a socket.  It is started with exec, because a forked
// child has no shared heap of its own.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "peer/peer_memory.hpp"

namespace dunlin::peer {

enum class Verb : std::uint64_t {
  publish,
  make,
  fill,
  check,
  drop,
  is_shared,
  fork_and_live,
  fork_and_exec,
  expose,
  keep
};
enum class Where : std::uint64_t { heap, foreign, stack };

struct Command {
  Verb verb;
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
  std::uint64_t seed = 0;
};
struct Answer {
  std::uint64_t value = 0;
  std::byte address[kPublishedBytesMax] = {};
  std::uint64_t address_bytes = 0;
};

/// Writes a pattern that tells position and seed, and counts the bytes that differ from it.
std::byte pattern(std::uint64_t seed, std::size_t i);
void fill(std::byte* at, std::size_t bytes, std::uint64_t seed);
std::size_t count_wrong(const std::byte* at, std::size_t bytes, std::uint64_t seed);

class PeerProcess {
 public:
  PeerProcess();
  ~PeerProcess();
  Answer ask(Command command);
  std::uint64_t make(Where where, std::size_t bytes) {
    return ask({Verb::make, 0, bytes, std::uint64_t(where)}).value;
  }
  std::unique_ptr<PeerMemory> connect();
  void kill();

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace dunlin::peer
