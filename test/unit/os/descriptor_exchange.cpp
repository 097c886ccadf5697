// A memfd handed to another process, by the shortcut and by the socket.
#include "os/descriptor_exchange.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "os/clock.hpp"

namespace dunlin::os {
namespace {

int make_memfd(const char* text) {
  const int fd = ::memfd_create("exchange-test", MFD_CLOEXEC);
  EXPECT_EQ(::write(fd, text, 5), 5);
  return fd;
}

std::string first_bytes(int fd) {
  char text[6] = "";
  return ::pread(fd, text, 5, 0) == 5 ? text : "";
}

/// A ticket whose pid cannot be opened, so that only the socket is left.
std::string without_shortcut(const std::string& ticket) {
  return "1999999999" + ticket.substr(ticket.find(':'));
}

TEST(DescriptorExchange, Shortcut) {
  const int fd = make_memfd("hello");
  auto offer = DescriptorOffer::open(fd);
  ASSERT_TRUE(offer.is_ok());
  bool by_socket = true;
  const auto taken = take_descriptor(offer->ticket(), 1000, &by_socket);
  ASSERT_TRUE(taken.is_ok());
  EXPECT_FALSE(by_socket);
  EXPECT_EQ(first_bytes(taken.value()), "hello");
  EXPECT_EQ(::fcntl(taken.value(), F_GETFD), FD_CLOEXEC);
  ::close(taken.value());
  ::close(fd);
}

TEST(DescriptorExchange, SocketToThreeProcesses) {
  const int fd = make_memfd("world");
  auto offer = DescriptorOffer::open(fd);
  ASSERT_TRUE(offer.is_ok());
  constexpr int kTakers = 3;
  for (int i = 0; i < kTakers; ++i) {
    if (::fork() == 0) {
      bool by_socket = false;
      const auto taken = take_descriptor(without_shortcut(offer->ticket()), 5000, &by_socket);
      ::_exit(taken.is_ok() && by_socket && first_bytes(taken.value()) == "world" ? 0 : 1);
    }
  }
  EXPECT_EQ(offer->serve(kTakers, 5000), kTakers);
  for (int i = 0; i < kTakers; ++i) {
    int status = 0;
    ASSERT_GT(::wait(&status), 0);
    EXPECT_EQ(status, 0);
  }
  ::close(fd);
}

TEST(DescriptorExchange, NobodyServesEndsInTime) {
  const int fd = make_memfd("hello");
  auto offer = DescriptorOffer::open(fd);
  ASSERT_TRUE(offer.is_ok());
  EXPECT_FALSE(take_descriptor(without_shortcut(offer->ticket()), 50).is_ok());
  ::close(fd);
}

/// As profilers have it; ends after 2 s, so that a wait that it makes endless ends, too.
class SignalsAllTheTime {
 public:
  SignalsAllTheTime() {
    ticks = 0;
    struct sigaction action {};
    action.sa_handler = [](int) {
      if (ticks.fetch_add(1) == 4000) set(0);
    };
    ::sigaction(SIGALRM, &action, nullptr);
    set(500);
  }
  ~SignalsAllTheTime() {
    set(0);
    ::signal(SIGALRM, SIG_DFL);
  }

 private:
  static void set(long us) {
    const itimerval often{{0, us}, {0, us}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
  }
  static inline std::atomic<int> ticks{0};
};

TEST(DescriptorExchange, SignalsMakeNoWaitLonger) {
  const int fd = make_memfd("hello");
  auto offer = DescriptorOffer::open(fd);
  ASSERT_TRUE(offer.is_ok());
  const SignalsAllTheTime signals;
  const std::int64_t begin = now_ns();
  EXPECT_EQ(offer->serve(1, 1), 0);
  EXPECT_FALSE(take_descriptor(without_shortcut(offer->ticket()), 20).is_ok());
  EXPECT_LT(now_ns() - begin, std::int64_t{1'000'000'000});
  ::close(fd);
}

TEST(DescriptorExchange, AnotherFileBehindTheNumberIsRefused) {
  const int fd = make_memfd("hello");
  std::string ticket;
  {
    auto offer = DescriptorOffer::open(fd);
    ASSERT_TRUE(offer.is_ok());
    ticket = offer->ticket();
  }
  const int other = make_memfd("other");
  ASSERT_EQ(::dup2(other, fd), fd);
  EXPECT_FALSE(take_descriptor(ticket, 50).is_ok());
  EXPECT_FALSE(take_descriptor("nonsense", 50).is_ok());
  ::close(other);
  ::close(fd);
}

}  // namespace
}  // namespace dunlin::os
