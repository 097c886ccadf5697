#include "rma/signals.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace dunlin::rma {
namespace {

TEST(Signals, EachKindIsCountedAlone) {
  Signals signals{};
  Signalled signalled{&signals, &signals};
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(signalled.has_come(Signals::post));
    signalled.give(Signals::post);
    EXPECT_TRUE(signalled.has_come(Signals::post));
    EXPECT_FALSE(signalled.has_come(Signals::complete));
    ++signalled.heard[Signals::post];
  }
  signalled.give(Signals::complete);
  EXPECT_TRUE(signalled.has_come(Signals::complete));
  EXPECT_FALSE(signalled.has_come(Signals::post));
}

/// An origin and a target hand a plain word to and fro; ThreadSanitizer sees whether the signals order it.
TEST(Signals, WhatWasDoneBeforeIsSeenBehindIt) {
  constexpr int kRounds = 2000;
  Signals to_origin{}, to_target{};
  int memory = 0;
  const auto wait = [](Signalled& signalled, Signals::Kind kind) {
    while (!signalled.has_come(kind)) std::this_thread::yield();
    ++signalled.heard[kind];
  };
  std::thread origin([&] {
    Signalled target{&to_target, &to_origin};
    for (int round = 0; round < kRounds; ++round) {
      wait(target, Signals::post);
      EXPECT_EQ(memory, 2 * round + 1);
      ++memory;
      target.give(Signals::complete);
    }
  });
  Signalled mine{&to_origin, &to_target};
  for (int round = 0; round < kRounds; ++round) {
    ++memory;
    mine.give(Signals::post);
    wait(mine, Signals::complete);
    EXPECT_EQ(memory, 2 * round + 2);
  }
  origin.join();
}

}  // namespace
}  // namespace dunlin::rma
