#include "test/conformance/peer_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "heap/heap.hpp"
#include "test/conformance/peer_memory_fakes.hpp"

extern char** environ;

namespace dunlin::peer {

std::byte pattern(std::uint64_t seed, std::size_t i) {
  return std::byte((seed * 131 + i * 7 + (i >> 9)) & 255);
}
void fill(std::byte* at, std::size_t bytes, std::uint64_t seed) {
  for (std::size_t i = 0; i < bytes; ++i) at[i] = pattern(seed, i);
}
std::size_t count_wrong(const std::byte* at, std::size_t bytes, std::uint64_t seed) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bytes; ++i) wrong += at[i] != pattern(seed, i);
  return wrong;
}

namespace {

std::uint64_t make_buffer(Where where, std::size_t bytes) {
  static std::byte on_stack_like[1 << 16];  // static data of the test program stays where the linker put it
  switch (where) {
    case Where::heap:
      return reinterpret_cast<std::uint64_t>(heap::allocate(bytes));
    case Where::foreign: {  // of a file, because a user-space device can map nothing else
      const int file = memfd_create("foreign", MFD_CLOEXEC);
      if (file < 0 || ftruncate(file, off_t(bytes)) != 0) return 0;
      void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      return mapped == MAP_FAILED ? 0 : reinterpret_cast<std::uint64_t>(mapped);
    }
    case Where::stack:
      return bytes <= sizeof on_stack_like ? reinterpret_cast<std::uint64_t>(on_stack_like) : 0;
  }
  return 0;
}

/// A child that lives on, keeps its view of the bytes, and says at its end whether it was stable.
std::uint64_t fork_and_live() {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  return std::uint64_t(child);
}

std::uint64_t fork_and_exec() {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/true", "true", nullptr);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return std::uint64_t(status);
}

void serve(int socket) {
  Command command;
  while (recv(socket, &command, sizeof command, MSG_WAITALL) == ssize_t(sizeof command)) {
    Answer answer;
    auto* at = reinterpret_cast<std::byte*>(command.at);
    switch (command.verb) {
      case Verb::publish: {
        const auto address = published_address();
        answer.address_bytes = address.size();
        std::memcpy(answer.address, address.data(), address.size());
        break;
      }
      case Verb::make:
        answer.value = make_buffer(Where(command.seed), command.bytes);
        break;
      case Verb::fill:
        fill(at, command.bytes, command.seed);
        break;
      case Verb::check:
        answer.value = count_wrong(at, command.bytes, command.seed);
        break;
      case Verb::drop:
        heap::release(at);
        break;
      case Verb::is_shared:
        answer.value = heap::is_shared(at, command.bytes);
        break;
      case Verb::fork_and_live:
        answer.value = fork_and_live();
        break;
      case Verb::fork_and_exec:
        answer.value = fork_and_exec();
        break;
      case Verb::keep:
        new heap::Kept(at, command.bytes);  // for good
        break;
      case Verb::expose: {
        const Piece piece{at, command.bytes};
        answer.value = expose({&piece, 1}, true);
        break;
      }
    }
    if (send(socket, &answer, sizeof answer, MSG_NOSIGNAL) != ssize_t(sizeof answer)) break;
  }
}

// Not a test: the peer of the tests, which start this program again with this name alone.
TEST(PeerProcess, DISABLED_Serve) {
  use_fake_devices();
  const char* socket = std::getenv("PEER_SOCKET");
  if (socket) serve(std::atoi(socket));
}

}  // namespace

PeerProcess::PeerProcess() {
  use_fake_devices();
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  fcntl(ends[1], F_SETFD, 0);  // this end alone is the peer's; others' would keep them from ending
  setenv("PEER_SOCKET", std::to_string(ends[1]).c_str(), 1);
  for (const char* shard : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) unsetenv(shard);  // the peer is whole
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1, 0);
  const char* arguments[] = {"peer", "--gtest_filter=PeerProcess.DISABLED_Serve",
                             "--gtest_also_run_disabled_tests", nullptr};
  EXPECT_EQ(posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, const_cast<char**>(arguments), environ),
            0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  socket_ = ends[0];
}

PeerProcess::~PeerProcess() {
  close(socket_);
  waitpid(pid_, nullptr, 0);
}

Answer PeerProcess::ask(Command command) {
  Answer answer;
  EXPECT_EQ(send(socket_, &command, sizeof command, MSG_NOSIGNAL), ssize_t(sizeof command));
  EXPECT_EQ(recv(socket_, &answer, sizeof answer, MSG_WAITALL), ssize_t(sizeof answer));
  return answer;
}

std::unique_ptr<PeerMemory> PeerProcess::connect() {
  const Answer answer = ask({Verb::publish});
  return peer::connect({answer.address, answer.address_bytes});
}

void PeerProcess::kill() {
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace dunlin::peer
