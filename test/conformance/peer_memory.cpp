// Conformance of every way to reach a peer's memory: the same tests for each mechanism that works on this
// machine.
//
// The peer is a second process: this program started again with a filter that runs one disabled test, which
// obeys commands from a socket.  It is started with exec, because a forked child has no shared heap of its
// own.
#include "memory/peer_memory.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/variable.hpp"
#include "memory/provider.hpp"
#include "test/conformance/peer_memory_fakes.hpp"

extern char** environ;

namespace dunlin::memory {
namespace {

enum class Verb : std::uint64_t {
  publish,
  make,
  fill,
  check,
  drop,
  is_shared,
  fork_and_live,
  fork_and_exec,
  expose
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

// ---- the peer's side

std::uint64_t make_buffer(Where where, std::size_t bytes) {
  static std::byte on_stack_like[1 << 16];  // static data of the test program stays where the linker put it
  switch (where) {
    case Where::heap:
      return reinterpret_cast<std::uint64_t>(allocate(bytes));
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
        release(at);
        break;
      case Verb::is_shared:
        answer.value = is_shared(at, command.bytes);
        break;
      case Verb::fork_and_live:
        answer.value = fork_and_live();
        break;
      case Verb::fork_and_exec:
        answer.value = fork_and_exec();
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

TEST(PeerProcess, DISABLED_Serve) {
  use_fake_devices();
  const char* socket = std::getenv("PEER_SOCKET");
  if (socket) serve(std::atoi(socket));
}

// ---- the tests' side

class PeerProcess {
 public:
  PeerProcess() {
    use_fake_devices();
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    setenv("PEER_SOCKET", std::to_string(ends[1]).c_str(), 1);
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
  ~PeerProcess() {
    close(socket_);
    waitpid(pid_, nullptr, 0);
  }
  Answer ask(Command command) {
    Answer answer;
    EXPECT_EQ(send(socket_, &command, sizeof command, MSG_NOSIGNAL), ssize_t(sizeof command));
    EXPECT_EQ(recv(socket_, &answer, sizeof answer, MSG_WAITALL), ssize_t(sizeof answer));
    return answer;
  }
  std::uint64_t make(Where where, std::size_t bytes) {
    return ask({Verb::make, 0, bytes, std::uint64_t(where)}).value;
  }
  std::unique_ptr<PeerMemory> connect() {
    const Answer answer = ask({Verb::publish});
    return memory::connect({answer.address, answer.address_bytes});
  }
  void kill() { ::kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0); }

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
};

class PeerMemoryTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    setenv("DUNLIN_SHM_COPY", GetParam(), 1);
    Variable::read_all_again();
    peer_ = std::make_unique<PeerProcess>();
    memory_ = peer_->connect();
    if (!memory_) GTEST_SKIP() << GetParam() << " does not work on this machine";
  }
  void TearDown() override {
    memory_.reset();
    peer_.reset();
    unsetenv("DUNLIN_SHM_COPY");
    Variable::read_all_again();
  }
  bool try_read(std::vector<std::byte>& to, std::uint64_t from, std::uint64_t cookie = 0) {
    const Piece here{to.data(), to.size()};
    const RemotePiece there{from, to.size()};
    return memory_->try_read({&here, 1}, {&there, 1}, cookie);
  }
  bool try_write(std::uint64_t to, std::vector<std::byte>& from, std::uint64_t cookie = 0) {
    const Piece here{from.data(), from.size()};
    const RemotePiece there{to, from.size()};
    return memory_->try_write({&there, 1}, {&here, 1}, cookie);
  }
  std::uint64_t expose(std::uint64_t at, std::size_t bytes) {
    return peer_->ask({Verb::expose, at, bytes}).value;
  }
  std::unique_ptr<PeerProcess> peer_;
  std::unique_ptr<PeerMemory> memory_;
};

constexpr std::size_t kSizes[] = {1, 63, 64, 4096, 65536, 65537, (1 << 20) + 3, 5 << 20};

TEST_P(PeerMemoryTest, ReadsWhatThePeerWrote) {
  for (const std::size_t bytes : kSizes) {
    const std::uint64_t at = peer_->make(Where::heap, bytes);
    ASSERT_NE(at, 0u);
    peer_->ask({Verb::fill, at, bytes, bytes});
    std::vector<std::byte> here(bytes);
    ASSERT_TRUE(try_read(here, at, expose(at, bytes))) << bytes;
    EXPECT_EQ(count_wrong(here.data(), bytes, bytes), 0u);
    peer_->ask({Verb::drop, at});
  }
}

TEST_P(PeerMemoryTest, WritesWhereThePeerReads) {
  for (const std::size_t bytes : kSizes) {
    const std::uint64_t at = peer_->make(Where::heap, bytes);
    std::vector<std::byte> here(bytes);
    fill(here.data(), bytes, bytes + 1);
    ASSERT_TRUE(try_write(at, here, expose(at, bytes))) << bytes;
    EXPECT_EQ(peer_->ask({Verb::check, at, bytes, bytes + 1}).value, 0u);
    peer_->ask({Verb::drop, at});
  }
}

TEST_P(PeerMemoryTest, MovesPiecesOfUnequalLengths) {
  constexpr std::size_t kBytes = 300000;
  const std::uint64_t at = peer_->make(Where::heap, kBytes);
  peer_->ask({Verb::fill, at, kBytes, 5});
  std::vector<RemotePiece> from;  // every second run of 1..997 bytes
  std::size_t total = 0;
  for (std::size_t offset = 0, i = 1; offset + i <= kBytes; offset += 2 * i, i = i % 997 + 13) {
    from.push_back({at + offset, i});
    total += i;
  }
  std::vector<std::byte> here(total);
  std::vector<Piece> to;
  for (std::size_t offset = 0; offset < total;) {
    const std::size_t part = std::min<std::size_t>(total - offset, 1 + offset % 4001);
    to.push_back({here.data() + offset, part});
    to.push_back({here.data() + offset, 0});
    offset += part;
  }
  const std::uint64_t cookie = expose(at, kBytes);
  if (cookie) GTEST_SKIP() << "a cookie stands for one buffer from its start on";
  ASSERT_TRUE(memory_->try_read(to, from));
  std::size_t wrong = 0;
  std::size_t position = 0;
  for (const RemotePiece& each : from)
    for (std::size_t i = 0; i < each.bytes; ++i) wrong += here[position++] != pattern(5, each.at - at + i);
  EXPECT_EQ(wrong, 0u);
  // And back, shifted by one byte.
  fill(here.data(), total, 6);
  for (RemotePiece& each : from) each.at += 1;
  from.back().bytes -= 1;
  to.back().bytes = 0;
  to[to.size() - 2].bytes -= 1;
  ASSERT_TRUE(memory_->try_write(from, to));
  std::vector<std::byte> whole(kBytes);
  ASSERT_TRUE(try_read(whole, at));
  position = 0;
  for (const RemotePiece& each : from)
    for (std::size_t i = 0; i < each.bytes; ++i) wrong += whole[each.at - at + i] != pattern(6, position++);
  EXPECT_EQ(wrong, 0u);
}

TEST_P(PeerMemoryTest, NothingToMoveSucceeds) { EXPECT_TRUE(memory_->try_read({}, {})); }

TEST_P(PeerMemoryTest, MappingIsTheSameMemory) {
  if (!memory_->can_map()) {
    EXPECT_FALSE(memory_->map(peer_->make(Where::heap, 100000), 100000));
    return;
  }
  constexpr std::size_t kBytes = 3 << 20;
  const std::uint64_t at = peer_->make(Where::heap, kBytes);
  peer_->ask({Verb::fill, at, kBytes, 1});
  const Mapping mapping = memory_->map(at + 123, kBytes - 123);
  ASSERT_TRUE(mapping);
  EXPECT_EQ(mapping.at[0], pattern(1, 123));
  mapping.at[7] = std::byte{0xee};
  EXPECT_EQ(peer_->ask({Verb::check, at, kBytes, 1}).value, 1u);
  peer_->ask({Verb::fill, at, kBytes, 2});  // seen without mapping again
  EXPECT_EQ(mapping.at[kBytes - 124], pattern(2, kBytes - 1));
  EXPECT_TRUE(memory_->is_still_valid(mapping));
}

TEST_P(PeerMemoryTest, ForeignMemoryIsReachedOrDeclined) {
  constexpr std::size_t kBytes = 200000;
  const std::uint64_t at = peer_->make(Where::foreign, kBytes);
  peer_->ask({Verb::fill, at, kBytes, 9});
  std::vector<std::byte> here(kBytes);
  EXPECT_EQ(try_read(here, at, expose(at, kBytes)), memory_->can_copy_anywhere());
  if (memory_->can_copy_anywhere()) {
    EXPECT_EQ(count_wrong(here.data(), kBytes, 9), 0u);
  }
}

TEST_P(PeerMemoryTest, AddressesOfNothingAreDeclined) {
  if (std::strstr(memory_->name(), "xpmem") && !is_fake_mapping("xpmem"))
    GTEST_SKIP() << "the kernel module attaches anything, and a load from nothing is a SIGBUS";
  std::vector<std::byte> here(1 << 16);
  EXPECT_FALSE(try_read(here, 4096));
  EXPECT_FALSE(try_write(4096, here));
  EXPECT_FALSE(try_read(here, ~std::uint64_t{0} - 100));
}

TEST_P(PeerMemoryTest, ForkOfThePeerInvalidatesMappings) {
  constexpr std::size_t kBytes = 1 << 20;
  const std::uint64_t at = peer_->make(Where::heap, kBytes);
  peer_->ask({Verb::fill, at, kBytes, 3});
  const Mapping before = memory_->can_map() ? memory_->map(at, kBytes) : Mapping{};
  if (is_fake_mapping(memory_->name())) GTEST_SKIP() << "only a kernel follows the peer's page tables";
  const auto child = pid_t(peer_->ask({Verb::fork_and_live}).value);
  peer_->ask({Verb::fill, at, kBytes, 4});  // the child keeps 3
  std::vector<std::byte> here(kBytes);
  const bool reaches_private_pages = std::strstr(memory_->name(), "cma") ||
                                     std::strstr(memory_->name(), "knem") ||
                                     (std::strstr(memory_->name(), "xpmem") && !is_fake_mapping("xpmem"));
  const bool is_heap_mapping =
      std::strncmp(memory_->name(), "shared_heap", 11) == 0;  // others follow the peer
  if (before && is_heap_mapping && peer_->ask({Verb::is_shared, at, kBytes}).value == 0) {
    EXPECT_FALSE(memory_->is_still_valid(before));
  }
  if (!reaches_private_pages) {
    EXPECT_FALSE(memory_->map(at, kBytes)) << "the peer's pages are private now";
    EXPECT_FALSE(try_read(here, at));
  } else {
    ASSERT_TRUE(try_read(here, at, expose(at, kBytes)));
    EXPECT_EQ(count_wrong(here.data(), kBytes, 4), 0u);
  }
  // New blocks of the peer are reached as before.
  const std::uint64_t fresh = peer_->make(Where::heap, kBytes);
  peer_->ask({Verb::fill, fresh, kBytes, 8});
  ASSERT_TRUE(try_read(here, fresh, expose(fresh, kBytes)));
  EXPECT_EQ(count_wrong(here.data(), kBytes, 8), 0u);
  fill(here.data(), kBytes, 11);
  ASSERT_TRUE(try_write(fresh, here, expose(fresh, kBytes)));
  EXPECT_EQ(peer_->ask({Verb::check, fresh, kBytes, 11}).value, 0u);
  kill(child, SIGKILL);
}

TEST_P(PeerMemoryTest, RepeatedForksAndFreesKeepWorking) {
  if (is_fake_mapping(memory_->name())) GTEST_SKIP() << "only a kernel follows the peer's page tables";
  constexpr std::size_t kBytes = 1 << 19;
  std::vector<pid_t> children;
  for (std::uint64_t round = 0; round < 12; ++round) {
    const std::uint64_t at = peer_->make(Where::heap, kBytes);
    peer_->ask({Verb::fill, at, kBytes, round});
    std::vector<std::byte> here(kBytes);
    ASSERT_TRUE(try_read(here, at, expose(at, kBytes))) << round;
    EXPECT_EQ(count_wrong(here.data(), kBytes, round), 0u);
    children.push_back(pid_t(peer_->ask({Verb::fork_and_live}).value));
    if (round % 2) peer_->ask({Verb::drop, at});
  }
  for (const pid_t child : children) kill(child, SIGKILL);
}

TEST_P(PeerMemoryTest, ForkAndExecLeavesMappingsAlone) {
  if (is_fake_mapping(memory_->name())) GTEST_SKIP() << "only a kernel follows the peer's page tables";
  constexpr std::size_t kBytes = 1 << 20;
  const std::uint64_t at = peer_->make(Where::heap, kBytes);
  EXPECT_EQ(peer_->ask({Verb::fork_and_exec}).value, 0u);
  peer_->ask({Verb::fill, at, kBytes, 21});
  std::vector<std::byte> here(kBytes);
  // On a loaded machine the child may not exec within the time that fork waits; then the block is declined,
  // not wrong.
  if (try_read(here, at, expose(at, kBytes))) {
    EXPECT_EQ(count_wrong(here.data(), kBytes, 21), 0u);
  }
}

TEST_P(PeerMemoryTest, ManyThreadsReadAtOnce) {
  constexpr std::size_t kBytes = 1 << 20;
  const std::uint64_t at = peer_->make(Where::heap, kBytes);
  peer_->ask({Verb::fill, at, kBytes, 30});
  const std::uint64_t cookie = expose(at, kBytes);
  std::vector<std::thread> threads;
  std::atomic<std::size_t> wrong = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      std::vector<std::byte> here(kBytes);
      for (int turn = 0; turn < 5; ++turn) {
        wrong += !try_read(here, at, cookie);
        wrong += count_wrong(here.data(), kBytes, 30);
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0u);
}

TEST_P(PeerMemoryTest, DeathOfThePeerIsSurvived) {
  constexpr std::size_t kBytes = 1 << 20;
  const std::uint64_t at = peer_->make(Where::heap, kBytes);
  const std::uint64_t foreign = peer_->make(Where::foreign, kBytes);
  peer_->kill();
  std::vector<std::byte> here(kBytes);
  (void)try_read(here, at);  // may succeed: the pages live as long as somebody maps them
  EXPECT_FALSE(try_read(here, foreign));
}

/// Forbids process_vm_readv and process_vm_writev to this process, as the profiles of container engines do.
bool forbid_cma() {
  const sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), const_cast<sock_filter*>(program)};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(PeerMemory, ForbiddenSystemCallsAreDoneWithout) {
  PeerProcess peer;
  constexpr std::size_t kBytes = 1 << 20;
  const std::uint64_t heap = peer.make(Where::heap, kBytes);
  const std::uint64_t foreign = peer.make(Where::foreign, kBytes);
  peer.ask({Verb::fill, heap, kBytes, 3});
  published_address();
  const pid_t child = fork();  // a filter cannot be taken off again
  if (child == 0) {
    if (!forbid_cma()) _exit(77);
    const auto memory = peer.connect();
    if (!memory || std::strstr(memory->name(), "cma")) _exit(1);
    std::vector<std::byte> here(kBytes);
    const Piece to{here.data(), kBytes};
    const RemotePiece from_heap{heap, kBytes};
    const RemotePiece from_foreign{foreign, kBytes};
    if (!memory->try_read({&to, 1}, {&from_heap, 1}) || count_wrong(here.data(), kBytes, 3)) _exit(2);
    if (std::strcmp(memory->name(), "shared_heap") == 0 && memory->try_read({&to, 1}, {&from_foreign, 1}))
      _exit(3);
    setenv("DUNLIN_SHM_COPY", "cma", 1);
    Variable::read_all_again();
    if (peer.connect()) _exit(4);
    if (std::strstr(cma_provider().why_not(), "permit") == nullptr) _exit(5);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this kernel has no seccomp filters";
  EXPECT_EQ(status, 0) << "exit " << WEXITSTATUS(status);
}

/// Permission is lost in the middle of a job: each operation finds its next way.
TEST(PeerMemory, PermissionLostLaterDeclinesTheOperation) {
  PeerProcess peer;
  constexpr std::size_t kBytes = 1 << 20;
  const std::uint64_t foreign = peer.make(Where::foreign, kBytes);
  published_address();
  const pid_t child = fork();
  if (child == 0) {
    setenv("DUNLIN_SHM_COPY", "cma", 1);
    Variable::read_all_again();
    const auto memory = peer.connect();
    std::vector<std::byte> here(kBytes);
    const Piece to{here.data(), kBytes};
    const RemotePiece from{foreign, kBytes};
    if (!memory || !memory->try_read({&to, 1}, {&from, 1}) || !forbid_cma()) _exit(77);
    _exit(memory->try_read({&to, 1}, {&from, 1}) || memory->try_write({&from, 1}, {&to, 1}));
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "CMA does not work on this machine";
  EXPECT_EQ(status, 0);
}

/// dunlin-info tries the mechanisms between a process and its forked child.
TEST(PeerMemory, XpmemWorksInAForkedChild) {
  setenv("DUNLIN_SHM_COPY", "xpmem", 1);
  Variable::read_all_again();
  PeerProcess peer;
  published_address();
  const pid_t child = fork();
  if (child == 0) _exit(peer.connect() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << xpmem_provider().why_not();
  unsetenv("DUNLIN_SHM_COPY");
  Variable::read_all_again();
}

/// The caches live in peers, and peers until the process ends: only then it can be told what they did.
TEST(PeerMemory, XpmemTellsWhatItsCachesDid) {
  FILE* told = popen(
      "DUNLIN_VERBOSE=1 exec /proc/$PPID/exe "
      "--gtest_filter=Mechanism/PeerMemoryTest.ManyThreadsReadAtOnce/xpmem 2>&1",
      "r");
  ASSERT_NE(told, nullptr);
  char line[512];
  unsigned long long mapped = 0, attached = 0, returned = 0;
  int found = 0;
  while (std::fgets(line, sizeof line, told))
    if (const char* note = std::strstr(line, "xpmem: "))
      found |=
          std::sscanf(note, "xpmem: %llu ranges of peers mapped, %llu of them attached for it, %llu given",
                      &mapped, &attached, &returned) == 3;
  EXPECT_EQ(pclose(told), 0);
  ASSERT_TRUE(found);
  EXPECT_GE(mapped, 41u) << "the probe, and five reads by each of eight threads";
  EXPECT_EQ(attached, 2u) << "what was attached once is found again";
  EXPECT_EQ(returned, attached);
}

TEST(PeerMemory, ForcingNothingMeansCopyInCopyOut) {
  setenv("DUNLIN_SHM_COPY", "cico", 1);
  Variable::read_all_again();
  PeerProcess peer;
  EXPECT_EQ(peer.connect(), nullptr);
  unsetenv("DUNLIN_SHM_COPY");
  Variable::read_all_again();
}

TEST(PeerMemory, RejectsWhatIsNoAddress) {
  use_fake_devices();
  const std::byte nothing[kPublishedBytesMax] = {};
  EXPECT_EQ(connect(nothing), nullptr);
  EXPECT_EQ(connect({}), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Mechanism, PeerMemoryTest,
                         testing::Values("auto", "shared_heap", "xpmem", "cma", "knem"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace dunlin::memory
