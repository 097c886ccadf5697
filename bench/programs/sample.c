// Implementation of sample.h: used by every benchmark program.
#include "sample.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kProbeTrips = 1500, kProbeBatch = 100, kPathBytes = 64, kPageBytes = 4096, kIterationsMax = 1 << 24 };

int bench_rank, bench_ranks;
double bench_init_s;
static const char* bench_name;
static int argument_count;
static char** arguments;
static int is_wrong;  // set by this rank's checks
static int is_extrapolated;
static volatile uint64_t* line;  // shared with the other probing rank; NULL when there is none
static uint64_t probe_generation;

double bench_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

const char* bench_text(const char* name, const char* fallback) {
  const size_t length = strlen(name);
  for (int i = 1; i < argument_count; ++i) {
    const char* text = arguments[i];
    if (strncmp(text, "--", 2) == 0 && strncmp(text + 2, name, length) == 0 && text[2 + length] == '=')
      return text + 3 + length;
  }
  return fallback;
}

long bench_option(const char* name, long fallback) {
  const char* text = bench_text(name, NULL);
  return text ? strtol(text, NULL, 0) : fallback;
}

int bench_wants(const char* name, const char* word) {
  const char* list = bench_text(name, NULL);
  if (!list) return 1;
  const size_t length = strlen(word);
  for (const char* item = list; item; item = strchr(item, ',') ? strchr(item, ',') + 1 : NULL)
    if (strncmp(item, word, length) == 0 && (item[length] == ',' || item[length] == '\0')) return 1;
  return 0;
}

int bench_sizes(long* sizes, long min, long max, long factor) {
  const char* list = bench_text("sizes", NULL);
  int count = 0;
  for (const char* item = list; item && count < kBenchSizesMax;
       item = strchr(item, ',') ? strchr(item, ',') + 1 : NULL)
    sizes[count++] = strtol(item, NULL, 0);
  if (list) return count;
  min = bench_option("min", min);
  max = bench_option("max", max);
  factor = bench_option("factor", factor);
  for (long size = min; size <= max && count < kBenchSizesMax; size = size ? size * factor : 1)
    sizes[count++] = size;
  return count;
}

long bench_size_max(const long* sizes, int count) {
  long largest = 0;
  for (int i = 0; i < count; ++i) largest = sizes[i] > largest ? sizes[i] : largest;
  return largest;
}

