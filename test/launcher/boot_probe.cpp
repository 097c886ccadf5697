// A rank that uses boot/ alone, without the rest of the library; run by ends_test.py and pmi_test.py under
// our mpirun, under Hydra and alone.  First argument: what to do.  Prints one line "ok ..." for each rank
// that is content.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/log.hpp"
#include "boot/boot.hpp"
#include "boot/launch_page.hpp"
#include "boot/node_segment.hpp"

namespace {

using dunlin::Err;
using dunlin::boot::Boot;

[[noreturn]] void complain(const char* what, Err error) {
  std::fprintf(stderr, "probe: %s: %s\n", what, dunlin::error_detail(error));
  std::exit(70);
}

void must(const char* what, Err error) {
  if (error != Err::ok) complain(what, error);
}

/// Any bytes, of a length that no launcher takes in one piece.
std::string value_of(int rank) {
  std::string value;
  for (int i = 0; i < 3000 + rank; ++i) value += char((i * 7 + rank) & 0xff);
  return value;
}

void exchange(Boot& boot) {
  must("put", boot.put("blob", value_of(boot.rank())));
  must("put", boot.put("empty", ""));
  must("fence", boot.fence());
  for (int rank = 0; rank < boot.size(); ++rank) {
    const auto value = boot.get(rank, "blob");
    must("get", value.error());
    if (value.value() != value_of(rank)) complain("another value came back", Err::other);
  }
  if (!boot.get(0, "empty").value().empty()) complain("an empty value is not empty", Err::other);
  if (std::strcmp(boot.name(), "PMIx") != 0 && boot.get(0, "nobody").is_ok())
    complain("a key that nobody put has a value", Err::other);
  for (int i = 0; i < 20; ++i) must("fence", boot.fence());
}

/// All ranks of a node add into one word behind the launch page; after a fence all see the sum.
void segment(Boot& boot) {
  const auto fd = dunlin::boot::node_segment(boot);
  must("node_segment", fd.error());
  const std::size_t at = dunlin::boot::launch_page_bytes(boot.node_size());
  if (::ftruncate(fd.value(), off_t(at) + (off_t{1} << 36)) != 0) complain("ftruncate", Err::other);
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.value(), off_t(at));
  if (memory == MAP_FAILED) complain("mmap", Err::other);
  auto* sum = static_cast<std::atomic<int>*>(memory);
  sum->fetch_add(boot.node_rank() + 1);
  must("fence", boot.fence());
  const int size = boot.node_size();
  if (sum->load() != size * (size + 1) / 2) complain("the segment is not shared", Err::other);
  must("fence", boot.fence());
  auto* page = dunlin::boot::map_launch_page(fd.value(), boot.node_size());
  if (!page) complain("no launch page", Err::other);
  std::printf("ok cpus %u\n", page->cpus_usable);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "place";
  const int code = argc > 2 ? std::atoi(argv[2]) : 0;
  auto opened = dunlin::boot::open();
  must("open", opened.error());
  Boot& boot = **opened;
  dunlin::log::set_rank(boot.rank());
  const bool is_chosen = boot.rank() == boot.size() - 1;
  if (what == "exchange") exchange(boot);
  if (what == "segment") segment(boot);
  if (what == "abort" && is_chosen) boot.abort(code, "was told to end the job");
  if (what == "exit" && is_chosen) return code;
  if (what == "crash") {
    must("fence", boot.fence());  // Hydra forgets hosts that it has not reached yet when a rank dies
    if (is_chosen) std::abort();
  }
  if (what == "abort" || what == "exit" || what == "crash" || what == "hang") {
    std::printf("waiting\n");
    std::fflush(stdout);
    ::sleep(100);
  }
  if (what == "late") ::usleep(100000);
  std::printf("ok %s rank %d of %d, node rank %d of %d, node %d of %d, app %d, universe %d\n", boot.name(),
              boot.rank(), boot.size(), boot.node_rank(), boot.node_size(), boot.node(), boot.nodes(),
              boot.app_number(), boot.universe_size());
  // Who has left answers no questions of others; under mpirun nobody asks any, and a wrapper may have closed
  // the socket.
  if (std::strcmp(boot.name(), "mpirun") != 0) must("fence", boot.fence());
  must("finalize", boot.finalize());
  return what == "after" && is_chosen ? code : 0;
}
