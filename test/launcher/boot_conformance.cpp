// What every boot::Boot promises (src/boot/boot.hpp), tried on each implementation: a few forked processes
// are the ranks, this process is their launcher, with mpirun's PMI-1 server.  Real launchers: ends_test.py,
// pmi_test.py.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "base/variable.hpp"
#include "boot/boot.hpp"
#include "boot/launch_environment.hpp"
#include "boot/launch_page.hpp"
#include "boot/node_segment.hpp"
#include "launcher/event_loop.hpp"
#include "launcher/pmi_server.hpp"

namespace dunlin::boot {
namespace {

/// A way to be launched.
struct Way {
  const char* name;
  int size;
  bool is_own;       // with the environment of our mpirun
  bool is_launched;  // by anybody
  const char*
      mapping;  // what the launcher says of nodes; null: what mpirun says; "none": nothing that makes sense
  int nodes;
  const char* emulated = "";  // DUNLIN_NODES
};

constexpr Way kWays[] = {
    {"singleton", 1, false, false, nullptr, 1},
    {"mpirun", 1, true, true, nullptr, 1},
    {"mpirun", 3, true, true, nullptr, 1},
    {"PMI-1", 1, false, true, nullptr, 1},
    {"PMI-1", 4, false, true, nullptr, 1},
    {"PMI-1", 3, false, true, "none", 1},
    {"PMI-1", 4, false, true, "(vector,(0,2,2))", 2},
    {"PMI-1", 5, false, true, "(vector,(0,2,1))", 2},
    {"PMI-1", 5, false, true, nullptr, 2, "2"},
    {"mpirun", 5, true, true, nullptr, 3, "0,7,1"},
    {"mpirun", 3, true, true, nullptr, 3, "4"},
};

std::string name_of_way(const testing::TestParamInfo<Way>& info) {
  return std::string(info.param.is_own        ? "mpirun"
                     : info.param.is_launched ? "pmi1"
                                              : "singleton") +
         std::to_string(info.index);
}

class BootConformance : public testing::TestWithParam<Way> {
 protected:
  /// Runs `body` in every rank; the test fails where it returns false or the rank does not end well.
  void run(bool (*body)(Boot&), int expected_code = 0) {
    const Way way = GetParam();
    launcher::EventLoop loop;
    launcher::PmiServer server(loop, std::vector<int>(std::size_t(way.size), 0));
    const int segment = make_node_segment(way.size, 1);
    pid_t ranks[8];
    for (int rank = 0; rank < way.size; ++rank) {
      const int socket = server.open_for_rank(rank);
      if (rank == 0 && way.mapping) set_mapping(server, socket, way.mapping);
      ranks[rank] = ::fork();
      if (ranks[rank] == 0) ::_exit(be_rank(way, rank, socket, segment, body));
      ::close(socket);
    }
    for (int left = way.size; left > 0;) {
      loop.wait(1);
      int status = 0;
      for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0; --left)
        EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, expected_code);
    }
    ::close(segment);
  }

 private:
  static void set_mapping(launcher::PmiServer& server, int socket, const char* mapping) {
    const std::string line =
        std::string("cmd=put kvsname=job key=PMI_process_mapping value=") + mapping + "\n";
    ASSERT_EQ(::write(socket, line.data(), line.size()), ssize_t(line.size()));
    server.drain(0);
    char answer[64];
    ASSERT_GT(::read(socket, answer, sizeof answer), 0);
  }

  static void set(const char* name, long value) { ::setenv(name, std::to_string(value).c_str(), 1); }

  static int be_rank(const Way& way, int rank, int socket, int segment, bool (*body)(Boot&)) {
    if (way.is_launched) {
      set("PMI_RANK", rank);
      set("PMI_SIZE", way.size);
      set("PMI_FD", socket);
    }
    if (way.is_own) {
      struct stat status;
      ::fstat(socket, &status);
      set(kLaunchRank, rank);
      set(kLaunchSize, way.size);
      set(kLaunchPmiInode, long(status.st_ino));
      set(kLaunchNodeFd, segment);
    }
    ::setenv("DUNLIN_NODES", way.emulated, 1);
    Variable::read_all_again();
    auto boot = open();
    if (!boot) {
      std::fprintf(stderr, "open: %s\n", error_detail(boot.error()));
      return 90;
    }
    if (std::string((*boot)->name()) != way.name || (*boot)->size() != way.size || (*boot)->rank() != rank)
      return 91;
    if ((*boot)->nodes() != way.nodes) return 92;
    if (!body(**boot)) return 93;
    return (*boot)->finalize() == Err::ok ? 0 : 94;
  }
};

bool is_place_sound(Boot& boot) {
  const auto peers = boot.node_peers();
  if (boot.node_size() != int(peers.size()) || boot.node_size() < 1) return false;
  for (std::size_t i = 1; i < peers.size(); ++i)
    if (peers[i] <= peers[i - 1]) return false;
  return peers[std::size_t(boot.node_rank())] == boot.rank() && boot.node() >= 0 &&
         boot.node() < boot.nodes() && boot.app_number() == 0;
}

