// Descriptors between processes; see descriptor_exchange.hpp.
#include "os/descriptor_exchange.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "os/clock.hpp"
#include "os/local_socket.hpp"

namespace dunlin::os {
namespace {

/// What a ticket says: "<pid>:<fd>:<device>:<inode>:<socket name>".
struct Ticket {
  long pid = 0;
  int fd = -1;
  unsigned long device = 0, inode = 0;  // so that a reused pid or descriptor is not taken for ours
  char socket_name[64] = "";
};

bool try_parse(std::string_view text, Ticket& ticket) noexcept {
  const std::string copy(text);
  return std::sscanf(copy.c_str(), "%ld:%d:%lu:%lu:%63s", &ticket.pid, &ticket.fd, &ticket.device,
                     &ticket.inode, ticket.socket_name) == 5;
}

bool is_the_one(int fd, const Ticket& ticket) noexcept {
  struct stat status;
  return ::fstat(fd, &status) == 0 && status.st_dev == ticket.device && status.st_ino == ticket.inode;
}

/// As poll(2), for one descriptor that is to be read; signals do not make it longer.
int wait_for_input(int descriptor, int timeout_ms) noexcept {
  pollfd input{descriptor, POLLIN, 0};
  const std::int64_t end = now_ns() + timeout_ms * std::int64_t{1'000'000};
  for (int left_ms = timeout_ms;;) {
    const int ready = ::poll(&input, 1, left_ms);
    if (ready >= 0 || errno != EINTR) return ready;
    left_ms = int(std::max<std::int64_t>(end - now_ns(), 0) / 1'000'000);
  }
}

/// Connects and waits for the descriptor; -1 with errno when the giver cannot be reached or does not answer.
int take_by_socket(const Ticket& ticket, int timeout_ms) noexcept {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  sockaddr_un address;
  const socklen_t bytes = abstract_address(ticket.socket_name, address);
  int fd = -1;
  // SO_SNDTIMEO bounds connect, which waits while the giver's queue of callers is full.
  const timeval limit{timeout_ms / 1000, timeout_ms % 1000 * 1000};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), bytes) == 0 && is_peer_trusted(socket)) {
    const int ready = wait_for_input(socket, timeout_ms);
    if (ready == 0) errno = ETIMEDOUT;
    if (ready > 0) fd = receive_descriptor(socket);
  }
  const int reason = errno;
  ::close(socket);
  errno = reason;
  return fd;
}

}  // namespace

DescriptorOffer::DescriptorOffer(DescriptorOffer&& other) noexcept { *this = std::move(other); }

DescriptorOffer& DescriptorOffer::operator=(DescriptorOffer&& other) noexcept {
  std::swap(listener_, other.listener_);
  std::swap(fd_, other.fd_);
  std::swap(ticket_, other.ticket_);
  return *this;
}

DescriptorOffer::~DescriptorOffer() {
  if (listener_ >= 0) ::close(listener_);
}

Result<DescriptorOffer> DescriptorOffer::open(int fd) noexcept {
  struct stat status;
  if (::fstat(fd, &status) != 0) return fail(Err::intern, "descriptor %d to offer is not open", fd);
  unsigned long number[2] = {};
  if (::getrandom(number, sizeof number, 0) != sizeof number)
    return fail(Err::other, "no random numbers: %s", std::strerror(errno));
  char name[64];
  std::snprintf(name, sizeof name, "dunlin-%016lx%016lx", number[0], number[1]);
  DescriptorOffer offer;
  offer.fd_ = fd;
  offer.listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address;
  const socklen_t bytes = abstract_address(name, address);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (offer.listener_ < 0 || ::bind(offer.listener_, generic, bytes) != 0 ||
      ::listen(offer.listener_, SOMAXCONN) != 0)
    return fail(Err::other, "cannot offer a descriptor on a local socket: %s", std::strerror(errno));
  char ticket[192];
  std::snprintf(ticket, sizeof ticket, "%ld:%d:%lu:%lu:%s", long(::getpid()), fd,
                static_cast<unsigned long>(status.st_dev), static_cast<unsigned long>(status.st_ino), name);
  offer.ticket_ = ticket;
  return offer;
}

int DescriptorOffer::serve() noexcept {
  DUNLIN_ASSERT(listener_ >= 0);
  int served = 0;
  for (;;) {
    const int taker = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (taker < 0) return served;
    if (is_peer_trusted(taker) && send_descriptor(taker, fd_)) ++served;
    ::close(taker);
  }
}

int DescriptorOffer::serve(int takers, int timeout_ms) noexcept {
  int served = serve();
  while (served < takers) {
    if (wait_for_input(listener_, timeout_ms) == 0) break;
    served += serve();
  }
  return served;
}

Result<int> take_descriptor(std::string_view text, int timeout_ms, bool* by_socket) noexcept {
  Ticket ticket;
  if (!try_parse(text, ticket)) return fail(Err::intern, "the description of a shared file is damaged");
  if (by_socket) *by_socket = false;
  const std::string path = "/proc/" + std::to_string(ticket.pid) + "/fd/" + std::to_string(ticket.fd);
  int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd >= 0 && is_the_one(fd, ticket)) return fd;
  if (fd >= 0) ::close(fd);
  fd = take_by_socket(ticket, timeout_ms);
  if (by_socket) *by_socket = true;
  if (fd >= 0 && is_the_one(fd, ticket)) return fd;
  const int reason = errno;
  if (fd >= 0) ::close(fd);
  return fail(Err::other,
              "cannot take a shared segment from process %ld: %s (ranks of one machine need a common "
              "network or process namespace, and the same user)",
              ticket.pid, std::strerror(reason));
}

}  // namespace dunlin::os
