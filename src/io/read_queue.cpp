#include "io/read_queue.hpp"

#include <cstring>

#include "base/variable.hpp"

#if __has_include(<liburing.h>)
#include <dlfcn.h>
#include <liburing.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "os/thread.hpp"
#include "progress/long_wait.hpp"
#endif

namespace dunlin::io {
namespace {

WordVariable use{"FILE_QUEUE", "auto", "auto|never",
                 "whether the kernel has nonblocking reads of one piece in hand at once, by io_uring; auto: "
                 "where liburing is found and the kernel allows it"};

}  // namespace

#if __has_include(<liburing.h>)
namespace {

constexpr unsigned kEntries = 256;  // given to the kernel by one call; more may be under way

/// liburing's functions that are not inline.
struct Library {
  int (*init)(unsigned entries, io_uring* ring, unsigned flags) = nullptr;
  int (*submit_and_wait)(io_uring* ring, unsigned ends) = nullptr;
  int (*register_files)(io_uring* ring, const int* files, unsigned count) = nullptr;

  bool load() noexcept {
    void* const file = ::dlopen("liburing.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!file) return false;
    init = reinterpret_cast<decltype(init)>(::dlsym(file, "io_uring_queue_init"));
    submit_and_wait =
        reinterpret_cast<decltype(submit_and_wait)>(::dlsym(file, "io_uring_submit_and_wait"));
    register_files = reinterpret_cast<decltype(register_files)>(::dlsym(file, "io_uring_register_files"));
    return init && submit_and_wait && register_files;
  }
};

/// One thread gives the kernel what has come, and waits there for an end, or for the bell that says that more
/// has come.  What the page cache has is copied within the thread's call.
class Queue {
 public:
  Queue() noexcept {
    const std::lock_guard guard(mutex_);  // the thread may end it at once
    is_open_ = open();
  }

  bool try_add(Read& read) noexcept {
    const std::lock_guard guard(mutex_);
    const bool is_rung = !come_.is_empty();  // for others, and the thread has not come yet
    is_open_ = is_open_ && (is_rung || try_ring());
    if (!is_open_) return false;
    progress::LongWait::begin_unseen();
    come_.add(read);
    return true;
  }

 private:
  bool open() noexcept {
    if (std::strcmp(use.get(), "never") == 0 || !library_.load()) return false;
    bell_ = ::eventfd(0, EFD_CLOEXEC);
    if (bell_ < 0) return false;
    if (::fstat(bell_, &bell_status_) == 0 && library_.init(kEntries, &ring_, 0) == 0) {
      listen();  // not where a library older than its headers has left parts of the ring empty
      pthread_t thread;
      if (is_listening_ && library_.register_files(&ring_, &bell_, 1) == 0 &&
          os::start_thread(&thread, &Queue::run, this) == 0) {
        ::pthread_detach(thread);
        return true;
      }
      ::close(ring_.ring_fd);
    }
    ::close(bell_);  // a process may have few descriptors
    return false;
  }
  /// False: the program has closed descriptors that are not its own, and may have others of these numbers.
  bool try_ring() const noexcept {
    struct stat status;
    if (::fstat(bell_, &status) != 0 || status.st_dev != bell_status_.st_dev ||
        status.st_ino != bell_status_.st_ino)
      return false;
    const std::uint64_t once = 1;
    return ::write(bell_, &once, sizeof once) == sizeof once;
  }
  static void* run(void* queue) noexcept {
    static_cast<Queue*>(queue)->run();
    return nullptr;
  }
  void run() noexcept {
    do {
      listen();
      give();
    } while (wait());
    end();
  }
  void listen() noexcept {
    if (is_listening_) return;
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    if (!entry) return;
    constexpr int kBell = 0;  // as the ring knows it, whatever the program does to its number
    io_uring_prep_read(entry, kBell, &rung_, sizeof rung_, 0);
    entry->flags |= IOSQE_FIXED_FILE;
    io_uring_sqe_set_data(entry, nullptr);
    is_listening_ = true;
  }
  void give() noexcept {
    const std::lock_guard guard(mutex_);
    while (!come_.is_empty()) {
      io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
      if (!entry) return;
      auto& read = static_cast<Read&>(come_.take());
      io_uring_prep_read(entry, read.descriptor, read.at, unsigned(read.bytes), std::uint64_t(read.offset));
      io_uring_sqe_set_data(entry, &read);
      ++under_way_;
    }
  }
  /// False: the kernel's queue is of no use, or cannot be reached any more.
  bool wait() noexcept {
    const int result = library_.submit_and_wait(&ring_, 1);
    look();
    const bool goes_on = result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY;
    return goes_on && !is_deaf_;
  }
  void look() noexcept {
    unsigned head = 0, seen = 0;
    io_uring_cqe* entry = nullptr;
    io_uring_for_each_cqe(&ring_, head, entry) {
      ++seen;
      auto* const read = static_cast<Read*>(io_uring_cqe_get_data(entry));
      if (!read) {
        is_listening_ = false;
        is_deaf_ = entry->res != int(sizeof rung_);  // a kernel before Linux 5.6 has no reads
        continue;
      }
      --under_way_;
      if (entry->res == int(read->bytes))
        complete(*read);
      else
        have_done(*read);  // it tells an error from the end of the file
    }
    io_uring_cq_advance(&ring_, seen);
  }
  static void have_done(Job& read) noexcept {
    hand_over(read);
    progress::LongWait::end_unseen();
  }
  /// What the kernel has taken still comes; the rest of what was given lies behind its head.
  void end() noexcept {
    for (unsigned i = *ring_.sq.khead; i != ring_.sq.sqe_tail; ++i) {
      auto* const read = reinterpret_cast<Read*>(ring_.sq.sqes[i & *ring_.sq.kring_mask].user_data);
      if (!read) continue;
      --under_way_;
      have_done(*read);
    }
    constexpr useconds_t kNap = 1000;
    for (; under_way_ > 0; look()) ::usleep(kNap);
    const std::lock_guard guard(mutex_);
    is_open_ = false;
    while (!come_.is_empty()) have_done(come_.take());
  }

  Library library_;
  int bell_ = -1;
  struct stat bell_status_ = {};
  std::mutex mutex_;  // of these two:
  bool is_open_ = false;
  Jobs come_;
  // The thread's:
  io_uring ring_ = {};
  std::uint64_t rung_ = 0;
  bool is_listening_ = false, is_deaf_ = false;
  std::size_t under_way_ = 0;
};

}  // namespace

bool try_queue(Read& read) noexcept {
  static Queue& queue = *new Queue;  // never destroyed: its thread waits until the process ends
  return queue.try_add(read);
}

#else  // built without liburing's headers

bool try_queue(Read&) noexcept { return false; }

#endif

}  // namespace dunlin::io
