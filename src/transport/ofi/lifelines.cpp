#include "transport/ofi/lifelines.hpp"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/tcp.h>  // its tcp_info counts bytes
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/variable.hpp"
#include "os/clock.hpp"

namespace dunlin::transport::ofi {
namespace {

IntVariable silence_s{
    "OFI_SILENCE_S",
    20,
    "s",
    "after how long without any answer of its kernel another node counts as lost, where messages "
    "go by TCP; 0: never",
    0,
    86400};

/// The kernel gives a connection up by itself only after more probes than we wait for.
constexpr int kProbesMax = 127;

/// A question and an answer each way are some 2,500.
constexpr std::uint64_t kLittleBytes = 4096;

/// All that TCP is carried by.
bool goes_over_tcp(std::string_view provider) noexcept {
  return provider.starts_with("tcp") || provider.starts_with("net") || provider.starts_with("sockets");
}

template <class Value>
bool get(int fd, int level, int option, Value& value) noexcept {
  socklen_t bytes = sizeof value;
  return ::getsockopt(fd, level, option, &value, &bytes) == 0;
}

std::span<const std::byte> bytes_of(const sockaddr_storage& address) noexcept {
  return std::as_bytes(std::span(&address, 1));
}

/// Has the kernel ask the other one now and then, also where nothing is to be sent.
void keep_alive(int fd, int seconds) noexcept {
  const int yes = 1, probes = kProbesMax;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  (void)::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
}

}  // namespace

Lifelines::Place Lifelines::place_of(std::span<const std::byte> name) {
  sockaddr_storage address = {};
  std::memcpy(&address, name.data(), std::min(name.size(), sizeof address));
  const auto& four = reinterpret_cast<const sockaddr_in&>(address);
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  const bool is_four = address.ss_family == AF_INET;
  if (!is_four && address.ss_family != AF_INET6) return {};
  const void* const at = is_four ? static_cast<const void*>(&four.sin_addr) : &six.sin6_addr;
  char text[INET6_ADDRSTRLEN] = "";
  (void)::inet_ntop(address.ss_family, at, text, sizeof text);
  return {text, ntohs(is_four ? four.sin_port : six.sin6_port)};
}

Lifelines::Lifelines(const char* provider) noexcept : is_tcp_(goes_over_tcp(provider)) {}

void Lifelines::listen(std::span<const std::byte> name) {
  if (const Place place = place_of(name); place.port != 0) ports_.insert(place.port);
}

void Lifelines::expect(std::span<const std::byte> name) { others_.insert(place_of(name)); }

std::int64_t Lifelines::silence_ns() noexcept { return silence_s.get() * 1'000'000'000; }

bool Lifelines::are_due() noexcept {
  if (!is_tcp_ || ports_.empty() || silence_s.get() == 0) return false;
  const std::int64_t now = os::now_ns();
  if (now < next_ns_) return false;
  next_ns_ = now + silence_ns() / 4;
  return true;
}

std::string Lifelines::find_lost() {
  std::string lost;
  std::set<int> waited;
  waited.swap(waiting_);
  connected_.clear();
  ended_.clear();
  carried_.clear();
  std::map<Connection, std::uint64_t> used;
  DIR* const all = ::opendir("/proc/self/fd");
  if (!all) return lost;
  while (const dirent* const each = ::readdir(all)) {
    const int fd = std::atoi(each->d_name);
    const auto found = each->d_name[0] == '.' ? std::nullopt : connection(fd);
    tcp_info facts = {};
    if (!found || !get(fd, IPPROTO_TCP, TCP_INFO, facts)) continue;
    const std::string& machine = found->there.machine;
    connected_.insert(machine);
    if (facts.tcpi_bytes_acked > 0 && facts.tcpi_bytes_received > 0) {
      const std::uint64_t bytes = facts.tcpi_bytes_acked + facts.tcpi_bytes_received;
      used[*found] = bytes;
      const auto before = used_.find(*found);
      if (bytes > kLittleBytes + (before == used_.end() ? 0 : before->second)) carried_.insert(found->there);
    }
    keep_alive(fd, int(std::max<std::int64_t>(1, silence_s.get() / 4)));
    if (facts.tcpi_unacked == 0 && facts.tcpi_probes == 0) continue;  // no answer is due
    waiting_.insert(fd);
    // Twice in a row: an answer may be under way at the moment of a look.
    if (std::int64_t(facts.tcpi_last_ack_recv) * 1'000'000 >= silence_ns() && waited.contains(fd))
      lost = machine;
  }
  ::closedir(all);
  for (const auto& [each, bytes] : used_)
    if (!used.contains(each)) ended_.insert(each.there);
  used_ = std::move(used);
  return lost;
}

bool Lifelines::is_among(const std::set<Place>& places, std::span<const std::byte> name) const {
  const Place place = place_of(name);
  return std::any_of(places.begin(), places.end(), [&](const Place& each) {
    return each == place || (each.machine == place.machine && !others_.contains(each));
  });
}

bool Lifelines::has_ended(std::span<const std::byte> name) const { return is_among(ended_, name); }

bool Lifelines::has_carried(std::span<const std::byte> name) const { return is_among(carried_, name); }

bool Lifelines::is_connected(std::span<const std::byte> name) const {
  return connected_.contains(machine_of(name));
}

/// None: it is no connection of our endpoint.
std::optional<Lifelines::Connection> Lifelines::connection(int fd) const {
  int protocol = 0;
  if (!get(fd, SOL_SOCKET, SO_PROTOCOL, protocol) || protocol != IPPROTO_TCP) return {};
  sockaddr_storage here = {}, there = {};
  socklen_t bytes = sizeof here;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &bytes) != 0) return {};
  bytes = sizeof there;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&there), &bytes) != 0) return {};
  const Connection found = {place_of(bytes_of(here)), place_of(bytes_of(there))};
  if (!ports_.contains(found.here.port) && !others_.contains(found.there)) return {};
  return found;
}

}  // namespace dunlin::transport::ofi
