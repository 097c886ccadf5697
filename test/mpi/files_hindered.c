/* Every way to read and write while something hinders it: signals that interrupt each rank a thousand times
 * a second and let no call begin again, also one that waits for a lock; others who cut the file again and
 * again; and a limit of the kernel in the middle of what all write (RLIMIT_FSIZE), so that writes move a part
 * and then fail.  Nothing stands between the library and the kernel, so this holds however the library moves
 * its data. ranks: 2 4 variants: none */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"

enum { kLong = 400000, kPiecesMax = 3000, kRanksMax = 8 };
enum { kShared = 12, kOrdered = 14, kWays = 16 };

static const char* const names[kWays] = {
    "at",  "iat",  "at_all",    "iat_all", "at_all_begin", "own",    "iown",    "all",
    "iall", "all_begin", "atomic", "iatomic", "shared", "ishared", "ordered", "ordered_begin"};
static const int lengths[] = {64, 3000, kLong};

static char path[256];
static MPI_File file;
static MPI_Status status;
static unsigned char data[kLong], found[kLong];
static volatile sig_atomic_t signals;

static void count_signal(int number) { signals += number > 0; }

/* Every `us`, and no call that was interrupted begins again; 0: none. */
static void send_signals(int us) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = count_signal;
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval every = {{0, us}, {0, us}};
  setitimer(ITIMER_REAL, &every, NULL);
}

static void limit_files(rlim_t bytes) {
  struct rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0, "%s", strerror(errno));
}

