// Descriptors over abstract Unix sockets: the parts that descriptor_exchange.cpp and descriptor_server.cpp
// share.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

namespace dunlin::os {

/// An abstract address: no file, gone with the socket.  Returns its length.
socklen_t abstract_address(const char* name, sockaddr_un& address) noexcept;

/// The other end runs as the same user.
bool is_peer_trusted(int socket) noexcept;

/// One descriptor with one byte of data (SCM_RIGHTS).
bool send_descriptor(int socket, int fd) noexcept;
/// A new descriptor of this process, close-on-exec; -1 with errno.
int receive_descriptor(int socket) noexcept;

}  // namespace dunlin::os
