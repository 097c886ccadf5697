/* liburing as it was before version 2.3, whose functions leave parts of a ring empty that newer headers look
 * at, or a kernel before Linux 5.6, whose queue has no reads: those of the program arrive all the same, and
 * no thread is kept busy.
 *
 * ranks: 1 2 variants: none */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<liburing.h>)
#include <liburing.h>
#endif

#include "check.h"

#define SHOWN __attribute__((visibility("default")))

enum { kBytes = 65536, kPieces = 20 };

static void* real;
static int asked;

/* The library finds this program in the place of liburing. */
SHOWN void* dlopen(const char* name, int flags) {
  void* (*next)(const char*, int);
  *(void**)&next = dlsym(RTLD_NEXT, "dlopen");
  if (!name || strcmp(name, "liburing.so.2") != 0) return next(name, flags);
  real = next(name, flags);
  return real ? next(NULL, flags) : NULL;
}

#if __has_include(<liburing.h>)
SHOWN int io_uring_queue_init(unsigned entries, struct io_uring* ring, unsigned flags) {
  int (*init)(unsigned, struct io_uring*, unsigned);
  *(void**)&init = dlsym(real, "io_uring_queue_init");
  const int error = init(entries, ring, flags);
  ++asked;
  if (check_rank % 2) return error;
  memset(&ring->sq.ring_ptr + 1, 0, 2 * sizeof(unsigned)); /* `ring_mask`, `ring_entries` */
  memset(&ring->cq.ring_ptr + 1, 0, 2 * sizeof(unsigned));
  return error;
}
SHOWN int io_uring_submit_and_wait(struct io_uring* ring, unsigned ends) {
  int (*submit)(struct io_uring*, unsigned);
  *(void**)&submit = dlsym(real, "io_uring_submit_and_wait");
  for (unsigned i = ring->sq.sqe_head; i != ring->sq.sqe_tail; ++i)
    ring->sq.sqes[i & *ring->sq.kring_mask].opcode = 255; /* none that the kernel knows */
  return submit(ring, ends);
}
SHOWN int io_uring_register_files(struct io_uring* ring, const int* files, unsigned count) {
  int (*add)(struct io_uring*, const int*, unsigned);
  *(void**)&add = dlsym(real, "io_uring_register_files");
  return add(ring, files, count);
}
#endif

int main(int argc, char** argv) {
  static unsigned char data[kPieces * kBytes], found[kPieces * kBytes];
  MPI_File file;
  MPI_Request requests[kPieces];
  char path[256];
  check_start(&argc, &argv);
  snprintf(path, sizeof path, "%s/files_old_queue.%ld", check_folder(), (long)getpid());
  for (int i = 0; i < kPieces * kBytes; ++i) data[i] = (unsigned char)(i * 7 + i / 251);
  CHECK_CALL(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                           MPI_INFO_NULL, &file));
  CHECK_CALL(MPI_File_write_at(file, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < kPieces; ++i)
    CHECK_CALL(MPI_File_iread_at(file, i * kBytes, found + i * kBytes, kBytes, MPI_BYTE, &requests[i]));
  CHECK_CALL(MPI_Waitall(kPieces, requests, MPI_STATUSES_IGNORE));
  CHECK(memcmp(data, found, sizeof data) == 0, " ");
  CHECK(asked == (real != NULL), "%d", asked);
  const clock_t before = clock();
  usleep(200000);
  CHECK(clock() - before < CLOCKS_PER_SEC / 50, "%ld us of the CPU", (long)(clock() - before));
  CHECK_CALL(MPI_File_close(&file));
  return check_end();
}
