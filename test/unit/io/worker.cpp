#include "io/worker.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "io/storage.hpp"

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
  struct Write : Job {
    const Storage* storage;
    std::vector<unsigned char> data;
    Outcome outcome;
  } jobs[kJobs];
  for (int i = 0; i < kJobs; ++i) {  // all write the same bytes: the last one's stay
    jobs[i].storage = &storage;
    jobs[i].data.assign(50000, static_cast<unsigned char>(i));
    jobs[i].argument = &jobs[i];
    jobs[i].work = [](void* argument) noexcept {
      auto& self = *static_cast<Write*>(argument);
      const auto memory = coll::Block::of_bytes(self.data.data(), self.data.size());
      const Tiling bytes(0, *from_handle<Datatype>(MPI_BYTE));
      self.outcome = self.storage->move({Direction::write, memory, bytes, 0, false});
    };
    hand_over(jobs[i]);
  }
  for (Write& job : jobs) {
    while (job.done.load(std::memory_order_acquire) == 0) sched_yield();
    EXPECT_EQ(job.outcome.bytes, 50000);
    EXPECT_EQ(job.outcome.reason, 0);
  }
  std::vector<unsigned char> read(50000);
  const coll::Block block = coll::Block::of_bytes(read.data(), read.size());
  EXPECT_EQ(storage.move({Direction::read, block, Tiling(0, byte), 0, false}).bytes, 50000);
  EXPECT_EQ(read, jobs[kJobs - 1].data);
}

}  // namespace
}  // namespace dunlin::io
