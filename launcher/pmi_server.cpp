// The PMI-1 server; see pmi_server.hpp.
#include "launcher/pmi_server.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/assert.hpp"
#include "boot/launch_environment.hpp"
#include "boot/pmi_wire.hpp"
#include "boot/node_map.hpp"

namespace dunlin::launcher {
namespace {

using boot::wire_field;

constexpr std::size_t kRequestBytesMax = std::size_t{1} << 20;  // a longer one is no PMI: the rank is cut off

}  // namespace

PmiServer::PmiServer(EventLoop& loop, std::vector<int> app_of_rank)
    : loop_(loop), app_of_rank_(std::move(app_of_rank)), clients_(app_of_rank_.size()) {
  values_["PMI_process_mapping"] = boot::NodeMap(int(app_of_rank_.size())).text();
}

PmiServer::~PmiServer() {
  for (std::size_t rank = 0; rank < clients_.size(); ++rank) close(int(rank));
}

int PmiServer::open_for_rank(int rank) {
  DUNLIN_ASSERT(rank >= 0 && rank < int(clients_.size()));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  clients_[std::size_t(rank)].fd = ends[0];
  loop_.try_watch(ends[0], EPOLLIN, [this, rank](std::uint32_t) { read_some(rank); });
  return ends[1];
}

void PmiServer::drain(int rank) {
  while (clients_[std::size_t(rank)].fd >= 0 && read_some(rank)) {
  }
}

/// One read; false when there is nothing (more) to read now.
bool PmiServer::read_some(int rank) {
  Client& client = clients_[std::size_t(rank)];
  char block[8192];
  const ssize_t got = ::read(client.fd, block, sizeof block);
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && errno == EAGAIN) return false;
  if (got <= 0 || client.received.size() > kRequestBytesMax) {
    close(rank);
    return false;
  }
  client.received.append(block, std::size_t(got));
  std::size_t begin = 0;
  for (std::size_t end; (end = client.received.find('\n', begin)) != std::string::npos; begin = end + 1)
    obey(rank, std::string_view(client.received).substr(begin, end - begin));
  client.received.erase(0, begin);
  return true;
}

void PmiServer::obey(int rank, std::string_view line) {
  Client& client = clients_[std::size_t(rank)];
  if (client.is_asking_spawn) {
    if (!line.starts_with("endcmd")) return;
    client.is_asking_spawn = false;
    return send(rank, "cmd=spawn_result rc=-1 msg=spawn_is_not_supported");
  }
  if (line.starts_with("mcmd=spawn")) {
    client.is_asking_spawn = true;
    return;
  }
  const std::string_view command = wire_field(line, "cmd");
  if (command == "barrier_in") return enter_barrier(rank);
  if (command == "abort") {
    if (on_abort) on_abort(rank, boot::wire_number(line, "exitcode", 1));
    return;
  }
  if (command == "init" && on_init) on_init(rank);
  if (command == "finalize" && on_finalize) on_finalize(rank);
  send(rank, answer(rank, command, line));
}

std::string PmiServer::answer(int rank, std::string_view command, std::string_view line) {
  const std::string size = std::to_string(clients_.size());
  if (command == "init") return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0";
  if (command == "get_maxes")
    return "cmd=maxes kvsname_max=" + std::to_string(boot::kStoreNameBytesMax) +
           " keylen_max=" + std::to_string(boot::kStoreKeyBytesMax) +
           " vallen_max=" + std::to_string(boot::kStoreValueBytesMax);
  if (command == "get_appnum") return "cmd=appnum appnum=" + std::to_string(app_of_rank_[std::size_t(rank)]);
  if (command == "get_my_kvsname") return "cmd=my_kvsname kvsname=" + std::string(boot::kStoreName);
  if (command == "get_universe_size") return "cmd=universe_size size=" + size;
  if (command == "put") {
    values_[std::string(wire_field(line, "key"))] = wire_field(line, "value");
    return "cmd=put_result rc=0 msg=success";
  }
  if (command == "get") return answer_get(line);
  if (command == "finalize") return "cmd=finalize_ack";
  return "cmd=" + std::string(command) + "_result rc=-1 msg=unknown_command";
}

std::string PmiServer::answer_get(std::string_view line) {
  const auto found = values_.find(std::string(wire_field(line, "key")));
  if (found == values_.end()) return "cmd=get_result rc=-1 msg=key_not_found value=unknown";
  return "cmd=get_result rc=0 msg=success value=" + found->second;
}

void PmiServer::enter_barrier(int rank) {
  in_barrier_.insert(rank);
  end_barrier_if_complete();
}

void PmiServer::leave(int rank) {
  in_barrier_.erase(rank);
  ++left_;
  end_barrier_if_complete();
}

void PmiServer::end_barrier_if_complete() {
  if (int(in_barrier_.size()) + left_ < int(clients_.size())) return;
  for (const int each : std::exchange(in_barrier_, {})) send(each, "cmd=barrier_out rc=0");
}

/// A rank that does not read its answers until its socket is full is cut off: mpirun never waits for one
/// rank.
void PmiServer::send(int rank, const std::string& line) {
  const int fd = clients_[std::size_t(rank)].fd;
  const std::string text = line + '\n';
  if (fd >= 0 && ::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) != ssize_t(text.size()))
    close(rank);
}

void PmiServer::close(int rank) {
  Client& client = clients_[std::size_t(rank)];
  if (client.fd < 0) return;
  loop_.forget(client.fd);
  ::close(client.fd);
  client.fd = -1;
}

}  // namespace dunlin::launcher
