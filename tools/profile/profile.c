// Counting and printing; see profile.h.
#include "profile.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TOP_CALLS = 3 };
static const long long kShortBytesMax =
    16384;  // messages up to here are "short"; longer ones are copied in place where they can be

// Of this process; written by all threads.
static long long ns_of[CALLS_MAX], calls_of[CALLS_MAX];
static long long begin_ns;  // end of the first MPI call, which starts the library
static long long short_messages, long_messages, fetched_messages, sent_bytes;
static __thread int depth;

/// What a rank tells rank 0.
struct Summary {
  double run_s, mpi_s, short_messages, long_messages, fetched_messages, sent_bytes;
};
enum { SUMMARY_NUMBERS = sizeof(struct Summary) / sizeof(double) };

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

void (*find(const char* name))(void) {
  void* found = dlsym(RTLD_NEXT, name);
  void* const library = found ? NULL : dlopen("libmpi_abi.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library) found = dlsym(library, name);  // a program that has loaded it for itself, such as Python
  if (!found) {
    fprintf(stderr, "dunlin: DUNLIN_PROFILE: the MPI library has no %s\n", name);
    abort();
  }
  void (*function)(void);
  memcpy(&function, &found, sizeof function);
  return function;
}

long long enter_call(void) { return depth++ == 0 ? now_ns() : -1; }

void leave_call(int call, long long start_ns) {
  --depth;
  if (start_ns < 0) return;
  const long long end_ns = now_ns();
  long long none = 0;
  if (__atomic_compare_exchange_n(&begin_ns, &none, end_ns, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
  __atomic_fetch_add(&ns_of[call], end_ns - start_ns, __ATOMIC_RELAXED);  // sums only, read at the end
  __atomic_fetch_add(&calls_of[call], 1, __ATOMIC_RELAXED);
}

/// -1 where nothing is to be counted.
static MPI_Count bytes_of(MPI_Count count, MPI_Datatype datatype, int partner) {
  static int (*type_size)(MPI_Datatype, MPI_Count*);
  if (depth > 1 || partner == MPI_PROC_NULL || count < 0 || !datatype || datatype == MPI_DATATYPE_NULL)
    return -1;
  if (!type_size) type_size = (int (*)(MPI_Datatype, MPI_Count*))find("PMPI_Type_size_c");
  MPI_Count bytes = 0;
  return type_size(datatype, &bytes) == MPI_SUCCESS ? bytes * count : -1;
}

void note_message(MPI_Count count, MPI_Datatype datatype, int dest) {
  const MPI_Count bytes = bytes_of(count, datatype, dest);
  if (bytes < 0) return;
  __atomic_fetch_add(bytes <= kShortBytesMax ? &short_messages : &long_messages, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&sent_bytes, bytes, __ATOMIC_RELAXED);
}

/// Whether a probe is no error: what is wrong the receive itself finds, and calls the error handler.
static int can_probe(int source, int tag, MPI_Comm comm) {
  static int (*is_inter)(MPI_Comm, int*);
  static int (*size_of[2])(MPI_Comm, int*);
  if (!is_inter) is_inter = (int (*)(MPI_Comm, int*))find("PMPI_Comm_test_inter");
  if (!size_of[0]) size_of[0] = (int (*)(MPI_Comm, int*))find("PMPI_Comm_size");
  if (!size_of[1]) size_of[1] = (int (*)(MPI_Comm, int*))find("PMPI_Comm_remote_size");
  int inter = 0, ranks = 0;
  if (!comm || comm == MPI_COMM_NULL || (tag < 0 && tag != MPI_ANY_TAG)) return 0;
  if (is_inter(comm, &inter) != MPI_SUCCESS || size_of[inter](comm, &ranks) != MPI_SUCCESS) return 0;
  return source == MPI_ANY_SOURCE || (source >= 0 && source < ranks);
}

// A long message that comes before its receive stays with its sender, and is fetched after the match.
void note_receive(MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm) {
  static int (*probe)(int, int, MPI_Comm, int*, MPI_Status*);
  static int (*get_count)(const MPI_Status*, MPI_Datatype, MPI_Count*);
  if (bytes_of(count, datatype, source) <= kShortBytesMax || !can_probe(source, tag, comm)) return;
  if (!probe) probe = (int (*)(int, int, MPI_Comm, int*, MPI_Status*))find("PMPI_Iprobe");
  if (!get_count) get_count = (int (*)(const MPI_Status*, MPI_Datatype, MPI_Count*))find("PMPI_Get_count_c");
  int has_come = 0;
  MPI_Status status;
  MPI_Count bytes = 0;
  if (probe(source, tag, comm, &has_come, &status) != MPI_SUCCESS || !has_come) return;
  if (get_count(&status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes > kShortBytesMax)
    __atomic_fetch_add(&fetched_messages, 1, __ATOMIC_RELAXED);
}

static struct Summary summary_of_rank(void) {
  struct Summary mine = {(double)(now_ns() - begin_ns) * 1e-9,
                         0,
                         (double)short_messages,
                         (double)long_messages,
                         (double)fetched_messages,
                         (double)sent_bytes};
  for (int i = 0; i < call_count; ++i) mine.mpi_s += (double)ns_of[i] * 1e-9;
  return mine;
}

static void say_unwritten(int rank, const char* path) {
  fprintf(stderr, "dunlin: rank %d: DUNLIN_PROFILE: cannot write %s: %s\n", rank, path, strerror(errno));
}

/// One file for each rank, where DUNLIN_PROFILE names a folder.
static void write_rank(int rank, const struct Summary* mine) {
  const char* const folder = getenv("DUNLIN_PROFILE");
  if (!folder || !strchr(folder, '/')) return;
  char path[4096];
  snprintf(path, sizeof path, "%s/profile.%d.json", folder, rank);
  FILE* const file = fopen(path, "w");
  if (!file) {
    say_unwritten(rank, path);
    return;
  }
  fprintf(file, "{\"rank\": %d, \"run_s\": %.9f, \"mpi_s\": %.9f, ", rank, mine->run_s, mine->mpi_s);
  fprintf(file, "\"short_messages\": %.0f, \"long_messages\": %.0f, \"fetched_messages\": %.0f, ",
          mine->short_messages, mine->long_messages, mine->fetched_messages);
  fprintf(file, "\"sent_bytes\": %.0f, \"calls\": {", mine->sent_bytes);
  const char* between = "";
  for (int i = 0; i < call_count; ++i) {
    if (calls_of[i] == 0) continue;
    fprintf(file, "%s\n  \"%s\": {\"calls\": %lld, \"s\": %.9f}", between, call_names[i], calls_of[i],
            (double)ns_of[i] * 1e-9);
    between = ",";
  }
  fprintf(file, "}}\n");
  fflush(file);
  const int is_short = ferror(file);
  if (fclose(file) != 0 || is_short) say_unwritten(rank, path);  // a full disk, mostly
}

static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/// `all`: the summaries of the ranks; `seconds`: of each function, over all ranks.
static void print_table(const struct Summary* all, int ranks, double* seconds) {
  double least = 100, most = 0, run_s = 0, longest_s = 0;
  struct Summary sum = {0, 0, 0, 0, 0, 0};
  for (int i = 0; i < ranks; ++i) {
    const double share = percent(all[i].mpi_s, all[i].run_s);
    least = share < least ? share : least;
    most = share > most ? share : most;
    run_s += all[i].run_s;
    longest_s = all[i].run_s > longest_s ? all[i].run_s : longest_s;
    sum.short_messages += all[i].short_messages;
    sum.long_messages += all[i].long_messages;
    sum.fetched_messages += all[i].fetched_messages;
    sum.sent_bytes += all[i].sent_bytes;
  }
  fprintf(stderr, "profile of %d ranks, %.3f s:\n", ranks, longest_s);
  fprintf(stderr, "  share of run time in MPI    %.1f %% to %.1f %%\n", least, most);
  fprintf(stderr, "  messages                    %.0f short (up to %lld bytes), %.0f long, %.3g bytes\n",
          sum.short_messages, kShortBytesMax, sum.long_messages, sum.sent_bytes);
  fprintf(stderr, "  came before their receive   %.1f %% of long ones\n",
          percent(sum.fetched_messages, sum.long_messages));
  fprintf(stderr, "  most time                  ");
  for (int place = 0; place < TOP_CALLS; ++place) {
    int top = 0;
    for (int i = 0; i < call_count; ++i)
      if (seconds[i] > seconds[top]) top = i;
    if (seconds[top] > 0) fprintf(stderr, " %s %.1f %%", call_names[top], percent(seconds[top], run_s));
    seconds[top] = 0;
  }
  fprintf(stderr, "\n");
}

void report(void) {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const struct Summary mine = summary_of_rank();
  write_rank(rank, &mine);
  double seconds[CALLS_MAX] = {0}, of_all[CALLS_MAX] = {0};
  for (int i = 0; i < call_count; ++i) seconds[i] = (double)ns_of[i] * 1e-9;
  struct Summary* const all = malloc((size_t)ranks * sizeof *all);
  if (!all) return;
  PMPI_Gather(&mine, SUMMARY_NUMBERS, MPI_DOUBLE, all, SUMMARY_NUMBERS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  PMPI_Reduce(seconds, of_all, call_count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) print_table(all, ranks, of_all);
  free(all);
}
