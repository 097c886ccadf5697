#include "protocol/kernel_trial.hpp"

#include <gtest/gtest.h>

namespace dunlin::protocol {
namespace {

void run(KernelTrial& trial, std::int64_t kernel_ns, std::int64_t channel_ns) {
  while (!trial.is_over()) {
    const bool is_kernel = !trial.is_kernel_slower();
    trial.took(is_kernel, 1000, is_kernel ? kernel_ns : channel_ns);
  }
}

TEST(KernelTrial, TheFasterWayIsKept) {
  KernelTrial trial;
  run(trial, 100, 200);
  EXPECT_FALSE(trial.is_kernel_slower());
  KernelTrial other;
  run(other, 200, 100);
  EXPECT_TRUE(other.is_kernel_slower());
}

TEST(KernelTrial, TheBetterOfTwoTimesCounts) {
  KernelTrial trial;
  trial.took(true, 1000, 100'000);  // pages touched first
  trial.took(false, 1000, 200);
  trial.took(true, 1000, 100);
  trial.took(false, 1000, 200);
  EXPECT_TRUE(trial.is_over());
  EXPECT_FALSE(trial.is_kernel_slower());
}

TEST(KernelTrial, WhatWasNotTriedIsNotFoundFaster) {
  KernelTrial trial;  // as where a setting has chosen the kernel
  while (!trial.is_over()) trial.took(true, 1000, 100);
  EXPECT_FALSE(trial.is_found_slower());
  KernelTrial both;
  run(both, 200, 100);
  EXPECT_TRUE(both.is_found_slower());
}

TEST(KernelTrial, AfterTheTrialNothingIsLearnt) {
  KernelTrial trial;
  run(trial, 100, 200);
  for (int i = 0; i < 100; ++i) trial.took(true, 1, 1'000'000);
  EXPECT_FALSE(trial.is_kernel_slower());
}

}  // namespace
}  // namespace dunlin::protocol
