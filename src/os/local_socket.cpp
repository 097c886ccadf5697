#include "os/local_socket.hpp"

#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "base/assert.hpp"

namespace dunlin::os {

socklen_t abstract_address(const char* name, sockaddr_un& address) noexcept {
  std::memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  const std::size_t bytes = std::strlen(name);
  DUNLIN_ASSERT(bytes + 1 < sizeof address.sun_path);
  std::memcpy(address.sun_path + 1, name, bytes);
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + bytes);
}

bool is_peer_trusted(int socket) noexcept {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == ::geteuid();
}

namespace {
/// A message of one byte with room for one descriptor.
struct DescriptorMessage {
  char word = 'd';
  iovec data{&word, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};

  DescriptorMessage() noexcept {
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  DescriptorMessage(const DescriptorMessage&) = delete;  // it points into itself
};
}  // namespace

bool send_descriptor(int socket, int fd) noexcept {
  DescriptorMessage out;
  cmsghdr* header = CMSG_FIRSTHDR(&out.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return ::sendmsg(socket, &out.message, MSG_NOSIGNAL) == 1;
}

int receive_descriptor(int socket) noexcept {
  DescriptorMessage in;
  if (::recvmsg(socket, &in.message, MSG_CMSG_CLOEXEC) != 1) return -1;
  int fd = -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&in.message);
  if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

}  // namespace dunlin::os
