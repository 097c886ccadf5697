// A new file in memory, opened.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "datatype/functions.hpp"
#include "io/storage.hpp"

namespace dunlin::io {

class WithStorage : public testing::Test {
 protected:
  void SetUp() override {
    static const bool made = (init_predefined_datatypes(), true);
    (void)made;
    char name[] = "/dev/shm/dunlin-unit-XXXXXX";
    const int descriptor = mkstemp(name);
    ASSERT_GE(descriptor, 0);
    ::close(descriptor);
    name_ = name;
    ASSERT_EQ(storage_.open(name, O_RDWR, 0666), 0);
  }
  void TearDown() override { unlink(name_.c_str()); }

  std::string name_;
  Storage storage_;
};

}  // namespace dunlin::io