/// Everybody tells its node; those who tell the same must be exactly my peers.
bool do_ranks_agree_on_nodes(Boot& boot) {
  if (boot.put("node", std::to_string(boot.node())) != Err::ok || boot.fence() != Err::ok) return false;
  std::size_t peers = 0;
  for (int rank = 0; rank < boot.size(); ++rank) {
    const auto node = boot.get(rank, "node");
    if (!node) return false;
    if (node.value() != std::to_string(boot.node())) continue;
    if (peers == boot.node_peers().size() || boot.node_peers()[peers++] != rank) return false;
  }
  return peers == boot.node_peers().size();
}

std::string bytes_of(int rank, std::size_t bytes) {
  std::string value(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) value[i] = char((i * 31 + std::size_t(rank)) & 0xff);
  return value;
}

bool do_values_travel(Boot& boot) {
  for (const std::size_t bytes : {0, 1, 255, 5000, 70000})
    if (boot.put("v" + std::to_string(bytes), bytes_of(boot.rank(), bytes)) != Err::ok) return false;
  if (boot.fence() != Err::ok) return false;
  for (int rank = boot.size() - 1; rank >= 0; --rank) {
    for (const std::size_t bytes : {0, 1, 255, 5000, 70000}) {
      const auto value = boot.get(rank, "v" + std::to_string(bytes));
      if (!value || value.value() != bytes_of(rank, bytes)) return false;
    }
    if (boot.get(rank, "nobody put this").is_ok()) return false;
  }
  return true;
}

bool do_fences_order_turns(Boot& boot) {
  for (int turn = 0; turn < 20; ++turn) {
    const std::string key = "turn" + std::to_string(turn);
    if (boot.put(key, std::to_string(boot.rank() * turn)) != Err::ok || boot.fence() != Err::ok) return false;
    const int left = (boot.rank() + boot.size() - 1) % boot.size();
    const auto value = boot.get(left, key);
    if (!value || value.value() != std::to_string(left * turn)) return false;
  }
  return true;
}

/// One segment for each node: ranks count themselves, and find the node's size and not the job's.
bool is_segment_shared_by_node(Boot& boot) {
  const auto fd = node_segment(boot);
  if (!fd || ::fcntl(fd.value(), F_GETFD) != FD_CLOEXEC) return false;
  const std::size_t at = launch_page_bytes(boot.node_size());
  if (::ftruncate(fd.value(), off_t(at) + 4096) != 0) return false;
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.value(), off_t(at));
  if (memory == MAP_FAILED) return false;
  auto* count = static_cast<std::atomic<int>*>(memory);
  ++*count;
  if (boot.fence() != Err::ok || *count != boot.node_size() || boot.fence() != Err::ok) return false;
  LaunchPage* page = map_launch_page(fd.value(), boot.node_size());
  const bool is_filled = page && page->cpus_usable >= 1;
  unmap_launch_page(page, boot.node_size());
  return is_filled;
}

/// Addresses reach everybody, who all know the same map.
bool are_addresses_found(Boot& boot) {
  const std::string mine = boot.node_map().text() + bytes_of(boot.rank(), 100);
  if (boot.publish(std::as_bytes(std::span(mine))) != Err::ok || boot.fence() != Err::ok) return false;
  for (int rank = 0; rank < boot.size(); ++rank) {
    const auto address = boot.lookup(rank);
    if (!address || address.value() != boot.node_map().text() + bytes_of(rank, 100)) return false;
  }
  return true;
}

bool do_abort(Boot& boot) {
  boot.abort(37, "was told to abort by the test");
  return true;
}

bool do_abort_with_nothing(Boot& boot) {
  boot.abort(256, "was told to abort by the test");
  return true;
}

TEST_P(BootConformance, PlaceIsSound) { run(is_place_sound); }
TEST_P(BootConformance, RanksAgreeOnNodes) { run(do_ranks_agree_on_nodes); }
TEST_P(BootConformance, ValuesOfAnyBytesAndLengthTravel) { run(do_values_travel); }
TEST_P(BootConformance, FencesOrderPutsAndGets) { run(do_fences_order_turns); }
TEST_P(BootConformance, AddressesAreFound) { run(are_addresses_found); }
TEST_P(BootConformance, NodeSegment) { run(is_segment_shared_by_node); }
TEST_P(BootConformance, AbortEndsWithTheCode) { run(do_abort, 37); }
TEST_P(BootConformance, AbortNeverLooksLikeSuccess) { run(do_abort_with_nothing, 1); }

INSTANTIATE_TEST_SUITE_P(Ways, BootConformance, testing::ValuesIn(kWays), name_of_way);

}  // namespace
}  // namespace dunlin::boot
