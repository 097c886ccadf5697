/* For the programs of this folder: a check prints a sentence with rank, file and line, and ends the job. */
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int check_rank, check_size;

#define CHECK(condition, ...)                                                                                \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "rank %d of %d: %s:%d: %s: ", check_rank, check_size, __FILE__, __LINE__, #condition); \
      fprintf(stderr, " " __VA_ARGS__);                                                                      \
      fputc('\n', stderr);                                                                                   \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                                          \
    }                                                                                                        \
  } while (0)

static inline const char* check_text(int error) {
  static char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(error, text, &length);
  return text;
}

/* A call that succeeds, of an object whose errors return. */
#define CHECK_CALL(call)                                  \
  do {                                                    \
    const int error = call;                               \
    CHECK(error == MPI_SUCCESS, "%s", check_text(error)); \
  } while (0)

static inline void check_start_threads(int* argc, char*** argv, int level) {
  int provided;
  MPI_Init_thread(argc, argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &check_size);
}

static inline void check_start(int* argc, char*** argv) {
  check_start_threads(argc, argv, MPI_THREAD_SINGLE);
}

/* Where files are made. */
static inline const char* check_folder(void) {
  const char* const wanted = getenv("TEST_FOLDER");
  return wanted ? wanted : "/dev/shm";
}

/* Whether the ranks share memory: all are on one node. */
static inline int check_is_one_node(void) {
  MPI_Comm node;
  int size;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &size);
  MPI_Comm_free(&node);
  return size == check_size;
}

/* What this process has touched of memory of its own and of shared memory, KiB. */
static inline long check_touched_kb(void) {
  char line[256];
  long all = 0, kb = 0;
  FILE* file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "RssAnon: %ld", &kb) == 1 || sscanf(line, "RssShmem: %ld", &kb) == 1) all += kb;
  if (file) fclose(file);
  return all;
}

static inline int check_end(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
