// A rank of our own mpirun; see own_launcher.hpp.
#include "boot/own_launcher.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <numeric>
#include <string>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "boot/launch_environment.hpp"
#include "os/environment.hpp"

namespace dunlin::boot {
namespace {

using os::environment_number;

/// Is PMI_FD the socket that our mpirun gave us?  A wrapper may have closed it, or opened a file in its
/// place.
bool is_pmi_socket_ours() noexcept {
  struct stat status;
  return ::fstat(environment_number("PMI_FD", -1), &status) == 0 &&
         std::to_string(status.st_ino) == os::environment_text(kLaunchPmiInode);
}

bool is_pmi_socket() noexcept {
  struct stat status;
  return ::fstat(environment_number("PMI_FD", -1), &status) == 0 && S_ISSOCK(status.st_mode);
}

}  // namespace

bool OwnLauncherBoot::is_present() noexcept {
  const int rank = environment_number(kLaunchRank, -1);
  const int size = environment_number(kLaunchSize, -1);
  if (rank < 0 || rank >= size) return false;
  if (environment_number("PMI_RANK", -1) != rank || environment_number("PMI_SIZE", -1) != size) return false;
  return is_pmi_socket_ours() || !is_pmi_socket();
}

Result<std::unique_ptr<Boot>> OwnLauncherBoot::open() noexcept {
  DUNLIN_ASSERT(is_present());
  auto boot = std::make_unique<OwnLauncherBoot>();
  Place& place = boot->place_;
  place.rank = place.node_rank = environment_number(kLaunchRank, -1);
  place.size = place.universe_size = environment_number(kLaunchSize, -1);
  place.app_number = environment_number(kLaunchApp, 0);
  place.node_peers.resize(std::size_t(place.size));
  std::iota(place.node_peers.begin(), place.node_peers.end(), 0);
  if (const Err e = boot->find_segment(); e != Err::ok) return e;
  if (!boot->page_->try_begin(place.node_rank)) {
    if (boot->page_->state(place.node_rank) == RankState::initialized) return std::unique_ptr<Boot>();
    return fail(Err::other,
                "rank %d of this mpirun has already run an MPI program to its end; a script under mpirun "
                "can run only one per rank (use one mpirun for each)",
                place.rank);
  }
  if (is_pmi_socket_ours()) {
    const int fd = environment_number("PMI_FD", -1);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    boot->store_.socket().adopt(fd);
    boot->store_.set_space(kStoreName, kStoreValueBytesMax);
  }
  return std::unique_ptr<Boot>(std::move(boot));
}

OwnLauncherBoot::~OwnLauncherBoot() {
  unmap_launch_page(page_);
  if (node_fd_ >= 0) ::close(node_fd_);
}

/// The inherited descriptor, or, where a wrapper script closed it, the launcher's own through /proc.
Err OwnLauncherBoot::find_segment() noexcept {
  const int inherited = environment_number(kLaunchNodeFd, -1);
  page_ = map_launch_page(inherited, size());
  if (page_) {
    ::fcntl(inherited, F_SETFD, FD_CLOEXEC);
    node_fd_ = inherited;
    return Err::ok;
  }
  const std::string launcher = os::environment_text(kLaunchPid);
  node_fd_ = ::open(("/proc/" + launcher + "/fd/" + std::to_string(inherited)).c_str(), O_RDWR | O_CLOEXEC);
  page_ = map_launch_page(node_fd_, size());
  if (page_) return Err::ok;
  return fail(Err::other,
              "rank %d has lost what mpirun gave it: the wrapper between mpirun and this program must keep "
              "descriptor %d open",
              rank(), inherited);
}

Err OwnLauncherBoot::put(std::string_view key, std::string_view value) noexcept {
  return store_.put(rank(), key, value);
}

Result<std::string> OwnLauncherBoot::get(int rank, std::string_view key) noexcept {
  DUNLIN_ASSERT(rank >= 0 && rank < size());
  return store_.get(rank, key);
}

Err OwnLauncherBoot::fence() noexcept { return store_.fence(); }

/// mpirun reads the page when this process ends; the line on the socket is for ranks behind a wrapper,
/// whose end it does not see at once.
void OwnLauncherBoot::abort(int code, const char* message) noexcept {
  page_->record_abort(rank(), code, message);
  if (store_.socket().is_open()) (void)store_.socket().send("cmd=abort exitcode=" + std::to_string(code));
  ::_exit(code & 0xff ? code & 0xff : 1);
}

Err OwnLauncherBoot::finalize() noexcept {
  DUNLIN_ASSERT(page_ != nullptr);
  page_->set_state(node_rank(), RankState::finalized);
  return Err::ok;
}

Err OwnLauncherBoot::restart() noexcept {
  DUNLIN_ASSERT(page_->state(node_rank()) == RankState::finalized);
  page_->set_state(node_rank(), RankState::initialized);
  return Err::ok;
}

}  // namespace dunlin::boot
