#include "io/worker.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace dunlin::io {
namespace {

TEST(Worker, DoesJobsInTheOrderOfTheirComing) {
  init_predefined_datatypes();
  const Datatype& byte = *from_handle<Datatype>(MPI_BYTE);
  char name[] = "/dev/shm/dunlin-unit-XXXXXX";
  ::close(mkstemp(name));
  Storage storage;
  ASSERT_EQ(storage.open(name, O_RDWR, 0666), 0);
  unlink(name);
  constexpr int kJobs = 20;
  std::vector<unsigned char> data[kJobs];
  Job jobs[kJobs];
  for (int i = 0; i < kJobs; ++i) {  // all write the same bytes: the last one's stay
    data[i].assign(50000, static_cast<unsigned char>(i));
    jobs[i].storage = &storage;
    jobs[i].access = {Direction::write, coll::Block::of_bytes(data[i].data(), data[i].size()),
                      Tiling(0, byte), 0, false};
    hand_over(jobs[i]);
  }
  for (Job& job : jobs) {
    while (!job.is_done.load(std::memory_order_acquire)) sched_yield();
    EXPECT_EQ(job.outcome.bytes, 50000);
    EXPECT_EQ(job.outcome.reason, 0);
  }
  std::vector<unsigned char> read(50000);
  const coll::Block block = coll::Block::of_bytes(read.data(), read.size());
  EXPECT_EQ(storage.move({Direction::read, block, Tiling(0, byte), 0, false}).bytes, 50000);
  EXPECT_EQ(read, data[kJobs - 1]);
}

}  // namespace
}  // namespace dunlin::io
