// Ways to a peer's memory that are lost, forbidden, bounded or told of: what the conformance suite of one
// mechanism (peer_memory.cpp) does not ask.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/variable.hpp"
#include "peer/peer_tables.hpp"
#include "peer/provider.hpp"
#include "test/conformance/peer_memory_fakes.hpp"
#include "test/conformance/peer_process.hpp"

namespace dunlin::peer {
namespace {

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

/// Static data that a child writes in a fork handler which is older than the library's, as a program's may
/// be.
volatile int written_by_child = 0;
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] {
  usleep(5000);  // longer than a fork would wait
  written_by_child = 1;
});

TEST(PeerMemory, OlderForkHandlersOfTheChildWriteApart) {
  published_address();  // moves static data
  const pid_t child = fork();
  if (child == 0) _exit(written_by_child ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(written_by_child, 0) << "the parent sees its child's write";
}

/// Sixteen real peers, read and written in turn in small pages: 8 MiB of page tables under a limit of 1 MiB.
TEST(PeerMemory, PageTablesOfManyPeersStayUnderTheirLimit) {
  setenv("DUNLIN_SHM_COPY", "shared_heap", 1);
  setenv("DUNLIN_HEAP_HUGE_PERCENT", "0", 1);
  setenv("DUNLIN_HEAP_PEER_TABLES_BYTES_MAX", "1m", 1);
  Variable::read_all_again();
  constexpr std::size_t kPeers = 16, kUnits = 128, kUnit = 2 << 20, kBytes = 3000;
  std::vector<std::unique_ptr<PeerProcess>> peers;
  std::vector<std::unique_ptr<PeerMemory>> memories;
  std::vector<std::uint64_t> blocks;
  for (std::size_t i = 0; i < kPeers; ++i) {
    peers.push_back(std::make_unique<PeerProcess>());
    memories.push_back(peers.back()->connect());
    if (!memories.back()) break;
    blocks.push_back(peers.back()->make(Where::heap, kUnits * kUnit));
  }
  const bool is_reached = blocks.size() == kPeers;
  for (std::size_t round = 0; is_reached && round < 3; ++round)
    for (std::size_t i = 0; i < kPeers; ++i) {
      for (std::size_t unit = 0; unit < kUnits; ++unit) {
        std::vector<std::byte> here(kBytes);
        const Piece piece{here.data(), kBytes};
        const RemotePiece there{blocks[i] + unit * kUnit + kUnit / 2, kBytes};
        if (round > 0) {
          ASSERT_TRUE(memories[i]->try_read({&piece, 1}, {&there, 1}));
          ASSERT_EQ(count_wrong(here.data(), kBytes, i * 100 + unit + round - 1), 0u);
        }
        fill(here.data(), kBytes, i * 100 + unit + round);
        ASSERT_TRUE(memories[i]->try_write({&there, 1}, {&piece, 1}));
      }
      ASSERT_LE(PeerTables::all_bytes(), 1u << 20);
      const std::uint64_t last = blocks[i] + (kUnits - 1) * kUnit + kUnit / 2;
      EXPECT_EQ(peers[i]->ask({Verb::check, last, kBytes, i * 100 + kUnits - 1 + round}).value, 0u);
    }
  for (const char* each :
       {"DUNLIN_SHM_COPY", "DUNLIN_HEAP_HUGE_PERCENT", "DUNLIN_HEAP_PEER_TABLES_BYTES_MAX"})
    unsetenv(each);
  Variable::read_all_again();
  if (!is_reached) GTEST_SKIP() << "shared_heap does not work on this machine";
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

}  // namespace
}  // namespace dunlin::peer
