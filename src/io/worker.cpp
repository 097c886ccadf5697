#include "io/worker.hpp"

#include <condition_variable>
#include <mutex>

#include "os/thread.hpp"
#include "progress/long_wait.hpp"

namespace dunlin::io {
namespace {

class Worker {
 public:
  void hand_over(Job& job) noexcept {
    const std::lock_guard guard(mutex_);
    pthread_t thread;
    if (!is_running_) is_running_ = os::start_thread(&thread, &Worker::run, this) == 0;
    if (!is_running_) return do_now(job);
    job.next = nullptr;
    *last_ = &job;
    last_ = &job.next;
    has_come_.notify_one();
  }

 private:
  static void* run(void* worker) noexcept {
    static_cast<Worker*>(worker)->run();
    return nullptr;
  }
  [[noreturn]] void run() noexcept {
    std::unique_lock guard(mutex_);
    for (;;) {
      has_come_.wait(guard, [this] { return first_ != nullptr; });
      Job& job = *first_;
      first_ = job.next;
      if (!first_) last_ = &first_;
      guard.unlock();
      do_now(job);
      guard.lock();
    }
  }
  static void do_now(Job& job) noexcept {
    job.work(job.argument);
    transport::Transport* const sleeper = job.sleeper;
    // W1 (pairs with W2 in transfer.cpp and F1 in coll/region.hpp): who sees it sees what was done, and may
    // end the job.
    job.done.store(1, std::memory_order_release);
    // W3: the sleeper announced itself before its last look at `done`, or is seen here.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (sleeper) sleeper->wake();
    progress::LongWait::end_unseen();
  }

  std::mutex mutex_;
  std::condition_variable has_come_;
  Job* first_ = nullptr;
  Job** last_ = &first_;
  bool is_running_ = false;
};

}  // namespace

void hand_over(Job& job) noexcept {
  progress::LongWait::begin_unseen();
  static Worker& worker = *new Worker;  // never destroyed: its thread waits until the process ends
  worker.hand_over(job);
}

}  // namespace dunlin::io
