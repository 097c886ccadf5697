// The machine's own limits, without MPI: two processes pinned to two CPUs of this program's affinity mask.
//
//   machine probe   one line: the raw one-cache-line ping-pong now
//   machine         that, reading out of cache, futex wake, context switch, system call
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  kProbeTrips = 5000,
  kProbeBatch = 500,
  kCallRepeats = 200000,
  kWakeRepeats = 400,
  kPoolBytes = 256 << 20,
  kReadBytes = 64 << 20
};

// One cache line per word; the words are written by the process named in the comment.
typedef struct {
  _Alignas(128) _Atomic uint64_t line;   // both, in turn
  _Alignas(128) _Atomic uint32_t wake;   // waker
  _Alignas(128) _Atomic uint64_t woken;  // sleeper: when it ran again, ns
} Shared;

static Shared* shared;
static int cpus[2];

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static void pin(int which) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpus[which], &set);
  sched_setaffinity(0, sizeof set, &set);
}

// The first two CPUs this program may use.  With one CPU the figures of two processes mean a shared CPU.
static int choose_cpus(void) {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  int found = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus[found++] = cpu;
  if (found == 1) cpus[1] = cpus[0];
  return found;
}

static void print_sample(const char* series, double x, double value, const char* unit) {
  printf("sample bench=limits series=%s x=%.10g value=%.6g unit=%s ranks=2 probe=0,0 check=ok\n", series, x,
         value, unit);
  fflush(stdout);
}

static int compare_doubles(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare_doubles);
  return values[count / 2];
}

// The median of batches, so that an interruption does not look like another state of the machine.
static double ping_pong_ns(void) {
  atomic_store(&shared->line, 0);
  const pid_t child = fork();
  if (child == 0) {
    pin(1);
    for (uint64_t trip = 1; trip <= kProbeTrips; ++trip) {
      while (atomic_load_explicit(&shared->line, memory_order_acquire) != 2 * trip - 1) {
      }
      atomic_store_explicit(&shared->line, 2 * trip, memory_order_release);
    }
    _exit(0);
  }
  pin(0);
  double times[kProbeTrips / kProbeBatch], start = 0;  // the first batch waits for the other process
  for (uint64_t trip = 1; trip <= kProbeTrips; ++trip) {
    atomic_store_explicit(&shared->line, 2 * trip - 1, memory_order_release);
    while (atomic_load_explicit(&shared->line, memory_order_acquire) != 2 * trip) {
    }
    if (trip % kProbeBatch != 0) continue;
    const double now = now_ns();
    times[trip / kProbeBatch - 1] = (now - start) / kProbeBatch / 2;
    start = now;
  }
  waitpid(child, NULL, 0);
  return median(times + 1, kProbeTrips / kProbeBatch - 1);
}

static void* pages(size_t bytes) {
  void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    perror("machine: mmap");
    exit(1);
  }
  return memory;
}

typedef enum { kFresh, kClean, kOutOfCache } Data;

// Compiled for the machine at hand, so that the widest registers are used.
static uint64_t sum_of(const uint64_t* words, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

// One CPU reads memory that lies in no cache, in large pages where there are any.
static double read_gbps(size_t bytes) {
  enum { kRepeats = 12 };
  char* memory = mmap(NULL, kPoolBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  madvise(memory, kPoolBytes, MADV_HUGEPAGE);
  memset(memory, 1, kPoolBytes);
  volatile uint64_t sink;
  double rates[kRepeats];
  for (size_t i = 0; i < kRepeats; ++i) {
    const size_t offset = i * bytes % (kPoolBytes - bytes + 1);
    const double start = now_ns();
    sink = sum_of((const uint64_t*)(memory + offset), bytes / 8);
    rates[i] = (double)bytes / (now_ns() - start);
  }
  (void)sink;
  munmap(memory, kPoolBytes);
  return median(rates, kRepeats);
}

static long futex(_Atomic uint32_t* word, int operation, uint32_t value) {
  return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

// From the store that ends the wait until the sleeper runs on its CPU.
static double wake_ns(int is_same_cpu) {
  double delays[kWakeRepeats];
  atomic_store(&shared->wake, 0);
  atomic_store(&shared->woken, 0);
  const pid_t child = fork();
  if (child == 0) {
    pin(is_same_cpu ? 0 : 1);
    for (uint32_t i = 1; i <= kWakeRepeats; ++i) {
      while (atomic_load(&shared->wake) != i) futex(&shared->wake, FUTEX_WAIT, i - 1);
      atomic_store(&shared->woken, (uint64_t)now_ns());
    }
    _exit(0);
  }
  pin(0);
  uint64_t seen = 0;
  for (uint32_t i = 1; i <= kWakeRepeats; ++i) {
    usleep(100);
    const double start = now_ns();
    atomic_store(&shared->wake, i);
    futex(&shared->wake, FUTEX_WAKE, 1);
    while (atomic_load(&shared->woken) == seen)
      if (is_same_cpu) sched_yield();
    seen = atomic_load(&shared->woken);
    delays[i - 1] = (double)seen - start;
  }
  waitpid(child, NULL, 0);
  return median(delays, kWakeRepeats);
}

static double yield_switch_ns(void) {
  enum { kTurns = 20000 };
  atomic_store(&shared->line, 0);
  const pid_t child = fork();
  if (child == 0) {
    pin(0);
    for (uint64_t turn = 0; turn < kTurns; ++turn) {
      while (atomic_load(&shared->line) != 2 * turn + 1) sched_yield();
      atomic_store(&shared->line, 2 * turn + 2);
    }
    _exit(0);
  }
  pin(0);
  usleep(1000);
  const double start = now_ns();
  for (uint64_t turn = 0; turn < kTurns; ++turn) {
    atomic_store(&shared->line, 2 * turn + 1);
    while (atomic_load(&shared->line) != 2 * turn + 2) sched_yield();
  }
  const double result = (now_ns() - start) / kTurns / 2;
  waitpid(child, NULL, 0);
  return result;
}

static void print_calls(void) {
  double start = now_ns();
  for (int i = 0; i < kCallRepeats; ++i) syscall(SYS_getppid);
  print_sample("system_call", 1, (now_ns() - start) / kCallRepeats, "ns");
  start = now_ns();
  for (int i = 0; i < kCallRepeats; ++i) futex(&shared->wake, FUTEX_WAKE, 1);
  print_sample("futex_wake_nobody", 1, (now_ns() - start) / kCallRepeats, "ns");
  print_sample("futex_wake_other_cpu", 1, wake_ns(0), "ns");
  print_sample("futex_wake_same_cpu", 1, wake_ns(1), "ns");
  print_sample("context_switch", 1, yield_switch_ns(), "ns");
}

int main(int argc, char** argv) {
  const int is_probe = argc > 1 && strcmp(argv[1], "probe") == 0;
  const int found = choose_cpus();
  shared = pages(sizeof *shared);
  if (found < 2)
    fprintf(stderr, "machine: only one CPU may be used here, so there is no cache line to send\n");
  double probes[5] = {0};
  for (int i = 0; found == 2 && i < (is_probe ? 1 : 5); ++i) probes[i] = ping_pong_ns();
  print_sample("probe", 8, is_probe ? probes[0] : median(probes, 5), "ns");
  if (is_probe) return 0;
  print_sample("read_out_of_cache", kReadBytes, read_gbps(kReadBytes), "GB/s");
  if (found == 2) print_calls();
  return 0;
}
