#include "io/worker.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace dunlin::io {
namespace {

class Worker {
 public:
  void hand_over(Job& job) noexcept {
    const std::lock_guard guard(mutex_);
    if (!is_running_) std::thread(&Worker::run, this).detach();
    is_running_ = true;
    *last_ = &job;
    last_ = &job.next;
    has_come_.notify_one();
  }

 private:
  void run() noexcept {
    std::unique_lock guard(mutex_);
    for (;;) {
      has_come_.wait(guard, [this] { return first_ != nullptr; });
      Job& job = *first_;
      first_ = job.next;
      if (!first_) last_ = &first_;
      guard.unlock();
      job.outcome = job.storage->move(job.access);
      transport::Transport* const sleeper = job.sleeper;
      // W1 (pairs with W2 in transfer.cpp): who sees it sees the outcome, and may end the job.
      job.is_done.store(true, std::memory_order_release);
      // W3: the sleeper announced itself before its last look at `is_done`, or is seen here.
      std::atomic_thread_fence(std::memory_order_seq_cst);
      if (sleeper) sleeper->wake();
      guard.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable has_come_;
  Job* first_ = nullptr;
  Job** last_ = &first_;
  bool is_running_ = false;
};

}  // namespace

void hand_over(Job& job) noexcept {
  static Worker& worker = *new Worker;  // never destroyed: its thread waits until the process ends
  worker.hand_over(job);
}

}  // namespace dunlin::io