// Ranks 0 and 1 map one page of an unlinked file, because that works the same under every MPI.
static void share_a_line(void) {
  char path[kPathBytes] = "/tmp/bench-probe-XXXXXX";
  int file = -1;
  if (bench_rank == 0) {
    file = mkstemp(path);
    if (file < 0 || ftruncate(file, kPageBytes) != 0) path[0] = '\0';
    MPI_Send(path, kPathBytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  } else if (bench_rank == 1) {
    MPI_Recv(path, kPathBytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    file = path[0] ? open(path, O_RDWR) : -1;
  }
  int mine = 0, others = 0;
  if (file >= 0) {
    void* page = mmap(NULL, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) line = page;
    close(file);
    mine = line != NULL;
  }
  if (bench_rank < 2) {
    MPI_Sendrecv(&mine, 1, MPI_INT, 1 - bench_rank, 1, &others, 1, MPI_INT, 1 - bench_rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (!others) line = NULL;
  }
  if (bench_rank == 0 && path[0]) unlink(path);
}

void bench_start(int* argc, char*** argv, const char* name) {
  bench_start_threads(argc, argv, name, MPI_THREAD_SINGLE);
}

void bench_start_threads(int* argc, char*** argv, const char* name, int level) {
  const double start = bench_now();
  int provided;
  MPI_Init_thread(argc, argv, level, &provided);
  bench_init_s = bench_now() - start;
  if (provided < level) {
    fprintf(stderr, "%s: this MPI does not allow for threads as asked\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &bench_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &bench_ranks);
  bench_name = name;
  argument_count = *argc;
  arguments = *argv;
  // More ranks than this share CPUs, where a raw spin would measure the scheduler.
  if (bench_ranks == 2 && bench_option("probe", 1)) share_a_line();
}

void bench_finish(void) { MPI_Finalize(); }

static int compare_doubles(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// The median of batches, so that an interruption does not look like another state of the machine.
double bench_probe(void) {
  if (!line || bench_rank > 1) return 0;
  const uint64_t aborted = 0xffffffffu, base = ++probe_generation << 32;
  if (bench_rank == 1) {
    for (uint64_t trip = 0; trip < kProbeTrips; ++trip) {
      long polls = 0;
      uint64_t seen;
      while ((seen = __atomic_load_n(line, __ATOMIC_ACQUIRE)) != base + 2 * trip + 1) {
        if (seen == base + aborted) return 0;
        if (++polls % 20000 == 0) sched_yield();
      }
      __atomic_store_n(line, base + 2 * trip + 2, __ATOMIC_RELEASE);
    }
    return 0;
  }
  double ends[kProbeTrips / kProbeBatch];  // the first batch waits for the other rank
  for (uint64_t trip = 0; trip < kProbeTrips; ++trip) {
    long polls = 0;
    __atomic_store_n(line, base + 2 * trip + 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(line, __ATOMIC_ACQUIRE) != base + 2 * trip + 2) {
      if (++polls % 20000 != 0) continue;
      sched_yield();
      if (trip > kProbeBatch && bench_now() - ends[0] > 0.05) {  // both ranks share a CPU: no such figure
        __atomic_store_n(line, base + aborted, __ATOMIC_RELEASE);
        return 0;
      }
    }
    if (trip % kProbeBatch == kProbeBatch - 1) ends[trip / kProbeBatch] = bench_now();
  }
  const int batches = kProbeTrips / kProbeBatch - 1;
  double times[kProbeTrips / kProbeBatch];
  for (int i = 0; i < batches; ++i) times[i] = ends[i + 1] - ends[i];
  qsort(times, (size_t)batches, sizeof *times, compare_doubles);
  return times[batches / 2] / kProbeBatch / 2 * 1e9;
}

void* bench_memory(size_t bytes) {
  void* memory = NULL;
  if (posix_memalign(&memory, kPageBytes, bytes ? bytes : 1) != 0) {
    fprintf(stderr, "%s: rank %d: no memory for %zu bytes\n", bench_name, bench_rank, bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  memset(memory, 1, bytes ? bytes : 1);
  return memory;
}

void* bench_buffer(size_t bytes) {
  if (strcmp(bench_text("alloc", "c"), "mpi") != 0) return bench_memory(bytes);
  void* memory = NULL;
  MPI_Alloc_mem((MPI_Aint)(bytes ? bytes : 1), MPI_INFO_NULL, &memory);
  memset(memory, 1, bytes ? bytes : 1);
  return memory;
}

static unsigned char pattern(size_t index, unsigned seed) {
  return (unsigned char)(index * 131u + (index >> 8) * 7u + seed * 29u + 3u);
}

void bench_fill(void* data, size_t bytes, unsigned seed) {
  unsigned char* out = data;
  for (size_t i = 0; i < bytes; ++i) out[i] = pattern(i, seed);
}

void bench_verify(const void* data, size_t bytes, unsigned seed) {
  const unsigned char* in = data;
  size_t i = 0;
  while (i < bytes && in[i] == pattern(i, seed)) ++i;
  if (i < bytes) fprintf(stderr, "%s: rank %d: byte %zu of %zu is wrong\n", bench_name, bench_rank, i, bytes);
  if (i < bytes) is_wrong = 1;
}

void bench_expect(int is_right, const char* what) {
  if (is_right) return;
  if (!is_wrong) fprintf(stderr, "%s: rank %d: wrong: %s\n", bench_name, bench_rank, what);
  is_wrong = 1;
}

void bench_extrapolate(int yes) { is_extrapolated = yes; }

void bench_sample_probed(const char* series, double x, double value, const char* unit, double before,
                         double after) {
  int any_wrong = 0;
  MPI_Reduce(&is_wrong, &any_wrong, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (bench_rank != 0) return;
  printf("sample bench=%s series=%s x=%.10g value=%.6g unit=%s ranks=%d probe=%.1f,%.1f check=%s%s\n",
         bench_name, series, x, value, unit, bench_ranks, before, after, any_wrong ? "wrong" : "ok",
         is_extrapolated ? " extrapolated=yes" : "");
  fflush(stdout);
}

void bench_sample(const char* series, double x, double value, const char* unit) {
  bench_sample_probed(series, x, value, unit, 0, 0);
}

void bench_measure(const bench_point* point, bench_work work, void* context) {
  const double wanted_s = 1e-3 * (double)bench_option("ms", 20);
  const long repeats = bench_option("repeats", 5);
  const long fixed = bench_option("iterations", 0);
  long iterations = fixed > 0 ? fixed : 1;
  while (fixed == 0) {  // rank 0 decides for everybody
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = bench_now();
    work(iterations, context);
    const double seconds = bench_now() - start;
    double factor = seconds > 0 ? wanted_s / seconds : 16;
    if (factor > 16) factor = 16;
    long next = factor <= 1.5 || iterations >= kIterationsMax ? 0 : (long)((double)iterations * factor) + 1;
    MPI_Bcast(&next, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (next == 0) break;
    iterations = next;
  }
  for (long repeat = 0; repeat < repeats; ++repeat) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = bench_probe();
    const double start = bench_now();
    work(iterations, context);
    const double seconds = (bench_now() - start) / (double)iterations;
    const double after = bench_probe();
    const double value = point->is_rate ? point->scale / seconds : point->scale * seconds;
    bench_sample_probed(point->series, point->x, value, point->unit, before, after);
  }
}

static double size_line(const char* path, const char* key) {
  FILE* file = fopen(path, "r");
  if (!file) return 0;
  char text[256];
  double kilobytes = 0;
  while (fgets(text, sizeof text, file))
    if (strncmp(text, key, strlen(key)) == 0) kilobytes = strtod(text + strlen(key), NULL);
  fclose(file);
  return kilobytes * 1024;
}

double bench_pss(void) { return size_line("/proc/self/smaps_rollup", "Pss:"); }
double bench_rss(void) { return size_line("/proc/self/status", "VmRSS:"); }

double bench_mean(double value) {
  double sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum / bench_ranks;
}

double bench_largest(double value) {
  double largest = 0;
  MPI_Allreduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return largest;
}