#define MOVE(before, after, ...) \
  (is_write ? MPI_File_##before##write##after(__VA_ARGS__) : MPI_File_##before##read##after(__VA_ARGS__))

/* By way `way`, from the view's first byte on; the error of the call that ends it. */
static int move(int is_write, int way, unsigned char* at, int n) {
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_SUCCESS;
  switch (way) {
    case 0:
    case 10:
      return MOVE(, _at, file, 0, at, n, MPI_BYTE, &status);
    case 1:
    case 11:
      error = MOVE(i, _at, file, 0, at, n, MPI_BYTE, &request);
      break;
    case 2:
      return MOVE(, _at_all, file, 0, at, n, MPI_BYTE, &status);
    case 3:
      error = MOVE(i, _at_all, file, 0, at, n, MPI_BYTE, &request);
      break;
    case 4:
      CHECK_CALL(MOVE(, _at_all_begin, file, 0, at, n, MPI_BYTE));
      return MOVE(, _at_all_end, file, at, &status);
    case 5:
      return MOVE(, , file, at, n, MPI_BYTE, &status);
    case 6:
      error = MOVE(i, , file, at, n, MPI_BYTE, &request);
      break;
    case 7:
      return MOVE(, _all, file, at, n, MPI_BYTE, &status);
    case 8:
      error = MOVE(i, _all, file, at, n, MPI_BYTE, &request);
      break;
    case 9:
      CHECK_CALL(MOVE(, _all_begin, file, at, n, MPI_BYTE));
      return MOVE(, _all_end, file, at, &status);
    case kShared:
      return MOVE(, _shared, file, at, n, MPI_BYTE, &status);
    case kShared + 1:
      error = MOVE(i, _shared, file, at, n, MPI_BYTE, &request);
      break;
    case kOrdered:
      return MOVE(, _ordered, file, at, n, MPI_BYTE, &status);
    default:
      CHECK_CALL(MOVE(, _ordered_begin, file, at, n, MPI_BYTE));
      return MOVE(, _ordered_end, file, at, &status);
  }
  return error != MPI_SUCCESS ? error : MPI_Wait(&request, &status);
}

/* All ranks move theirs: at once, or one after the other where the order is that of coming. */
static int move_all(int is_write, int way, unsigned char* at, int n) {
  int error = MPI_SUCCESS;
  const int is_in_turn = way >= kShared && way < kOrdered;
  if (way >= 5 && way < 10) CHECK_CALL(MPI_File_seek(file, 0, MPI_SEEK_SET));
  if (way >= kShared) CHECK_CALL(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  for (int rank = 0; rank < check_size; ++rank) {
    if (is_in_turn ? rank == check_rank : rank == 0) error = move(is_write, way, at, n);
    if (is_in_turn) MPI_Barrier(MPI_COMM_WORLD);
  }
  return error;
}

static unsigned char byte_of(int rank, int i, int turn) {
  return (unsigned char)(1 + 31 * rank + i * 7 + i / 251 + turn);
}

/* Of a rank: pieces of all ranks in turn, or one piece of each behind the other. */
static int bytes_of(int piece) { return piece == kLong ? kLong : piece * (kPiecesMax * 64 / piece); }

static long long place(int piece, int rank, int i) {
  return (long long)(i / piece * check_size + rank) * piece + i % piece;
}

static void set_view(int way, int piece, const char* together) {
  MPI_Datatype run, type;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", together);
  MPI_Info_set(info, "romio_cb_read", together);
  MPI_Type_contiguous(piece, MPI_BYTE, &run);
  MPI_Type_create_resized(run, 0, (MPI_Aint)piece * check_size, &type);
  MPI_Type_commit(&type);
  if (way >= kShared) /* all have one view, and a long piece each */
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", info));
  else
    CHECK_CALL(MPI_File_set_view(file, (MPI_Offset)piece * check_rank, MPI_BYTE, type, "native", info));
  MPI_Type_free(&run);
  MPI_Type_free(&type);
  MPI_Info_free(&info);
  CHECK_CALL(MPI_File_set_atomicity(file, way == 10 || way == 11));
}

/* Everything arrives. */
static void interrupted(int way, int piece, const char* together) {
  const int bytes = bytes_of(piece), turn = way + piece;
  int count = -1;
  for (int i = 0; i < bytes; ++i) data[i] = byte_of(check_rank, i, turn);
  memset(found, 0, sizeof found);
  CHECK(move_all(1, way, data, bytes) == MPI_SUCCESS, "%s, %d B", names[way], piece);
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == bytes, "%s, %d B, %s: %d", names[way], piece, together, count);
  CHECK_CALL(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(move_all(0, way, found, bytes) == MPI_SUCCESS, "%s, %d B", names[way], piece);
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == bytes, "%s, %d B, %s: %d", names[way], piece, together, count);
  for (int i = 0; i < bytes; ++i)
    CHECK(found[i] == data[i], "%s, %d B, %s: byte %d is %d, not %d", names[way], piece, together, i,
          found[i], data[i]);
  MPI_Barrier(MPI_COMM_WORLD);
}

static atomic_int is_cutting;

/* To nothing, to half, and to what it was: what a cut leaves is the data or nothing. */
static void* cut_again_and_again(void* argument) {
  const long whole = *(const long*)argument;
  for (long turn = 0; is_cutting; ++turn) {
    if (truncate(path, turn % 3 == 0 ? 0 : turn % 3 == 1 ? whole / 2 + turn % 5000 : whole) != 0) break;
    usleep(100);
  }
  return NULL;
}

/* Nobody is told of an error, nobody waits or dies. */
static void cut(int way, int piece, const char* together) {
  const int bytes = bytes_of(piece), turn = way + piece + 2;
  long whole = (long)bytes * check_size;
  int count = -1;
  pthread_t thread;
  is_cutting = check_rank == 0;
  if (is_cutting) CHECK(pthread_create(&thread, NULL, cut_again_and_again, &whole) == 0, " ");
  for (int i = 0; i < bytes; ++i) data[i] = byte_of(check_rank, i, turn) | 1;
  CHECK(move_all(1, way, data, bytes) == MPI_SUCCESS, "%s, %d B, %s", names[way], piece, together);
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == bytes, "%s, %d B, %s: %d", names[way], piece, together, count);
  MPI_Barrier(MPI_COMM_WORLD);
  memset(found, 0, sizeof found);
  CHECK(move_all(0, way, found, bytes) == MPI_SUCCESS, "%s, %d B, %s", names[way], piece, together);
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count >= 0 && count <= bytes, "%s, %d B, %s: %d", names[way], piece, together, count);
  for (int i = 0; i < bytes; ++i)
    CHECK(found[i] == 0 || found[i] == data[i], "%s, %d B, %s: byte %d is %d, not %d", names[way], piece,
          together, i, found[i], data[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_cutting) {
    is_cutting = 0;
    pthread_join(thread, NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The first bytes arrive, as many as the status says; the rest is an error: rank, file, byte and reason. */
static void limited(int way, int piece, const char* together) {
  const int bytes = bytes_of(piece), turn = way + piece + 1;
  const long long end = (long long)bytes * check_size * 3 / 5 + 11;
  int count = -1, below = 0, error_class = MPI_SUCCESS, length = 0, counts[kRanksMax];
  MPI_Offset size = -1;
  char text[MPI_MAX_ERROR_STRING], rank[32];
  for (int i = 0; i < bytes; ++i) data[i] = byte_of(check_rank, i, turn);
  while (below < bytes && place(piece, check_rank, below) < end) ++below;
  CHECK_CALL(MPI_File_set_size(file, 0));
  MPI_Barrier(MPI_COMM_WORLD);
  limit_files((rlim_t)end);
  const int error = move_all(1, way, data, bytes);
  limit_files(RLIM_INFINITY);
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == below, "%s, %d B, %s: %d of %d bytes below the limit", names[way], piece, together, count,
        below);
  CHECK(count == bytes || error != MPI_SUCCESS, "%s, %d B, %s", names[way], piece, together);
  if (error != MPI_SUCCESS) {
    MPI_Error_class(error, &error_class);
    MPI_Error_string(error, text, &length);
    snprintf(rank, sizeof rank, "rank %d ", check_rank);
    CHECK(error_class == MPI_ERR_IO && strstr(text, strerror(EFBIG)), "%s: class %d, %s", names[way],
          error_class, text);
    const char* const at = strstr(text, "at byte ");
    CHECK(strstr(text, rank) && strstr(text, path) && at && atoll(at + 8) >= end,
          "%s: not from byte %lld on: %s", names[way], end, text);
  }
  CHECK_CALL(MPI_File_sync(file));
  MPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
  CHECK_CALL(MPI_File_get_size(file, &size));
  CHECK(size <= end, "%lld bytes, more than %lld", (long long)size, end);
  MPI_Barrier(MPI_COMM_WORLD);
  memset(found, 0, sizeof found);
  CHECK(move_all(0, way, found, bytes) == MPI_SUCCESS, "%s, %d B", names[way], piece);
  for (int i = 0; i < count; ++i)
    CHECK(found[i] == data[i], "%s, %d B, %s: byte %d is %d, not %d", names[way], piece, together, i,
          found[i], data[i]);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  static const char* const hints[] = {"automatic", "enable", "disable"};
  check_start(&argc, &argv);
  int job = (int)getpid(), most = 0;
  MPI_Bcast(&job, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path, sizeof path, "%s/dunlin-files-hindered-%d", check_folder(), job);
  signal(SIGXFSZ, SIG_IGN);
  CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                           MPI_INFO_NULL, &file));
  for (int hint = 0; hint < 3; ++hint)
    for (int length = 0; length < 3; ++length)
      for (int way = 0; way < kWays; ++way) {
        const int piece = way >= kShared ? kLong : lengths[length];
        if (way >= kShared && length > 0) continue;
        send_signals(1000);
        set_view(way, piece, hints[hint]);
        interrupted(way, piece, hints[hint]);
        send_signals(0);
        cut(way, piece, hints[hint]);
        limited(way, piece, hints[hint]);
      }
  CHECK_CALL(MPI_File_close(&file));
  const int mine = signals;
  MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK(most > 0, "no signal came");
  return check_end();
}
