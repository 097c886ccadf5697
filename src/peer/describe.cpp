#include "peer/describe.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "copy/copy.hpp"
#include "heap/heap.hpp"
#include "peer/provider.hpp"

namespace dunlin::peer {
namespace {

struct Verdict {
  bool works;
  char why_not[200];
};

/// In the child: connects to the parent by one mechanism.
Verdict probe(Provider& provider, const PublishedAddress& parent) noexcept {
  Verdict verdict{};
  const char* why = "";
  const auto control = PeerControl::attach(parent, &why);
  verdict.works = provider.connect(parent, control) != nullptr;
  std::snprintf(verdict.why_not, sizeof verdict.why_not, "%s", verdict.works ? "" : provider.why_not());
  return verdict;
}

/// Asks a child for a verdict on every mechanism; an empty list when no child can be had.
std::vector<Verdict> probe_in_child() {
  PublishedAddress address;
  std::memcpy(&address, published_address().data(), sizeof address);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    char go = 0;  // when the parent's fork has returned, its heap stands still
    if (recv(ends[1], &go, 1, MSG_WAITALL) != 1) _exit(1);
    for (Provider* each : providers()) {
      const Verdict verdict = probe(*each, address);
      if (send(ends[1], &verdict, sizeof verdict, MSG_NOSIGNAL) != ssize_t(sizeof verdict)) _exit(1);
    }
    _exit(0);
  }
  close(ends[1]);
  std::vector<Verdict> verdicts;
  Verdict verdict{};
  if (child > 0 && send(ends[0], "g", 1, MSG_NOSIGNAL) == 1)
    while (verdicts.size() < providers().size() &&
           recv(ends[0], &verdict, sizeof verdict, MSG_WAITALL) == ssize_t(sizeof verdict))
      verdicts.push_back(verdict);
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return verdicts;
}

std::string bytes_text(std::size_t bytes) {
  char text[32];
  if (bytes >= (std::size_t{1} << 20))
    std::snprintf(text, sizeof text, "%zu MiB", bytes >> 20);
  else
    std::snprintf(text, sizeof text, "%zu KiB", bytes >> 10);
  return text;
}

}  // namespace

std::vector<MechanismReport> describe_mechanisms() {
  std::vector<MechanismReport> reports;
  const std::vector<Verdict> verdicts = probe_in_child();
  bool is_everything_reached = false;
  bool is_heap_reached = false;
  for (std::size_t i = 0; i < providers().size(); ++i) {
    const Provider& provider = *providers()[i];
    MechanismReport report{provider.name(), false, "no child process could be started to try it", ""};
    if (i < verdicts.size()) report.works = verdicts[i].works, report.why_not = verdicts[i].why_not;
    if (report.works && is_enabled(provider) && !is_everything_reached) {
      if (report.name == "shared_heap") {
        report.used_for =
            "large messages from and to the shared heap and moved static data, by plain loads and stores";
        is_heap_reached = true;
      } else {
        report.used_for = is_heap_reached
                              ? "large messages from and to other memory (stack, foreign mappings)"
                              : "all large messages";
        is_everything_reached = true;
      }
    }
    reports.push_back(std::move(report));
  }
  reports.push_back({"cico", true, "",
                     is_everything_reached ? "small messages, and large ones where the others decline"
                     : is_heap_reached     ? "small messages, and large ones outside the shared heap"
                                           : "all messages"});
  return reports;
}

std::string describe_heap() {
  const heap::Face& face = heap::face();
  if (!face.control()) return std::string("no shared heap: ") + face.why_not();
  const std::string size = bytes_text(face.control()->regions[heap::Control::kHeap].bytes);
  const char* why = face.why_not_malloc();
  return std::string(heap::origin()) + ", " + size + " of address space; " +
         (*why ? std::string("only MPI_Alloc_mem uses it: ") + why
               : std::string("malloc uses it for large blocks"));
}

std::string describe_copying() {
  return std::string(copy::kernels_in_use()) + " kernels; around the cache from " +
         bytes_text(copy::stream_bytes_min());
}

}  // namespace dunlin::peer
