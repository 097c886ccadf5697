/* For programs whose connections break while both ends live. */
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

/* All connections over TCP of this process. */
static void cut(void) {
  for (int fd = 3; fd < 1024; ++fd) {
    struct sockaddr_storage other;
    socklen_t bytes = sizeof other;
    if (getpeername(fd, (struct sockaddr*)&other, &bytes) == 0 &&
        (other.ss_family == AF_INET || other.ss_family == AF_INET6))
      shutdown(fd, SHUT_RDWR);
  }
}
