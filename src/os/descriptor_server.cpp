#include "os/descriptor_server.hpp"

#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "os/local_socket.hpp"
#include "os/thread.hpp"

namespace dunlin::os {
namespace {

constexpr timeval kPatience{1, 0};  // for either end: nobody may hold up the others

struct Server {
  int listener;
  bool (*may_give)(int) noexcept;
};

socklen_t address_of(std::uint64_t key, sockaddr_un& address) noexcept {
  char name[64];
  std::snprintf(name, sizeof name, "dunlin-served-%016" PRIx64, key);
  return abstract_address(name, address);
}

void answer(int taker, const Server& server) noexcept {
  ::setsockopt(taker, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  int number = -1;
  if (!is_peer_trusted(taker)) return;
  if (::recv(taker, &number, sizeof number, MSG_WAITALL) != ssize_t(sizeof number)) return;
  if (server.may_give(number)) send_descriptor(taker, number);
}

void* serve(void* argument) noexcept {
  const Server& server = *static_cast<const Server*>(argument);
  for (;;) {
    const int taker = ::accept4(server.listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (taker < 0) {
      if (errno == EBADF || errno == EINVAL) return nullptr;        // the program closed what is not its own
      if (errno != EINTR && errno != ECONNABORTED) ::usleep(1000);  // out of descriptors for now
      continue;
    }
    answer(taker, server);
    ::close(taker);
  }
}

}  // namespace

bool serve_descriptors(std::uint64_t key, bool (*may_give)(int number) noexcept) noexcept {
  static Server server;  // read by the thread until the process ends
  server = {::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), may_give};
  sockaddr_un address;
  const socklen_t bytes = address_of(key, address);
  bool is_serving = server.listener >= 0 &&
                    ::bind(server.listener, reinterpret_cast<const sockaddr*>(&address), bytes) == 0 &&
                    ::listen(server.listener, SOMAXCONN) == 0;
  if (is_serving) {
    pthread_t thread;
    is_serving = start_thread(&thread, serve, &server) == 0;
    if (is_serving) pthread_detach(thread);
  }
  if (!is_serving && server.listener >= 0) ::close(server.listener);
  return is_serving;
}

int take_served_descriptor(std::uint64_t key, int number) noexcept {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  sockaddr_un address;
  const socklen_t bytes = address_of(key, address);
  int taken = -1;
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), bytes) == 0 && is_peer_trusted(socket) &&
      ::send(socket, &number, sizeof number, MSG_NOSIGNAL) == ssize_t(sizeof number))
    taken = receive_descriptor(socket);
  const int reason = errno;
  ::close(socket);
  errno = reason;
  return taken;
}

}  // namespace dunlin::os
