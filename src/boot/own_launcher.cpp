// A rank of our own mpirun; see own_launcher.hpp.
#include "boot/own_launcher.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "boot/launch_environment.hpp"
#include "os/environment.hpp"

namespace dunlin::boot {
namespace {

using os::environment_number;

/// Is this the file that our mpirun has told of in `variable`?  A wrapper may have closed it, or opened
/// another one in its place.
bool is_inode_of(int fd, const char* variable) noexcept {
  struct stat status;
  return ::fstat(fd, &status) == 0 && std::to_string(status.st_ino) == os::environment_text(variable);
}

bool is_pmi_socket_ours() noexcept { return is_inode_of(environment_number("PMI_FD", -1), kLaunchPmiInode); }

bool is_pmi_socket() noexcept {
  struct stat status;
  return ::fstat(environment_number("PMI_FD", -1), &status) == 0 && S_ISSOCK(status.st_mode);
}

/// A descriptor of mpirun's that we should have inherited, opened once more.
int open_in(const std::string& process, int fd, int flags) noexcept {
  return ::open(("/proc/" + process + "/fd/" + std::to_string(fd)).c_str(), flags | O_CLOEXEC);
}

/// Has the kernel kill this process when mpirun dies, also behind a wrapper: only direct children are told
/// that their parent has died.  Costs nothing until then; where the kernel refuses, a safety net is missing.
void die_with_launcher() noexcept {
  const int inherited = environment_number(kLaunchLifeFd, -1);
  // Opened once more, since the process to signal is a property of the open file, which all ranks inherit.
  int pipe = open_in("self", inherited, O_RDONLY | O_NONBLOCK);
  if (!is_inode_of(pipe, kLaunchLifeInode)) {
    if (pipe >= 0) ::close(pipe);
    pipe = open_in(os::environment_text(kLaunchPid), inherited, O_RDONLY | O_NONBLOCK);
  } else {
    ::fcntl(inherited, F_SETFD, FD_CLOEXEC);
  }
  if (!is_inode_of(pipe, kLaunchLifeInode)) return;
  ::fcntl(pipe, F_SETOWN, ::getpid());
  ::fcntl(pipe, F_SETSIG, SIGKILL);
  ::fcntl(pipe, F_SETFL, O_RDONLY | O_NONBLOCK | O_ASYNC);
  pollfd end{pipe, 0, 0};
  if (::poll(&end, 1, 0) == 1 && (end.revents & POLLHUP)) ::raise(SIGKILL);  // it died before the line above
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
  place.rank = environment_number(kLaunchRank, -1);
  place.size = place.universe_size = environment_number(kLaunchSize, -1);
  place.app_number = environment_number(kLaunchApp, 0);
  place.set_map(NodeMap(place.size));
  if (const Err e = boot->find_segment(); e != Err::ok) return e;
  if (!boot->page_->try_begin(place.rank)) {
    if (boot->page_->state(place.rank) == RankState::initialized) return std::unique_ptr<Boot>();
    return fail(Err::other,
                "rank %d of this mpirun has already run an MPI program to its end; a script under mpirun "
                "can run only one per rank (use one mpirun for each)",
                place.rank);
  }
  die_with_launcher();
  if (is_pmi_socket_ours()) {
    const int fd = environment_number("PMI_FD", -1);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    boot->store_.socket().adopt(fd);
    boot->store_.set_space(kPmi1, kStoreName, kStoreValueBytesMax);
  }
  return std::unique_ptr<Boot>(std::move(boot));
}

OwnLauncherBoot::~OwnLauncherBoot() {
  unmap_launch_page(page_, size());
  if (node_fd_ >= 0) ::close(node_fd_);
}

Err OwnLauncherBoot::find_segment() noexcept {
  const int inherited = environment_number(kLaunchNodeFd, -1);
  page_ = map_launch_page(inherited, size());
  if (page_) {
    ::fcntl(inherited, F_SETFD, FD_CLOEXEC);
    node_fd_ = inherited;
    return Err::ok;
  }
  node_fd_ = open_in(os::environment_text(kLaunchPid), inherited, O_RDWR);  // a wrapper closed ours
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
  page_->set_state(rank(), RankState::finalized);
  return Err::ok;
}

Err OwnLauncherBoot::restart() noexcept {
  DUNLIN_ASSERT(page_->state(rank()) == RankState::finalized);
  page_->set_state(rank(), RankState::initialized);
  return Err::ok;
}

}  // namespace dunlin::boot
