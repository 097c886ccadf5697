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
    come_.add(job);
    has_come_.notify_one();
  }

 private:
  static void* run(void* worker) noexcept {
    static_cast<Worker*>(worker)->run();
    return nullptr;
  }
  [[noreturn]] void run() noexcept {
    for (;;) {
      for (Jobs come = take_new(); !come.is_empty();) {
        Job& job = come.take();
        if (job.announce) job.announce(job.argument);
        mine_.add(job);
      }
      do_now(mine_.take());
    }
  }
  /// Waits for some unless there are others to be done.
  Jobs take_new() noexcept {
    std::unique_lock guard(mutex_);
    has_come_.wait(guard, [this] { return !come_.is_empty() || !mine_.is_empty(); });
    return std::exchange(come_, Jobs());
  }
  static void do_now(Job& job) noexcept {
    job.work(job.argument);
    complete(job);
  }

  std::mutex mutex_;  // of these three:
  std::condition_variable has_come_;
  Jobs come_;
  bool is_running_ = false;
  Jobs mine_;  // the thread's
};

}  // namespace

void hand_over(Job& job) noexcept {
  progress::LongWait::begin_unseen();
  static Worker& worker = *new Worker;  // never destroyed: its thread waits until the process ends
  worker.hand_over(job);
}

void complete(Job& job) noexcept {
  transport::Transport* const sleeper = job.sleeper;
  // W1 (pairs with W2 in transfer.cpp and F1 in coll/region.hpp): who sees it sees what was done, and may
  // end the job.
  job.done.store(1, std::memory_order_release);
  // W3: the sleeper announced itself before its last look at `done`, or is seen here.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (sleeper) sleeper->wake();
  progress::LongWait::end_unseen();
}

}  // namespace dunlin::io
