#include "transport/ofi/reach.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/variable.hpp"
#include "os/clock.hpp"

namespace dunlin::transport::ofi {
namespace {

IntVariable probe_ms{"OFI_PROBE_MS", 2000, "ms",
                     "where a node has several network interfaces: how long the first of them may take to "
                     "reach another node before one that did is taken; 0: the first is taken untried",
                     0, 3'600'000};

constexpr std::size_t kAddressesMax = 8;  // of a door, and to try from

socklen_t length_of(const sockaddr_storage& address) noexcept {
  return address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

const sockaddr* as_address(const sockaddr_storage& address) noexcept {
  return reinterpret_cast<const sockaddr*>(&address);
}

void set_port(sockaddr_storage& address, in_port_t port) noexcept {
  if (address.ss_family == AF_INET)
    reinterpret_cast<sockaddr_in&>(address).sin_port = htons(port);
  else
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = htons(port);
}

/// As text; empty where it means nothing on another machine.
std::string text_of(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.sa_family == AF_INET) {
    const in_addr& four = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    const std::uint32_t number = ntohl(four.s_addr);
    if (number >> 24 == 127 || number >> 16 == 0xa9fe) return {};  // 169.254.0.0/16
    ::inet_ntop(AF_INET, &four, text, sizeof text);
  } else {
    const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (IN6_IS_ADDR_LOOPBACK(&six) || IN6_IS_ADDR_LINKLOCAL(&six)) return {};
    ::inet_ntop(AF_INET6, &six, text, sizeof text);
  }
  return text;
}

std::vector<std::string> addresses_of_machine() {
  std::vector<std::string> found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* each = all; each && found.size() < kAddressesMax; each = each->ifa_next) {
    if (!each->ifa_addr || !(each->ifa_flags & IFF_UP)) continue;
    if (each->ifa_addr->sa_family != AF_INET && each->ifa_addr->sa_family != AF_INET6) continue;
    if (std::string text = text_of(*each->ifa_addr); !text.empty()) found.push_back(std::move(text));
  }
  ::freeifaddrs(all);
  return found;
}

/// The addresses of a door but those that this machine has, too, such as a bridge's that is the same on all.
std::vector<sockaddr_storage> read(std::string_view door) {
  const std::vector<std::string> mine = addresses_of_machine();
  std::vector<sockaddr_storage> found;
  const auto next = [&door] {
    const std::string word(door.substr(0, door.find(',')));
    door.remove_prefix(std::min(door.size(), word.size() + 1));
    return word;
  };
  const auto port = in_port_t(std::atoi(next().c_str()));
  while (!door.empty()) {
    const std::string text = next();
    sockaddr_storage address = {};
    if (::inet_pton(AF_INET, text.c_str(), &reinterpret_cast<sockaddr_in&>(address).sin_addr) == 1)
      address.ss_family = AF_INET;
    else if (::inet_pton(AF_INET6, text.c_str(), &reinterpret_cast<sockaddr_in6&>(address).sin6_addr) == 1)
      address.ss_family = AF_INET6;
    else
      continue;
    set_port(address, port);
    if (std::find(mine.begin(), mine.end(), text) == mine.end()) found.push_back(address);
  }
  return found;
}

/// A connection that is being tried; -1: there is none.
int begin(sockaddr_storage from, const sockaddr_storage& to) noexcept {
  if (from.ss_family != to.ss_family) return -1;
  const int fd = ::socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  set_port(from, 0);
  if (::bind(fd, as_address(from), length_of(from)) == 0 &&
      (::connect(fd, as_address(to), length_of(to)) == 0 || errno == EINPROGRESS))
    return fd;
  ::close(fd);
  return -1;
}

class Trials {
 public:
  Trials(std::span<const sockaddr_storage> candidates, const std::vector<sockaddr_storage>& door) noexcept {
    for (std::size_t index = 0; index < std::min(candidates.size(), kAddressesMax); ++index)
      for (const sockaddr_storage& to : door)
        if (const int fd = begin(candidates[index], to); fd >= 0) add(fd, int(index));
  }
  Trials(const Trials&) = delete;
  ~Trials() {
    for (const pollfd& each : waited_) ::close(each.fd);
  }

  int run() noexcept {
    const std::int64_t end = os::now_ns() + probe_ms.get() * 1'000'000;
    while (!waited_.empty() && (reached_ < 0 || *std::min_element(of_.begin(), of_.end()) < reached_)) {
      const std::int64_t left_ms = (end - os::now_ns()) / 1'000'000;
      if (left_ms <= 0) break;
      if (::poll(waited_.data(), waited_.size(), int(left_ms)) > 0)
        take();
      else if (errno != EINTR)
        break;
    }
    return reached_;
  }

 private:
  void add(int fd, int index) {
    waited_.push_back({fd, POLLOUT, 0});
    of_.push_back(index);
  }
  void take() noexcept {
    for (std::size_t i = waited_.size(); i-- > 0;) {
      if (waited_[i].revents == 0) continue;
      int error = 0;
      socklen_t bytes = sizeof error;
      const bool is_there =
          ::getsockopt(waited_[i].fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error == 0;
      if (is_there && (reached_ < 0 || of_[i] < reached_)) reached_ = of_[i];
      ::close(waited_[i].fd);
      waited_.erase(waited_.begin() + std::ptrdiff_t(i));
      of_.erase(of_.begin() + std::ptrdiff_t(i));
    }
  }

  std::vector<pollfd> waited_;
  std::vector<int> of_;  // the candidates' indices
  int reached_ = -1;
};

}  // namespace

Door::Door() noexcept {
  const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int four_only = fd < 0 ? ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
  fd_ = std::max(fd, four_only);
  const int no = 0;
  if (fd >= 0) (void)::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (fd_ >= 0 && ::listen(fd_, SOMAXCONN) == 0) return;  // on a port of the kernel's choice
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Door::~Door() {
  if (fd_ >= 0) ::close(fd_);
}

std::string Door::text() const {
  sockaddr_storage mine = {};
  socklen_t bytes = sizeof mine;
  if (fd_ < 0 || ::getsockname(fd_, reinterpret_cast<sockaddr*>(&mine), &bytes) != 0) return "0";
  const in_port_t port = mine.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(mine).sin_port
                                                   : reinterpret_cast<const sockaddr_in6&>(mine).sin6_port;
  std::string text = std::to_string(ntohs(port));
  for (const std::string& each : addresses_of_machine()) text += ',' + each;
  return text;
}

int first_that_reaches(std::span<const sockaddr_storage> candidates, std::string_view door) noexcept {
  return probe_ms.get() > 0 ? Trials(candidates, read(door)).run() : -1;
}

}  // namespace dunlin::transport::ofi
