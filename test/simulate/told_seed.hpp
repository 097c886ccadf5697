// The seed of a random test that an assertion or a crash ends: told on the way.
//
//   TellsSeed teller;
//   teller.seed = 17;
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>

namespace dunlin::test {

class TellsSeed {
 public:
  TellsSeed() {
    for (const int signal : kSignals) std::signal(signal, &tell);
  }
  ~TellsSeed() {
    for (const int signal : kSignals) std::signal(signal, SIG_DFL);
  }
  TellsSeed(const TellsSeed&) = delete;
  static inline volatile std::uint64_t seed = 0;

 private:
  static constexpr int kSignals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE};
  static void tell(int signal) {
    char text[64];
    const int length =
        std::snprintf(text, sizeof text, "DUNLIN_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    if (write(STDERR_FILENO, text, std::size_t(length)) < 0) {
    }
    std::signal(signal, SIG_DFL);
    raise(signal);
  }
};

}  // namespace dunlin::test
