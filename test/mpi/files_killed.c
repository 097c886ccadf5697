/* What a kill in the middle of a write leaves in a file: everything up to the last MPI_File_sync that all
 * have passed, of what came later some, and of no byte anything else.  The rank that mpirun starts is no MPI
 * program: it starts jobs, in each of which one rank is killed at a random moment, by every way to write, and
 * reads what they leave. files_killed [seed [jobs [folder]]] ranks: 1 variants: none */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kRanks = 3, kPieces = 400, kLong = 3 << 20, kWays = 9 };

static unsigned long long state;

static unsigned random_below(unsigned n) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33) % n;
}

static unsigned char byte_of(int rank, int round, int i) {
  return (unsigned char)(round * 5 + rank * 37 + i * 11);
}

static void die(int signal) {
  (void)signal;
  kill(getpid(), SIGKILL);
}

/* Of a rank. */
static int pieces_of(int piece) { return piece == kLong ? 1 : kPieces; }

/* A rank of a job: pieces of the ranks in turn, again and again; the file `synced_path` has the last round
 * that is done. */
static int write_until_killed(const char* path, const char* synced_path, int way, int piece, int victim,
                              int after_us) {
  /* Ways 5 and 6 go in place (src/io/in_place.hpp), the last two straight to the pages (src/io/pages.hpp). */
  static const char* const together[kWays] = {"disable", "disable",   "enable",    "disable",  "enable",
                                              "automatic", "automatic", "disable", "automatic"};
  const int synced = open(synced_path, O_RDWR | O_CREAT, 0666);
  const int bytes = pieces_of(piece) * piece;
  unsigned char* memory = malloc((size_t)bytes);
  int round, i;
  MPI_Datatype vector, filetype;
  MPI_File file;
  MPI_Info info;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &check_size);
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", together[way]);
  MPI_Info_set(info, "romio_ds_write", way == 1 ? "disable" : "automatic");
  MPI_Info_set(info, "cb_buffer_size", "8192");
  MPI_Type_vector(pieces_of(piece), piece, piece * kRanks, MPI_BYTE, &vector);
  MPI_Type_create_resized(vector, 0, (MPI_Aint)bytes * kRanks, &filetype);
  MPI_Type_commit(&filetype);
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file) == MPI_SUCCESS,
        "open");
  MPI_File_set_view(file, (MPI_Offset)piece * check_rank, MPI_BYTE, filetype, "native", info);
  for (round = 0;; ++round) {
    MPI_Request request;
    for (i = 0; i < bytes; ++i) memory[i] = byte_of(check_rank, round, i);
    if (round == 1 && check_rank == victim) {
      const struct itimerval timer = {{0, 0}, {0, after_us}};
      signal(SIGALRM, die);
      setitimer(ITIMER_REAL, &timer, NULL);
    }
    if (way < 3 || way == 5 || way == 7) {
      MPI_File_write_at_all(file, 0, memory, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    } else {
      MPI_File_iwrite_at_all(file, 0, memory, bytes, MPI_BYTE, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0 && pwrite(synced, &round, sizeof round, 0) != sizeof round) return 1;
    MPI_Barrier(MPI_COMM_WORLD); /* so no rank is further than one round ahead of `synced` */
  }
}

/* Exit code of `mpirun -n 3 files_killed write NUMBERS`. */
static int run_job(const char* self, char* const* words) {
  char launcher[320], *end;
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    snprintf(launcher, sizeof launcher, "%s", self); /* build/test/mpi/NAME */
    for (int up = 0; up < 3; ++up)
      if ((end = strrchr(launcher, '/'))) *end = '\0';
    strcat(launcher, "/bin/mpirun");
    if (freopen("/dev/null", "w", stderr)) execv(launcher, words);
    _exit(1);
  }
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Every byte is that of the last round that all have synchronized, or of the next one. */
static void check_file(const char* path, const char* synced_path, int piece, const char* job) {
  const int bytes = pieces_of(piece) * piece * kRanks;
  unsigned char* found = malloc((size_t)bytes);
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  const int file = open(path, O_RDWR), synced = open(synced_path, O_RDONLY);
  int round = -1, at;
  CHECK(read(synced, &round, sizeof round) == sizeof round && round >= 0, "%s", job);
  CHECK(pread(file, found, (size_t)bytes, 0) == bytes, "%s, round %d", job, round);
  CHECK(fcntl(file, F_SETLK, &all) == 0, "%s: a lock is left", job);
  for (at = 0; at < bytes; ++at) {
    const int rank = at / piece % kRanks, i = at / (piece * kRanks) * piece + at % piece;
    CHECK(found[at] == byte_of(rank, round, i) || found[at] == byte_of(rank, round + 1, i),
          "%s: byte %d is %d; of round %d it is %d, of the next %d", job, at, found[at], round,
          byte_of(rank, round, i), byte_of(rank, round + 1, i));
  }
  close(file), close(synced);
  free(found);
}

/* Beside the file lie the one that this program has made, and nothing else. */
static void check_left_in(const char* folder, const char* job) {
  DIR* const all = opendir(folder);
  for (const struct dirent* each; (each = readdir(all));)
    CHECK(!strcmp(each->d_name, ".") || !strcmp(each->d_name, "..") || !strcmp(each->d_name, "file") ||
              !strcmp(each->d_name, "synced"),
          "%s has left %s", job, each->d_name);
  closedir(all);
}

int main(int argc, char** argv) {
  static const int pieces[] = {1, 8, 64, 700, 5000};
  char self[256] = "", folder[300], path[320], synced[320], numbers[4][16], job[128];
  int number, i;
  if (argc == 8)
    return write_until_killed(argv[2], argv[3], atoi(argv[4]), atoi(argv[5]), atoi(argv[6]), atoi(argv[7]));
  const unsigned long seed =
      argc > 1 && atol(argv[1]) ? (unsigned long)atol(argv[1]) : (unsigned long)getpid();
  const int jobs = argc > 2 ? atoi(argv[2]) : 3 * kWays;
  state = seed;
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 1;
  snprintf(folder, sizeof folder, "%s/dunlin-files-killed-%lu", argc > 3 ? argv[3] : check_folder(), seed);
  snprintf(path, sizeof path, "%s/file", folder);
  snprintf(synced, sizeof synced, "%s/synced", folder);
  (void)mkdir(folder, 0777); /* it may be there from a run that was killed itself */
  for (number = 0; number < jobs; ++number) {
    const int way = number % kWays, piece = way < 5 ? pieces[random_below(5)] : way < 7 ? 5000 : kLong;
    const int values[4] = {way, piece, (int)random_below(kRanks), 1 + (int)random_below(20000)};
    char* words[] = {"mpirun", "-n",       "3",        self,       "write",    path,
                     synced,   numbers[0], numbers[1], numbers[2], numbers[3], NULL};
    for (i = 0; i < 4; ++i) snprintf(numbers[i], sizeof numbers[i], "%d", values[i]);
    unlink(path), unlink(synced);
    snprintf(job, sizeof job, "seed %lu, job %d: way %s, pieces of %s, rank %s killed after %s us", seed,
             number, numbers[0], numbers[1], numbers[2], numbers[3]);
    CHECK(run_job(self, words) == 128 + SIGKILL, "%s", job);
    check_file(path, synced, piece, job);
    check_left_in(folder, job);
  }
  unlink(path), unlink(synced), rmdir(folder);
  return 0;
}
